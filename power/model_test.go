package power

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// The model: two clusters of one name with a control plane and four workers
// each, a portal that switches their machines, and programs of several
// operators that switch by the procedure. A sequence of steps is drawn, carried
// out in virtual time, and after each step it is checked that nothing is
// stranded and nothing wrong was switched. Nothing in it knows the rules: it
// knows which machines are on.

const (
	modelWorkers   = 4
	modelCP        = "cp"
	silentAfter    = 40 * time.Second
	notReadyAfter  = 50 * time.Second
	readyAfterBoot = 20 * time.Second
	portalDelay    = 50 * time.Millisecond
)

// vm is a machine in truth.
type vm struct {
	node    string
	on      bool
	since   time.Time // when on or off began
	boot    int
	offAt   []time.Time // shutdowns under way: when each is carried out
	ours    bool        // switched off, or asked to, by a program of ours
	seconds int         // how long a shutdown takes
}

// modelWorld is a cluster and its portal.
type modelWorld struct {
	mu         sync.Mutex
	name       string
	vms        map[string]*vm
	marks      map[string]Mark
	notes      map[string]string // node → machine, by annotation
	apiLost    time.Time         // zero while it answers
	portalDown bool
	wrong      []string // what was switched that must not be
}

func newModelWorld(name string) *modelWorld {
	w := &modelWorld{name: name, vms: map[string]*vm{}, marks: map[string]Mark{}, notes: map[string]string{}}
	for _, n := range w.names() {
		w.vms[n] = &vm{node: n, on: true, since: time.Now().Add(-time.Hour), boot: 1, seconds: 5}
	}
	return w
}

func (w *modelWorld) names() []string {
	out := []string{modelCP}
	for i := range modelWorkers {
		out = append(out, fmt.Sprintf("n%d", i+1))
	}
	return out
}

// settle carries out what is due by now; w.mu is held.
func (w *modelWorld) settle() {
	now := time.Now()
	for _, v := range w.vms {
		for _, at := range v.offAt {
			if !at.After(now) && v.on {
				v.on, v.since = false, at
			}
		}
		v.offAt = slices.DeleteFunc(v.offAt, func(at time.Time) bool { return !at.After(now) || !v.on })
	}
}

// left counts the workers that are on and stay on.
func (w *modelWorld) left() int {
	n := 0
	for name, v := range w.vms {
		if name != modelCP && v.on && len(v.offAt) == 0 {
			n++
		}
	}
	return n
}

// program is one run of lightsout.
type program struct {
	w         *modelWorld
	dir       string
	cluster   Cluster
	switcher  *Switcher
	journal   *Journal
	ctx       context.Context
	kill      context.CancelFunc
	work      sync.WaitGroup
	mu        sync.Mutex
	dead      bool
	questions []*modelQuestion
	// loose: it may not annotate nodes, its driver knows no state, and each run
	// has a state folder of its own.
	loose    bool
	yes      map[string]bool // nodes named in a question that was answered with yes
	evidence []Seen          // what was seen and is not yet taken in
}

type modelQuestion struct {
	q      Question
	answer chan modelAnswer
}

type modelAnswer struct {
	Answer
	err error
}

func (p *program) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

var errKilled = errors.New("killed")

// Ask waits for a step that answers.
func (p *program) Ask(ctx context.Context, q Question) (Answer, error) {
	m := &modelQuestion{q: q, answer: make(chan modelAnswer, 1)}
	p.mu.Lock()
	p.questions = append(p.questions, m)
	p.mu.Unlock()
	select {
	case a := <-m.answer:
		if a.err == nil && a.Yes && !q.Refused() && (q.Type == "" || a.Typed == q.Type) {
			p.mu.Lock()
			for _, n := range q.Nodes {
				p.yes[n] = true
			}
			p.mu.Unlock()
		}
		return a.Answer, a.err
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
}

// Drain takes a while, and sometimes leaves a node out.
func (p *program) Drain(ctx context.Context, nodes []string) ([]string, error) {
	if !sleep(ctx, time.Duration(10*len(nodes))*time.Second) {
		return nil, ctx.Err()
	}
	if len(nodes) > 2 {
		return nodes[1:], errors.New("the first is held by its budget")
	}
	return nodes, nil
}

// Look tells what the API server would: late.
func (p *program) Look(context.Context) (View, error) {
	w := p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	now := time.Now()
	var v View
	if !w.apiLost.IsZero() {
		if v.Age = now.Sub(w.apiLost); v.Age > ViewLimit {
			return View{}, errors.New("the API server does not answer")
		}
	}
	for _, name := range w.names() {
		m := w.vms[name]
		n := Node{NodeRef: NodeRef{Name: name, Addresses: []string{w.address(name)}, BootID: w.boot(name)}, Role: RoleWorker, Schedulable: true}
		if mark := w.marks[name]; mark != (Mark{}) {
			n.Marks = []Mark{mark}
		}
		if name == modelCP {
			n.Role = RoleControlPlane
		}
		if to := w.notes[name]; to != "" {
			n.Annotations = map[string]string{AnnotationMachine: to}
		}
		gone := now.Sub(m.since)
		n.Ready = m.on && gone >= readyAfterBoot || !m.on && gone < notReadyAfter
		if !m.on && gone >= silentAfter && n.Ready {
			n.NotLeft = "is silent"
		}
		if n.Heard = m.since; m.on && n.Ready {
			n.Heard = now
		}
		v.Nodes = append(v.Nodes, n)
	}
	return v, nil
}

func (w *modelWorld) address(node string) string {
	return fmt.Sprintf("10.0.0.%d", 1+slices.Index(w.names(), node))
}

func (w *modelWorld) boot(node string) string {
	return fmt.Sprintf("%s-%s-boot-%d", w.name, node, w.vms[node].boot)
}

// Note patches a node.
func (p *program) Note(_ context.Context, node string, change func(Mark) (Mark, bool)) error {
	if p.isDead() {
		return errKilled
	}
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	switch {
	case !p.w.apiLost.IsZero():
		return errors.New("the API server does not answer")
	case p.loose:
		return ErrMayNot
	}
	if m, ok := change(p.w.marks[node]); ok {
		if p.w.marks[node] = m; m == (Mark{}) {
			delete(p.w.marks, node)
		}
	}
	return nil
}

// modelDriver is a program's way to the portal.
type modelDriver struct{ p *program }

func (d modelDriver) Name() string { return "portal" }
func (d modelDriver) Abilities() Abilities {
	a := allAbilities
	if d.p.loose {
		a.State, a.ProvesOff = false, false
	}
	return a
}

// reach waits for the portal, with the world locked at the end.
func (d modelDriver) reach(ctx context.Context) error {
	if !sleep(ctx, portalDelay) || d.p.isDead() {
		return errKilled
	}
	d.p.w.mu.Lock()
	d.p.w.settle()
	if d.p.w.portalDown {
		d.p.w.mu.Unlock()
		return errors.New("the portal is down")
	}
	return nil
}

func (d modelDriver) Find(ctx context.Context, node NodeRef, hint string) (Machine, error) {
	if err := d.reach(ctx); err != nil {
		return Machine{}, err
	}
	defer d.p.w.mu.Unlock()
	how := HowAnnotation
	name := node.Named(hint)
	if name == "" {
		how = HowAddress
		for _, n := range d.p.w.names() {
			if slices.Contains(node.Addresses, d.p.w.address(n)) {
				name = n
			}
		}
	}
	if name == "" {
		name, how = node.Name, HowName
	}
	if d.p.w.vms[name] == nil {
		return Machine{}, ErrNoMachine
	}
	return Machine{Driver: "portal", ID: "vm-" + name, Name: name, Address: d.p.w.address(name), How: how}, nil
}

func (d modelDriver) State(ctx context.Context, m Machine) (Reading, error) {
	if err := d.reach(ctx); err != nil {
		return Reading{}, err
	}
	defer d.p.w.mu.Unlock()
	if d.p.w.vms[m.Name].on {
		return Reading{State: On, Proof: Proven, Detail: "PowerON", At: time.Now()}, nil
	}
	return Reading{State: Off, Proof: Proven, Detail: "PowerOFF", At: time.Now()}, nil
}

func (d modelDriver) Switch(ctx context.Context, a Action, m Machine) error {
	switch a {
	case ActionShutdown:
		return d.off(ctx, m, func(v *vm) time.Duration { return time.Duration(v.seconds) * time.Second })
	case ActionOff:
		return d.off(ctx, m, func(*vm) time.Duration { return time.Second })
	}
	if err := d.reach(ctx); err != nil {
		return err
	}
	defer d.p.w.mu.Unlock()
	if v := d.p.w.vms[m.Name]; !v.on {
		v.on, v.since, v.offAt, v.ours = true, time.Now(), nil, false
		v.boot++
	}
	return nil
}

// off is where it is checked that the machine may be switched off: by what is
// true, and by who was asked.
func (d modelDriver) off(ctx context.Context, m Machine, after func(*vm) time.Duration) error {
	if err := d.reach(ctx); err != nil {
		return err
	}
	w := d.p.w
	defer w.mu.Unlock()
	v := w.vms[m.Name]
	if !v.on {
		return nil
	}
	before := len(v.offAt) == 0
	v.offAt, v.ours = append(v.offAt, time.Now().Add(after(v))), true
	d.p.mu.Lock()
	asked := d.p.yes[v.node]
	d.p.mu.Unlock()
	switch {
	case v.node == modelCP:
		w.wrong = append(w.wrong, "the control plane was switched off")
	case !asked:
		w.wrong = append(w.wrong, v.node+" was switched off, which no question named")
	case !w.apiLost.IsZero() && time.Since(w.apiLost) > 2*ViewLimit:
		w.wrong = append(w.wrong, v.node+" was switched off blindly")
	case before && w.left() < 1:
		w.wrong = append(w.wrong, "no worker is left after "+v.node)
	}
	return nil
}

// modelStep is one step of a sequence, as plain numbers.
type modelStep struct{ Kind, Prog, Nodes, Number int }

var stepKinds = []string{
	"nothing", // what a sequence is made shorter with
	"switch", "switch", "switch", "switch", "choose", "choose", "answer", "answer", "advance", "advance", "advance",
	"kill", "interrupt", "restore", "restore", "see", "take in", "take in", "by hand", "api", "portal", "slow", "disk", "damage", "annotate",
}

// modelPrograms says how often a program is the one of a step.
var modelPrograms = []int{0, 0, 1, 1, 2, 3}

func drawSteps(t *rapid.T) []modelStep {
	step := rapid.Custom(func(t *rapid.T) modelStep {
		return modelStep{rapid.IntRange(0, len(stepKinds)-1).Draw(t, "kind"), modelPrograms[rapid.IntRange(0, len(modelPrograms)-1).Draw(t, "program")],
			rapid.IntRange(1, 1<<modelWorkers-1).Draw(t, "nodes"), rapid.IntRange(0, 99).Draw(t, "number")}
	})
	return rapid.SliceOfN(step, 15, 45).Draw(t, "steps")
}

// nodes are those that a step is about: workers, and now and then the control
// plane as well.
func (s modelStep) nodes() []string {
	var out []string
	if s.Number%16 == 0 {
		out = append(out, modelCP)
	}
	for i := range modelWorkers {
		if s.Nodes&(1<<i) != 0 {
			out = append(out, fmt.Sprintf("n%d", i+1))
		}
	}
	return out
}

func (s modelStep) String() string {
	return fmt.Sprintf("%s by %d, %v, %d", stepKinds[s.Kind], s.Prog, s.nodes(), s.Number)
}

// model is a sequence under way.
type model struct {
	root   string
	worlds []*modelWorld // the last is another cluster of the same name
	// Programs 0 and 1 share a state folder, 2 has its own on another host, or is
	// a loose one on the same, and 3 is of the other cluster.
	programs []*program
	loose    bool
	dirs     []string // state folders, as the next start finds them
	plant    fault
	damaged  bool
	disk     bool // full
}

// fault is one of the faults that the model must find.
type fault string

func (m *model) start(i int) *program {
	dir := "a"
	switch {
	case i == 2 && m.loose:
		dir = fmt.Sprint("loose", len(m.dirs))
	case i == 2:
		dir = "b"
	}
	if !slices.Contains(m.dirs, dir) {
		m.dirs = append(m.dirs, dir)
	}
	return m.startIn(i, dir)
}

// startIn starts a program in a state folder; nil where it has no such one.
func (m *model) startIn(i int, dir string) *program {
	w, host, loose := m.worlds[0], "host1", i == 2 && m.loose
	if i == 2 && !loose {
		host = "host2"
	}
	if (i == 2) != (dir != "a") {
		return nil
	}
	cluster := Cluster{Name: "kubernetes-admin@kubernetes", UID: "uid-1"}
	if i == 3 {
		w, cluster.UID = m.worlds[1], "uid-2"
	}
	if m.plant == "15: the journal is kept by the name" {
		cluster.UID = ""
	}
	p := &program{w: w, dir: filepath.Join(m.root, dir), cluster: cluster, loose: loose, yes: map[string]bool{}}
	p.ctx, p.kill = context.WithCancel(context.Background())
	p.journal = OpenJournal(p.dir, cluster, "")
	switch m.plant {
	case "13: a slow shutdown is taken for on":
		p.journal.carriedOut = 2 * time.Minute
	case "16: what is seen settles every operation of the node":
		p.journal.settles = func(o *operationLeft, s Seen, carriedOut time.Duration) bool {
			for _, other := range p.journal.left.open {
				if other.Node == o.Node && settledBy(other, s, carriedOut) {
					return true
				}
			}
			return false
		}
	}
	if m.disk {
		p.journal.unwritable = errors.New("no space left on device")
	}
	locks := OpenLocks(filepath.Join(m.root, host))
	fleet, err := NewFleet(Config{Off: "portal", On: "portal", PollInterval: 10 * time.Second, Locks: locks}, p.journal, modelDriver{p})
	if err != nil {
		panic(err)
	}
	p.switcher = &Switcher{Fleet: fleet, Journal: p.journal, World: p, Marks: p, Drain: p}
	switch m.plant {
	case "1: a node just switched off counts as left":
		p.switcher.judge = func(plan Plan) []Finding {
			for i := range plan.Nodes {
				plan.Nodes[i].NotLeft = ""
			}
			return Guard(plan)
		}
	case "2: the guards are not asked again":
		p.switcher.again = func(first, _ Question) Question { return first }
	}
	return p
}

// stop is kill -9: nothing more is written or sent, and the locks go.
func (p *program) stop() {
	p.mu.Lock()
	p.dead = true
	p.mu.Unlock()
	p.journal.mu.Lock()
	p.journal.unwritable = errKilled
	p.journal.mu.Unlock()
	p.kill()
	p.work.Wait()
	p.journal.Close()
}

func (p *program) do(action Action, nodes []string, ask Asker) {
	p.work.Go(func() {
		_ = p.switcher.Switch(p.ctx, Request{Action: action, Nodes: nodes}, ask)
	})
}

func (m *model) run(s modelStep) {
	if m.loose && s.Prog == 0 {
		s.Prog = 2
	}
	p := m.programs[s.Prog]
	w := p.w
	nodes := s.nodes()
	switch stepKinds[s.Kind] {
	case "choose", "switch":
		p.do([]Action{ActionShutdown, ActionShutdown, ActionOff, ActionOn}[s.Number%4], nodes, p)
		if stepKinds[s.Kind] == "switch" {
			time.Sleep(time.Second) // until it is asked
			synctest.Wait()
			m.answer(p, s.Number%7)
			time.Sleep(time.Second)
		}
	case "by hand":
		w.mu.Lock()
		w.settle()
		if v := w.vms[nodes[0]]; !v.on {
			v.on, v.since, v.offAt, v.ours = true, time.Now(), nil, false
			v.boot++
		}
		w.mu.Unlock()
	case "answer":
		for _, asking := range append([]*program{p}, m.programs...) {
			if m.answer(asking, s.Number) {
				break
			}
		}
	case "advance":
		time.Sleep([]time.Duration{100 * time.Millisecond, time.Second, 7 * time.Second, 20 * time.Second, time.Minute, 4 * time.Minute, 13 * time.Minute}[s.Number%7])
	case "kill":
		p.stop()
		if m.plant == "17: nothing is noted on the host" {
			files, _ := filepath.Glob(filepath.Join(m.root, "*", "*.off"))
			for _, f := range files {
				_ = os.Remove(f)
			}
		}
		m.programs[s.Prog] = m.start(s.Prog)
	case "interrupt": // what is under way is left, and written down as it was last seen
		p.kill()
		p.work.Wait()
		p.stop()
		m.programs[s.Prog] = m.start(s.Prog)
	case "restore":
		p.work.Go(func() { _ = p.switcher.Restore(p.ctx, Request{}, Automatic{}) })
	case "see":
		p.see()
	case "take in":
		for _, e := range p.evidence {
			_, _ = p.journal.SeenOn(e)
		}
		p.evidence = nil
	case "api", "portal", "slow":
		w.mu.Lock()
		switch {
		case stepKinds[s.Kind] == "portal":
			w.portalDown = !w.portalDown
		case stepKinds[s.Kind] == "slow":
			w.vms[nodes[0]].seconds = []int{5, 30, 150, 200, 600, 1500}[s.Number%6]
		case w.apiLost.IsZero():
			w.apiLost = time.Now()
		default:
			w.apiLost = time.Time{}
		}
		w.mu.Unlock()
	case "disk":
		m.disk = !m.disk
		for _, p := range m.programs {
			p.journal.mu.Lock()
			if p.journal.unwritable = nil; m.disk {
				p.journal.unwritable = errors.New("no space left on device")
			}
			p.journal.mu.Unlock()
		}
	case "damage":
		m.damage(p, s.Number)
	case "annotate":
		w.mu.Lock()
		w.notes[nodes[0]] = w.names()[s.Number%len(w.names())]
		w.mu.Unlock()
	}
	synctest.Wait()
}

// answer answers the oldest question of a program, if there is one.
func (m *model) answer(p *program, number int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.questions) == 0 {
		return false
	}
	q := p.questions[0]
	p.questions = p.questions[1:]
	a := modelAnswer{Answer: Answer{Yes: true, Typed: q.q.Type, Drain: number%5 == 0}}
	switch number % 10 {
	case 7:
		a.Yes = false
	case 8:
		a.err = errors.New("the terminal is closed")
	case 9:
		a.Typed = ""
	}
	q.answer <- a
	return true
}

// see keeps what is seen now, to be taken in later: a reading of each machine,
// and the boot of each Ready node.
func (p *program) see() {
	v, err := p.Look(p.ctx)
	if err != nil {
		return
	}
	for _, n := range v.Nodes {
		if n.Ready && n.NotLeft == "" {
			p.evidence = append(p.evidence, Seen{Node: n.NodeRef, At: time.Now()})
		}
	}
	left, _ := p.journal.LeftOff()
	for _, l := range left {
		for _, r := range p.switcher.Fleet.Read(p.ctx, []Binding{l.Binding}) {
			if e, ok := p.switcher.Fleet.Evidence(l.Binding, r.Reading); ok {
				p.evidence = append(p.evidence, e)
			}
		}
	}
}

// damage spoils bytes of one line of a program's journal.
func (m *model) damage(p *program, number int) {
	path := filepath.Join(p.dir, JournalName)
	data, err := os.ReadFile(path)
	lines := strings.SplitAfter(string(data), "\n")
	if err != nil || len(lines) < 2 || p.loose { // whose drivers can't tell what a damaged line doesn't
		return
	}
	i := number % (len(lines) - 1)
	line := []byte(lines[i])
	random := rand.New(rand.NewPCG(uint64(number), 7))
	for at := random.IntN(len(line) - 1); at < len(line)-1 && at >= 0; at += 40 {
		line[at] = '#'
	}
	lines[i] = string(line)
	if os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600) == nil {
		m.damaged = true
		for _, p := range m.programs { // as the next start reads it
			p.journal.mu.Lock()
			p.journal.left = newLedger()
			for _, t := range p.journal.tails {
				t.read = 0
			}
			p.journal.mu.Unlock()
		}
	}
}

// check holds what must be true after every step.
func (m *model) check() error {
	for i, w := range m.worlds {
		known, lost := m.known(i)
		w.mu.Lock()
		w.settle()
		wrong := slices.Clone(w.wrong)
		for _, v := range w.vms {
			if v.ours && (!v.on || len(v.offAt) > 0) && !known[v.node] && !lost {
				wrong = append(wrong, fmt.Sprintf("%s of cluster %d is off or goes off through us, and no journal knows", v.node, i+1))
			}
		}
		w.mu.Unlock()
		if len(wrong) > 0 {
			return errors.New(strings.Join(wrong, "; "))
		}
	}
	return nil
}

// known are the nodes that the journals have as off, read as the next start
// does. lost says that a damaged line speaks for what it does not name.
func (m *model) known(cluster int) (known map[string]bool, lost bool) {
	known = map[string]bool{}
	for _, dir := range m.dirs {
		j := OpenJournal(filepath.Join(m.root, dir), Cluster{Name: "kubernetes-admin@kubernetes", UID: fmt.Sprintf("uid-%d", cluster+1)}, "")
		left, _ := j.LeftOff()
		for _, l := range left {
			known[l.Node] = true
		}
		damaged, _ := j.Damaged()
		lost = lost || len(damaged) > 0
		j.Close()
	}
	return known, lost
}

// heal makes everything answer again, ends every program, and restores.
func (m *model) heal() error {
	for _, p := range m.programs {
		p.stop()
	}
	m.disk = false
	for _, w := range m.worlds {
		w.mu.Lock()
		w.apiLost, w.portalDown, w.notes = time.Time{}, false, map[string]string{}
		w.mu.Unlock()
	}
	// What a damaged line told may happen within half an hour: until then
	// restore says that it has to be repeated.
	for range 5 {
		for _, dir := range slices.Clone(m.dirs) {
			for _, i := range []int{0, 2, 3} {
				p := m.startIn(i, dir)
				if p == nil {
					continue
				}
				m.programs[i] = p
				p.work.Go(func() { _ = p.switcher.Restore(p.ctx, Request{}, Automatic{}) })
				p.work.Wait()
				p.stop()
			}
		}
		time.Sleep(10 * time.Minute)
	}
	for i, w := range m.worlds {
		w.mu.Lock()
		w.settle()
		var off []string
		for _, v := range w.vms {
			if !v.on && v.ours {
				off = append(off, v.node)
			}
		}
		w.mu.Unlock()
		if len(off) > 0 {
			return fmt.Errorf("after restoring five times, %v of cluster %d are off", off, i+1)
		}
	}
	return m.sweep()
}

// sweep has the notes looked at by everybody: none is left.
func (m *model) sweep() error {
	for _, i := range []int{0, 2, 3} {
		p := m.start(i)
		m.programs[i] = p
		v, err := p.Look(p.ctx)
		if err != nil {
			return err
		}
		p.switcher.Sweep(v.Nodes)
		if noted := p.switcher.Registered(); len(noted) > 0 {
			return fmt.Errorf("in the end the host of %d has noted %v", i, noted)
		}
		p.stop()
	}
	for i, w := range m.worlds {
		if len(w.marks) > 0 {
			return fmt.Errorf("in the end the nodes of cluster %d are noted as %v", i+1, w.marks)
		}
	}
	return nil
}

// runModel carries a sequence out in virtual time, and returns what went wrong.
func runModel(t *testing.T, root string, steps []modelStep, plant fault) (failure error) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{root: root, worlds: []*modelWorld{newModelWorld("one"), newModelWorld("two")}, plant: plant}
		m.loose = steps[0].Number%3 == 0
		for i := range 4 {
			m.programs = append(m.programs, m.start(i))
		}
		for i, s := range steps {
			m.run(s)
			if err := m.check(); err != nil && failure == nil {
				failure = fmt.Errorf("after step %d (%s): %w", i+1, s, err)
			}
			if failure != nil {
				break
			}
		}
		healed := m.heal()
		if failure == nil && plant == "" || failure == nil && healed != nil {
			failure = healed
		}
	})
	return failure
}

// memoryDir is a folder in memory: fsync costs nothing there.
func memoryDir(t *testing.T) string {
	t.Helper()
	base := "/dev/shm"
	if _, err := os.Stat(base); err != nil {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(base, "lightsout-model-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// verdict takes what rapid says of a check; a failure of it fails no test.
type verdict struct {
	t      *testing.T
	failed bool
	said   []string
}

func (v *verdict) Helper()                   {}
func (v *verdict) Name() string              { return v.t.Name() }
func (v *verdict) Logf(f string, a ...any)   { v.said = append(v.said, fmt.Sprintf(f, a...)) }
func (v *verdict) Log(a ...any)              { v.said = append(v.said, fmt.Sprint(a...)) }
func (v *verdict) Skipf(f string, a ...any)  { v.Logf(f, a...); v.SkipNow() }
func (v *verdict) Skip(a ...any)             { v.Log(a...); v.SkipNow() }
func (v *verdict) SkipNow()                  { runtime.Goexit() }
func (v *verdict) Errorf(f string, a ...any) { v.Logf(f, a...); v.Fail() }
func (v *verdict) Error(a ...any)            { v.Log(a...); v.Fail() }
func (v *verdict) Fatalf(f string, a ...any) { v.Logf(f, a...); v.FailNow() }
func (v *verdict) Fatal(a ...any)            { v.Log(a...); v.FailNow() }
func (v *verdict) FailNow()                  { v.Fail(); runtime.Goexit() }
func (v *verdict) Fail()                     { v.failed = true }
func (v *verdict) Failed() bool              { return v.failed }

// checkModel tries n sequences of seed, and makes the first that fails as short
// as it can. It returns what rapid says of it; nothing when all hold.
func checkModel(t *testing.T, n int, seed uint64, plant fault) string {
	t.Helper()
	shrink := "20s"
	if plant != "" {
		shrink = "1s"
	}
	for name, value := range map[string]string{"rapid.checks": fmt.Sprint(n), "rapid.seed": fmt.Sprint(seed), "rapid.nofailfile": "true", "rapid.shrinktime": shrink} {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	root, tried := memoryDir(t), 0
	v := &verdict{t: t}
	var over sync.WaitGroup
	over.Go(func() {
		rapid.Check(v, func(rt *rapid.T) {
			steps := drawSteps(rt)
			tried++
			dir := filepath.Join(root, fmt.Sprint(tried))
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Error(err)
			}
			defer os.RemoveAll(dir)
			if err := runModel(t, dir, steps, plant); err != nil {
				journals, _ := filepath.Glob(filepath.Join(dir, "*", JournalName))
				for _, j := range journals {
					text, _ := os.ReadFile(j)
					rt.Logf("journal %s:\n%s", j, text)
				}
				for _, s := range steps {
					if s.Kind != 0 {
						rt.Log(s)
					}
				}
				rt.Fatal(err)
			}
		})
	})
	over.Wait()
	if !v.failed {
		return ""
	}
	return strings.Join(v.said, "\n")
}

// number is a number from the environment.
func number(name string, otherwise uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return otherwise
}

// LIGHTSOUT_SEQUENCES=20000 tries that many; LIGHTSOUT_SEED repeats a run.
func TestNothingIsStrandedAndNothingWrongIsSwitched(t *testing.T) {
	n := uint64(500)
	if testing.Short() {
		n = 50
	}
	n = number("LIGHTSOUT_SEQUENCES", n)
	seed := number("LIGHTSOUT_SEED", uint64(time.Now().UnixNano()))
	t.Logf("%d sequences, LIGHTSOUT_SEED=%d", n, seed)
	if failed := checkModel(t, int(n), seed, ""); failed != "" {
		t.Error(failed)
	}
}

func TestTheModelFindsEachPlantedFault(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for _, plant := range []fault{
		"1: a node just switched off counts as left",
		"2: the guards are not asked again",
		"13: a slow shutdown is taken for on",
		"15: the journal is kept by the name",
		"16: what is seen settles every operation of the node",
		"17: nothing is noted on the host",
	} {
		name, _, _ := strings.Cut(string(plant), ":")
		t.Run(name, func(t *testing.T) {
			if found := checkModel(t, 5000, 1, plant); found == "" {
				t.Error("not found")
			} else {
				t.Log(found)
			}
		})
	}
}

package power

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A site in virtual time, for tests of the procedure: clusters with a control plane and
// four workers, a portal that switches their machines, and programs of several
// operators. It does not use the program's rules, and only knows which machines are on.
// Package internal/simulator has whole programs in a hostile world.

const (
	modelWorkers   = 4
	modelCP        = "cp"
	silentAfter    = 40 * time.Second
	notReadyAfter  = 50 * time.Second
	readyAfterBoot = 20 * time.Second
	portalDelay    = 50 * time.Millisecond
)

// vm is the true state of a machine.
type vm struct {
	node    string
	on      bool
	since   time.Time // start of the present power state
	boot    int
	offAt   []time.Time // pending shutdowns: when the guest carries each out
	ours    bool        // one of our programs switched it off, or asked for that
	seconds int         // duration of a shutdown
}

// modelWorld is a cluster and its portal.
type modelWorld struct {
	mu          sync.Mutex
	name        string
	vms         map[string]*vm
	annotations map[string]string
	notes       map[string]string // node → machine, by annotation
	apiLost     time.Time         // zero while the API server answers
	portalDown  bool
	wrong       []string // switched machines that had to stay on
}

func newModelWorld(name string) *modelWorld {
	w := &modelWorld{name: name, vms: map[string]*vm{}, annotations: map[string]string{}, notes: map[string]string{}}
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

// settle carries out everything due by now; the caller holds w.mu.
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
	// loose: it may not annotate nodes, its driver does not know the power state, and
	// each run has its own state folder.
	loose bool
	yes   map[string]bool // nodes of agreed questions
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

// Ask waits until a step of the test answers.
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
	if !Sleep(ctx, time.Duration(10*len(nodes))*time.Second) {
		return nil, ctx.Err()
	}
	if len(nodes) > 2 {
		return nodes[1:], errors.New("the first is held by its budget")
	}
	return nodes, nil
}

// State returns the API server's view, which is late.
func (p *program) State(context.Context) (ClusterState, error) {
	w := p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	now := time.Now()
	v := ClusterState{At: now}
	if !w.apiLost.IsZero() {
		if v.Age = now.Sub(w.apiLost); v.Age > stateLimit {
			return ClusterState{}, errors.New("the API server does not answer")
		}
	}
	for _, name := range w.names() {
		m := w.vms[name]
		n := Node{NodeRef: NodeRef{Name: name, Addresses: []string{w.address(name)}, BootID: w.boot(name)}, Schedulable: true}
		n.Notes = apart(w.annotations[name])
		if name == modelCP {
			n.ControlPlane = true
		}
		if to := w.notes[name]; to != "" {
			n.Annotations = map[string]string{AnnotationMachine: to}
		}
		gone := now.Sub(m.since)
		n.Ready = m.on && gone >= readyAfterBoot || !m.on && gone < notReadyAfter
		if !m.on && gone >= silentAfter && n.Ready {
			n.Presence, n.Why = Down, "is silent"
		}
		if n.Heard = m.since; m.on && n.Ready {
			n.Heard = now
		}
		v.Nodes = append(v.Nodes, n)
	}
	return v, nil
}

// FreshState is State while the API server answers.
func (p *program) FreshState(ctx context.Context) (ClusterState, error) {
	p.w.mu.Lock()
	lost := !p.w.apiLost.IsZero()
	p.w.mu.Unlock()
	if lost {
		return ClusterState{}, errors.New("the API server does not answer")
	}
	return p.State(ctx)
}

func (w *modelWorld) address(node string) string {
	return fmt.Sprintf("10.0.0.%d", 1+slices.Index(w.names(), node))
}

func (w *modelWorld) boot(node string) string {
	return fmt.Sprintf("%s-%s-boot-%d", w.name, node, w.vms[node].boot)
}

// Change patches a node.
func (p *program) Change(_ context.Context, node string, change func(string) (string, bool)) error {
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
	if text, ok := change(p.w.annotations[node]); ok {
		p.w.annotations[node] = text
	}
	return nil
}

// modelDriver is a program's driver for the portal.
type modelDriver struct{ p *program }

func (d modelDriver) Name() string { return "portal" }
func (d modelDriver) Abilities() Abilities {
	a := allAbilities
	if d.p.loose {
		a.State, a.ProvesOff = false, false
	}
	return a
}

// reach waits for the portal, and then locks the world.
func (d modelDriver) reach(ctx context.Context) error {
	if !Sleep(ctx, portalDelay) || d.p.isDead() {
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

func (d modelDriver) Ready(_ string, m Machine) (Machine, error) { return m, nil }

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
		return Reading{State: On, Proof: Proven, Detail: "PowerON"}, nil
	}
	return Reading{State: Off, Proof: Proven, Detail: "PowerOFF"}, nil
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

// off checks that the machine may be switched off: by the true state, and by the agreed
// questions.
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
		w.wrong = append(w.wrong, v.node+" was switched off, but no question named it")
	case !w.apiLost.IsZero() && time.Since(w.apiLost) > 2*stateLimit:
		w.wrong = append(w.wrong, v.node+" was switched off without a view of the cluster")
	case before && w.left() < 1:
		w.wrong = append(w.wrong, "no worker is left after "+v.node)
	}
	return nil
}

// model is a site: clusters, hosts, and the programs that run there.
type model struct {
	root   string
	worlds []*modelWorld // the last one is another cluster with the same name
	// Programs 0 and 1 share a state folder. Program 2 has its own, on another host, or
	// as a loose one on the same host. Program 3 belongs to the other cluster.
	programs []*program
	loose    bool
	dirs     []string // the state folders that the next start finds
}

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

// startIn starts a program in a state folder; nil if the program has no such folder.
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
	p := &program{w: w, dir: filepath.Join(m.root, dir), cluster: cluster, loose: loose, yes: map[string]bool{}}
	p.ctx, p.kill = context.WithCancel(context.Background())
	p.journal = OpenJournal(p.dir, cluster, "")
	locks := OpenLocks(filepath.Join(m.root, host))
	fleet, err := NewFleet(Config{Off: "portal", On: "portal", PollInterval: 10 * time.Second, Locks: locks}, p.journal, map[string]Driver{"portal": modelDriver{p}})
	if err != nil {
		panic(err)
	}
	p.switcher = &Switcher{Fleet: fleet, Cluster: p, Annotations: p, Drain: p}
	return p
}

// stop is kill -9: the program writes and sends nothing more, and its locks end.
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

// check returns an error if a machine was switched wrongly, or if one that is off is
// forgotten.
func (m *model) check() error {
	for i, w := range m.worlds {
		known, lost := m.known(i)
		w.mu.Lock()
		w.settle()
		wrong := slices.Clone(w.wrong)
		for _, v := range w.vms {
			if v.ours && (!v.on || len(v.offAt) > 0) && !known[v.node] && !lost {
				wrong = append(wrong, fmt.Sprintf("%s of cluster %d is off or shuts down because of lightsout, but no journal lists it", v.node, i+1))
			}
		}
		w.mu.Unlock()
		if len(wrong) > 0 {
			return errors.New(strings.Join(wrong, "; "))
		}
	}
	return nil
}

// known returns the nodes that the journals list as off, as the next start reads them.
// lost reports a damaged line that may hide any node.
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

// memoryDir returns a folder in memory, where fsync costs nothing.
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

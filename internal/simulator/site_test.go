package simulator

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"lightsout/internal/session"
	"lightsout/internal/trial"
	"lightsout/power"
)

// site is one sequence: a world, the hosts and state folders of its operators, and the
// programs that they run.
type site struct {
	w      *world
	root   string
	hosts  []*host
	states []*stateDir
	guests bool // ssh switches the machines off
	slots  int  // number of concurrent requests

	mu        sync.Mutex
	processes []*process
	made      int
}

// parts are the parts of one run that the command line connects.
type parts struct {
	p        *process
	eyes     *eyes
	journal  *power.Journal
	fleet    *power.Fleet
	switcher *power.Switcher // of commands without a session
	restore  string          // the restore command that the program prints
}

// start starts a process of an operator, called in this way.
func (x *site) start(st *stateDir, what string, called way) *parts {
	x.mu.Lock()
	x.made++
	p := newProcess(x.w, fmt.Sprintf("%s%d", st.name, x.made), st.host)
	p.what = what
	x.processes = append(x.processes, p)
	x.mu.Unlock()
	r := x.w.dice("start " + st.name)
	e := newEyes(p, between(r, 5*time.Millisecond, 1500*time.Millisecond))
	dir, restore := st.call(called)
	j := power.OpenJournal(dir, st.cluster, "")
	j.Disk = disk{p}
	locks := power.OpenLocks(st.host.locks)
	off := "portal"
	if x.guests {
		off = "ssh"
	}
	fleet, err := power.NewFleet(power.Config{Off: off, On: "portal", Locks: locks, Parallel: x.slots, WayBack: restore}, j, map[string]power.Driver{"portal": portal{p}, "ssh": guest{p}})
	if err != nil {
		panic(err)
	}
	if st.uid > 0 {
		go func() {
			if p.wait(p.ctx, st.uid) == nil {
				j.Identify(power.Cluster{UID: "uid-of-site"})
			}
		}()
	}
	if what != "restore" {
		st.printed = restore
	}
	return &parts{p: p, eyes: e, journal: j, fleet: fleet, switcher: &power.Switcher{
		Fleet: fleet, Cluster: session.ClusterReader{Watcher: e, Now: time.Now}, Annotations: e,
	}, restore: restore}
}

// screen runs a session with an operator at it.
func (x *site) screen(st *stateDir) *parts {
	a := x.start(st, "screen", x.anyWay(st))
	x.w.tell(a.p.name, "starts the screen on %s, state %s", st.host.name, st.name)
	x.session(a, nil)
	return a
}

// session runs a session with an operator at it. plan, if not nil, is a trial without a
// terminal.
func (x *site) session(a *parts, p *outage) {
	rec, err := session.NewRecordWriter("", time.Now)
	if err != nil {
		panic(err)
	}
	opt := session.Options{
		Cluster: "site", RecordWriter: rec, Questions: session.NewQuestions(), Watcher: a.eyes, Fleet: a.fleet, Journal: a.journal,
		Restore: a.restore, Annotations: a.eyes, Target: session.NewTarget(a.eyes, web, time.Now),
	}
	t := &target{p: a.p}
	if p != nil && p.allows > 0 {
		opt.Load = t.generator(rec)
	}
	s := session.New(opt)
	trials := trial.NewRunner(s.Controls(), trial.Options{Claim: func() (func(), error) { return func() {}, nil }, Begin: func() {}, Cluster: "site", Restore: a.restore, Dir: filepath.Join(x.root, a.p.name), Timeline: rec.Timeline(), Load: opt.Load})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Run(a.p.ctx, trials)
	}()
	o := &operator{x: x, a: a, s: s, trials: trials}
	if p != nil {
		o.start(p, trial.RunOptions{Auto: true, End: true})
	}
	go func() {
		o.sit()
		<-ended
		a.journal.Close()
		if a.p.alive() {
			x.w.tell(a.p.name, "the session has ended")
			if sum, _, _ := trials.Outcome(); p != nil {
				x.judged(t, p, sum)
			}
		}
		close(a.p.gone)
	}()
}

// anyWay returns a random way to call a program other than a restore.
func (x *site) anyWay(st *stateDir) way { return way(x.w.dice("way " + st.name).IntN(int(asPrinted))) }

// command runs a program without a session, and returns at once.
func (x *site) command(st *stateDir, what string, called way, run func(*parts) error) *parts {
	a := x.start(st, what, called)
	x.w.tell(a.p.name, "$ lightsout %s  (on %s, state %s, %s)", what, st.host.name, st.name, called)
	go func() {
		err := run(a)
		a.journal.Close()
		if a.p.alive() {
			x.w.tell(a.p.name, "ends: %s", oneLine(err))
		}
		a.p.end()
		close(a.p.gone)
	}()
	return a
}

func oneLine(err error) string {
	if err == nil {
		return "status 0"
	}
	text := strings.ReplaceAll(err.Error(), "\n", "; ")
	return text[:min(len(text), 300)]
}

// alive returns the processes that run now.
func (x *site) alive() []*process {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.processes = slices.DeleteFunc(x.processes, func(p *process) bool { return !p.alive() })
	return slices.Clone(x.processes)
}

// powerCommand is `lightsout power shutdown|off NODE… --yes`.
func (x *site) powerCommand(st *stateDir, action power.Action, nodes ...string) {
	x.command(st, "power "+string(action)+" "+strings.Join(nodes, " ")+" --yes", x.anyWay(st), func(a *parts) error {
		a.p.agree(nodes...)
		return a.switcher.Switch(a.p.ctx, power.Request{Action: action, Nodes: nodes, Report: a.report(x)}, power.Automatic{})
	})
}

func (a *parts) report(x *site) func(power.Progress) {
	return func(p power.Progress) {
		a.p.say(p.Node)
		x.w.tell(a.p.name, "%s: %s: %s", p.Node, p.Stage, p.Text)
	}
}

// restore is `lightsout restore --yes`. In this percentage of cases it also names the
// nodes that a damaged journal may have had.
func (x *site) restore(st *stateDir, called way, named int) *parts {
	return x.command(st, "restore --yes", called, func(a *parts) error {
		began := time.Now()
		r := power.Request{Action: power.ActionOn, Report: a.report(x)}
		left, err := a.journal.LeftOff()
		if err != nil {
			return err
		}
		for _, l := range left {
			r.Nodes = append(r.Nodes, l.Node)
		}
		expected := slices.Clone(r.Nodes)
		var leave []string
		if damaged, err := a.journal.Damaged(); err == nil && len(damaged) > 0 {
			off, _ := a.switcher.Unaccounted(a.p.ctx)
			dice := x.w.dice("names " + st.name)
			for _, o := range off {
				if chance(dice, named) {
					r.Nodes = append(r.Nodes, o.Node)
				} else {
					leave = append(leave, o.Node)
				}
			}
			x.w.tell(a.p.name, "the journal is damaged: the operator names %v to power on, and leaves %v off", r.Nodes, leave)
		}
		a.p.agree(r.Nodes...)
		a.p.expect(x, "restore", expected)
		if len(r.Nodes) > 0 {
			if err := a.switcher.Switch(a.p.ctx, r, power.Automatic{}); err != nil {
				return err
			}
		}
		if err := a.switcher.SettleDamage(a.p.ctx, leave); err != nil {
			return err
		}
		noted := &power.Switcher{Fleet: a.fleet}
		if others := noted.Sweep(nil); len(others) > 0 {
			return fmt.Errorf("others have switched off %v", others)
		}
		x.restored(a.p, st, began, leave)
		return nil
	})
}

// restored checks that a restore with exit status 0 has powered everything on.
func (x *site) restored(p *process, st *stateDir, began time.Time, leave []string) {
	x.w.mu.Lock()
	defer x.w.mu.Unlock()
	x.w.settle()
	for _, v := range x.w.vms {
		if strings.HasPrefix(v.ours, st.name) && !v.now().on && v.asked.Before(began) && !slices.Contains(leave, v.name) {
			x.w.brokenLocked(restored, "%s: restore ends with status 0, but %s is off because of %s", p.program(), v.name, v.ours)
		}
	}
}

// namedFor reports whether an agreed question named the node.
func (p *process) namedFor(node string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.agreed, node)
}

func (p *process) agree(nodes ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.agreed = append(p.agreed, nodes...)
}

// program is the name of the program, the same in each run of it.
func (p *process) program() string { return p.what }

// say records that the program printed something about a node.
func (p *process) say(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.said == nil {
		p.said = map[string]bool{}
	}
	p.said[node] = true
}

// lookingWithin is the longest silence of a command: until then it prints that it is
// polling.
const lookingWithin = 30 * time.Second

// expect adds a promise that the program soon prints something about each node.
func (p *process) expect(x *site, what string, nodes []string) {
	go func() {
		for waited := time.Duration(0); waited < lookingWithin+visibleWithin; {
			before := p.stood()
			select {
			case <-p.dead:
				return
			case <-p.gone:
				return
			case <-time.After(time.Second):
				waited += time.Second - (p.stood() - before)
			}
		}
		if !p.running() {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, n := range nodes {
			if !p.said[n] {
				x.w.broken(silent, "%s: the program prints nothing about %s for %s", what, n, lookingWithin+visibleWithin)
			}
		}
	}()
}

// waitFor waits in the bubble until done or the end of ctx.
func waitFor(ctx context.Context, done <-chan struct{}) {
	select {
	case <-done:
	case <-ctx.Done():
	}
}

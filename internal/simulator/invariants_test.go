package simulator

import (
	"slices"
	"strings"
	"time"

	"lightsout/internal/view"
	"lightsout/power"
)

// invariant is a condition that always holds.
type invariant string

const (
	workers   invariant = "workers"   // never fewer workers than allowed when a request is sent
	named     invariant = "named"     // switches no machine that no agreed question named
	forgotten invariant = "forgotten" // a journal, a register or an annotation lists every machine that is off
	returned  invariant = "returned"  // restore powers everything on in the end
	restored  invariant = "restored"  // restore exits 0 only if it has done so
	asked     invariant = "asked"     // an aborted trial sends each machine a power-on request within a minute, whatever others do
	silent    invariant = "silent"    // the operator sees every refusal and every wait within 10 s
	verdict   invariant = "verdict"   // a trial passes only if no client hung for longer than its plan allows
	label     invariant = "label"     // the screen shows no state that is older than its label
)

// unseen is how long nobody can notice that a machine lost its power by itself: a
// heartbeat that is 16 s overdue, and a view that is 15 s old.
const unseen = 35 * time.Second

// overdue is when the program notices a missing heartbeat: 0.4 of the Lease, plus the
// delay of a watch and a judgement.
const overdue = 20 * time.Second

// sent checks a request when its first packet leaves: there are as many workers as
// required, and an agreed question named the machine.
func (w *world) sent(p *process, a power.Action, name string) {
	agreed := p.namedFor(name)
	p.hasAsked(a, name)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	v := w.vm(name)
	w.tellLocked(p.name, "sends: %s %s", a, name)
	if !agreed {
		w.brokenLocked(named, "%s sent %s to %s, which no agreed question had named", p.program(), a, name)
	}
	if a == power.ActionOn || !v.now().on {
		return
	}
	if v.cp {
		w.brokenLocked(workers, "%s switches the control plane off", p.program())
	}
	// The program may not have heard yet that a node has just become Ready.
	known := time.Since(v.now().ready) > 4*time.Second
	was := w.left(p.name)
	v.ours, v.asked = p.name, time.Now()
	if left := w.left(p.name); left < 1 && left < was && known {
		w.brokenLocked(workers, "%s leaves no worker when it sends %s to %s", p.program(), a, name)
	}
}

// left counts the workers that take pods and stay on. It includes those whose loss the
// program cannot know yet: they lost their power or rebooted by themselves a short
// while ago, or somebody else powered them on so recently that their last heartbeat is
// not overdue. The caller holds w.mu.
func (w *world) left(asks string) (n int) {
	for _, v := range w.vms {
		s := v.now()
		up := s.on && !s.ready.After(time.Now()) && !slices.ContainsFunc(v.due, func(d due) bool { return !d.reboot })
		recent := !v.unplanned.IsZero() && time.Since(v.unplanned) < unseen ||
			s.on && s.ready.After(time.Now()) && v.onBy != asks[:1] && time.Since(v.beat(time.Now())) < overdue
		if !v.cp && !v.tainted && v.ours == "" && (up || recent) {
			n++
		}
	}
	return n
}

// accounted checks that a journal, a register or an annotation lists every machine that
// is off because of lightsout.
func (x *site) accounted() {
	var off []string
	x.w.mu.Lock()
	x.w.settle()
	for _, v := range x.w.vms {
		if v.ours != "" && !v.now().on && v.annotation() == "" {
			off = append(off, v.name)
		}
	}
	x.w.mu.Unlock()
	if len(off) == 0 {
		return
	}
	known := x.known()
	for _, n := range off {
		if !known[n] && !known["*"] {
			x.w.broken(forgotten, "%s is off because of lightsout, but no journal or annotation lists it", n)
		}
	}
}

// known returns the nodes that a journal lists as off; "*" for a damaged
// line that may hide any node.
func (x *site) known() map[string]bool {
	known := map[string]bool{}
	for _, st := range x.states {
		for _, dir := range st.used {
			j := power.OpenJournal(dir, st.cluster, "")
			left, _ := j.LeftOff()
			for _, l := range left {
				known[l.Node] = true
			}
			if damaged, err := j.Damaged(); len(damaged) > 0 || err != nil {
				known["*"] = true
			}
			j.Close()
		}
	}
	return known
}

// shown checks a frame: no state is older than its label.
func (x *site) shown(p *process, f *view.Frame) {
	w := x.w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	for name, m := range f.Power {
		r := m.Reading
		if r.Proof != power.Proven || r.State != power.On && r.State != power.Off {
			continue
		}
		v := w.vm(name)
		true_ := v.at(asOf(r)).on == (r.State == power.On)
		for _, s := range v.life {
			true_ = true_ || !s.from.Before(asOf(r)) && s.on == (r.State == power.On)
		}
		if !true_ {
			w.brokenLocked(label, "%s: the screen shows %s as %s as of %s ago, but it was %s even before that", p.program(), name, r.State, f.Now.Sub(asOf(r)).Round(time.Millisecond), opposite(r.State))
		}
	}
}

// asOf returns the time that the screen shows with a reading.
func asOf(r power.Reading) time.Time { return r.RequestedAt }

func opposite(s power.State) power.State {
	if s == power.On {
		return power.Off
	}
	return power.On
}

// promise is an announcement to the operator: within a time the screen shows a result
// for each node, or the reason why there is none.
type promise struct {
	at     time.Time
	stood  time.Duration // how long the process had been stopped
	nodes  []string
	what   string
	within time.Duration
	// powersOn: each node must get a power-on request; a text is not enough.
	powersOn bool
}

const (
	visibleWithin = 10 * time.Second
	// askedWithin bounds the time until the power-on request.
	askedWithin = time.Minute
)

// kept removes the promises that are due, and checks them by the newest frame.
func (x *site) kept(p *process, promises []promise, f *view.Frame) []promise {
	return slices.DeleteFunc(promises, func(pr promise) bool {
		if f.Now.Sub(pr.at) < pr.within+p.stood()-pr.stood {
			return false
		}
		for _, n := range pr.nodes {
			m := f.Power[n]
			done := m.Busy != "" || !m.LeftOff
			told := !f.Notice.At.Before(pr.at) && f.Notice.Text != "" && (!pr.powersOn || strings.Contains(f.Notice.Text, n))
			// The situation may have changed, and lightsout asks again: one question at a time.
			told = told || f.Question != nil && !pr.powersOn
			for _, e := range f.Events {
				told = told || !e.Seen.Before(pr.at) && e.Lane == view.LanePower && (e.Subject == n || strings.Contains(e.Text, n)) &&
					(!pr.powersOn || e.Code != view.CodeMachineState)
			}
			switch {
			case done, told:
			case !pr.powersOn:
				x.w.broken(silent, "%s: %s after %q the screen shows neither a result for %s nor a reason", p.program(), pr.within, pr.what, n)
			case !p.askedAfter(power.ActionOn, n, pr.at):
				x.w.broken(asked, "%s: %s after %q %s has received no power-on request, and the screen shows no reason", p.program(), pr.within, pr.what, n)
			}
		}
		return true
	})
}

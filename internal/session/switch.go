package session

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// planTimeout bounds what is looked up before a question about switching.
const planTimeout = 15 * time.Second

// switching switches machines: it looks up, asks and carries out.
type switching struct {
	*loop
	opt       Options
	machines  *machines
	cordons   *cordons
	drains    *drains
	questions *Questions
	returns   *returns

	preparing bool // a question is being prepared
	greeted   bool // what an earlier run has left off was asked about
}

// ask prepares a question about switching: it finds the machines, proves the way
// back, asks the guards and forecasts, all away from the loop.
func (w *switching) ask(a view.AskPower) {
	switch {
	case w.opt.ReadOnly:
		w.warn(view.LanePower, "power", "read-only: nothing can be switched; start without --read-only")
		return
	case w.opt.Fleet == nil:
		w.warn(view.LanePower, "power", w.noPower())
		return
	case len(a.Nodes) == 0 || w.preparing || w.questions.first() != nil:
		return
	}
	if a.Action == power.ActionOn && !slices.ContainsFunc(a.Nodes, w.machines.mayBeOff) {
		w.warn(view.LanePower, a.Nodes[0], text.List(a.Nodes)+text.Noun(len(a.Nodes), " is", " are")+" on already: nothing to power on")
		return
	}
	if d, n := w.drains.of(a.Nodes...); n != nil {
		if d.asks {
			w.drains.ask(d, n)
			return
		}
		w.warn(view.LanePower, n.node, n.node+" is being drained by a step of the trial")
		return
	}
	a.Nodes = slices.Clone(a.Nodes)
	w.plan(a, func(p switchPlan) {
		w.questions.ask(w.question(p), func(ans view.Answer) {
			switch ans.Choice {
			case view.ChoiceYes:
				w.carryOut(p, nil)
			case view.ChoiceDrain:
				w.drainFirst(p, nil)
			}
		})
	})
}

// plan looks up what switching needs and hits, away from the loop.
func (w *switching) plan(a view.AskPower, then func(switchPlan)) {
	s := w.snapshot
	if a.Action != power.ActionOn && w.opt.Watcher != nil {
		w.opt.Watcher.WantKubelets(a.Nodes...)
	}
	w.preparing = true
	async(w.loop, planTimeout, func(ctx context.Context) switchPlan { return w.lookUp(ctx, a, s) }, func(p switchPlan) {
		w.preparing = false
		then(p)
	})
}

// prepare is Controls.Switch.
func (w *switching) prepare(a view.AskPower, decide func(q view.Question, carryOut func(choice string)), end func(error)) error {
	if err := w.missing(); err != nil {
		return err
	}
	w.plan(a, func(p switchPlan) {
		decide(w.question(p), func(choice string) {
			if choice == view.ChoiceDrain {
				w.drainFirst(p, end)
				return
			}
			w.carryOut(p, end)
		})
	})
	return nil
}

// missing says why machines can't be switched here; nil when they can.
func (w *switching) missing() error {
	switch {
	case w.opt.ReadOnly:
		return errors.New("read-only: nothing can be switched")
	case w.opt.Fleet == nil:
		return errors.New(w.noPower())
	}
	return nil
}

func (w *switching) noPower() string {
	return cmp.Or(w.opt.NoPower, "machines can't be switched: set power.off_by and power.on_by in lightsout.yaml")
}

// carryOut carries a plan out, all machines side by side. end, which may
// be nil, is called on the loop with what came of it.
func (w *switching) carryOut(p switchPlan, end func(error)) {
	a := p.ask
	if end == nil {
		end = func(error) {}
	}
	if w.opt.DryRun {
		for _, n := range a.Nodes {
			w.say(view.Event{Lane: view.LanePower, Subject: n, Text: "dry run: " + string(a.Action) + " not asked for"})
		}
		end(nil)
		return
	}
	asked := w.now()
	if a.Action != power.ActionOn && w.rec.timeline.Start(asked) {
		w.say(view.Event{At: asked, Lane: view.LaneOperator, Subject: "trial", Text: "zero of the clock: the first power-off is asked for"})
	}
	if a.Action == power.ActionOn {
		w.returns.poweredOn(a.Nodes)
	} else {
		w.returns.switchedOff(a.Nodes)
	}
	w.guest.Switching(a.Action, p.bindings)
	for _, n := range a.Nodes {
		w.machines.update(n, func(v *view.MachineView) { v.Busy, v.Phase, v.Text = a.Action, power.PhaseAsking, "" })
	}
	// Not bounded here: the fleet has bounds of its own.
	w.spawn(func() {
		err := w.opt.Fleet.Do(w.ctx, a.Action, p.bindings, func(pr power.Progress) { w.inbox.put(progress(pr)) })
		w.inbox.put(result[error]{err, func(err error) {
			w.over(a, err)
			end(err)
		}})
	})
}

// progress is one step of an operation on one machine.
type progress power.Progress

func (p progress) deliver(s *Session) { s.switching.progress(power.Progress(p)) }

// progress keeps one step of an operation on one machine.
func (w *switching) progress(pr power.Progress) {
	w.machines.update(pr.Node, func(v *view.MachineView) { v.Phase, v.Text = pr.Phase, pr.Text })
	w.say(view.Event{At: pr.At, Lane: view.LanePower, Subject: pr.Node, Text: pr.Text, Level: phaseLevel(pr.Phase)})
	if !pr.Reading.At.IsZero() {
		w.machines.read(pr.Node, pr.Reading)
	}
	if pr.Phase == power.PhaseDone || pr.Phase == power.PhaseUncertain {
		w.readJournal()
	}
	if pr.Phase == power.PhaseDone && pr.Action == power.ActionOn {
		w.cordons.poweredOn(pr.Node)
	}
}

// over is the end of an operation on all its machines.
func (w *switching) over(a view.AskPower, err error) {
	for _, n := range a.Nodes {
		w.machines.update(n, func(v *view.MachineView) { v.Busy = "" })
	}
	var failed *power.ActionError
	if err != nil && !errors.As(err, &failed) {
		w.warn(view.LanePower, "power", err.Error()) // nothing was switched
	} else if err != nil {
		w.notice = view.Notice{Text: err.Error(), At: w.now()}
	}
	w.readJournal()
	if w.leaveWhenOn && (err != nil || len(w.machines.leftOff) > 0) {
		w.leaveWhenOn = false
	}
	w.undone = true
}

package session

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// planTimeout bounds a request to the API server about a node.
const planTimeout = 15 * time.Second

// switching has machines switched by the one procedure (power.Switcher), for the
// operator, for the guest, and when leaving. Each request runs in a goroutine of
// its own and tells the loop how it goes.
type switching struct {
	*loop
	machines *machines
	cordons  *cordons
	drains   *drains
	returns  *returns
	world    world
	switcher *power.Switcher // nil when nothing can be switched

	requests   []*request
	unmarkNext time.Time // when to look for notes of ours again
	greeted    bool      // what an earlier run has left off was asked about
}

// request is one run of the procedure. It asks the operator itself, as a
// power.Asker, unless it is answered automatically.
type request struct {
	w      *switching
	action power.Action
	// course is what the guest was carrying out when it was made: the request
	// ends with that, unless it is under way.
	course any
	ended  context.CancelFunc
	end    func(error)

	// Of the loop.
	nodes   []string
	asked   bool // it has come to its question
	yes     bool // the operator has agreed to it
	drained bool // its nodes were drained
}

func newSwitching(l *loop, m *machines, c *cordons, d *drains, r *returns) *switching {
	opt := l.opt
	w := &switching{loop: l, machines: m, cordons: c, drains: d, returns: r, world: world{opt.Watcher, opt.Self, opt.Now}}
	if opt.Fleet == nil {
		return w
	}
	w.switcher = &power.Switcher{
		Fleet: opt.Fleet, Journal: opt.Journal, World: w.world, Marks: opt.Marks, Limits: opt.Guards, ReadOnly: opt.ReadOnly, DryRun: opt.DryRun,
		WayBack: opt.Restore,
	}
	if opt.Drain != nil && opt.Journal != nil {
		w.switcher.Drain = w
	}
	if opt.Production {
		w.switcher.Production = opt.Cluster
	}
	return w
}

// ask asks the operator whether machines are to be switched, and does so.
func (w *switching) ask(a view.AskPower) {
	switch {
	case w.opt.ReadOnly:
		w.warn(view.LanePower, "power", "read-only: nothing can be switched; start without --read-only")
		return
	case w.switcher == nil:
		w.warn(view.LanePower, "power", w.noPower())
		return
	case len(a.Nodes) == 0 || w.asking():
		return
	}
	if a.Action == power.ActionOn && !slices.ContainsFunc(a.Nodes, w.machines.mayBeOff) {
		why := text.List(a.Nodes) + text.Noun(len(a.Nodes), " is", " are") + " on already: nothing to power on"
		w.warn(view.LanePower, a.Nodes[0], why)
		for _, n := range a.Nodes {
			w.machines.update(n, func(v *view.MachineView) { v.Phase, v.Text = power.PhaseDone, why })
		}
		return
	}
	if d, n := w.drains.of(a.Nodes...); n != nil {
		if d.before != "" {
			w.drains.ask(d, n)
			return
		}
		w.warn(view.LanePower, n.node, n.node+" is being drained by a step of the trial")
		return
	}
	w.run(a, nil, func(error) {}, w.switcher.Switch)
}

// asking reports whether something is being asked, or soon will be.
func (w *switching) asking() bool {
	return w.opt.Questions.first() != nil || slices.ContainsFunc(w.requests, func(x *request) bool { return !x.asked })
}

// run has machines switched by one of the switcher's methods, after the answer of
// asker, which is the operator when it is nil. end is called on the loop with what
// came of it.
func (w *switching) run(a view.AskPower, asker power.Asker, end func(error), carryOut func(context.Context, power.Request, power.Asker) error) {
	if a.Action != power.ActionOn && w.opt.Watcher != nil {
		w.opt.Watcher.WantKubelets(a.Nodes...) // the forecast stands on their settings
	}
	x := &request{w: w, action: a.Action, nodes: slices.Sorted(slices.Values(a.Nodes)), course: w.guest.Course(), end: end}
	while, ended := context.WithCancel(w.ctx)
	x.ended = ended
	w.requests = append(w.requests, x)
	r := power.Request{
		Action: a.Action, Nodes: slices.Clone(a.Nodes), While: while,
		Acting: x.acting,
		Report: func(p power.Progress) { post(w.loop, p, w.progress) },
	}
	if asker == nil {
		asker = x
	}
	w.spawn(func() { post(w.loop, carryOut(w.ctx, r, asker), x.over) })
}

// Ask asks the operator.
func (x *request) Ask(ctx context.Context, q power.Question) (power.Answer, error) {
	post(x.w.loop, true, func(asked bool) { x.asked, x.yes = asked, false })
	a, err := x.w.opt.Questions.Ask(ctx, x.w.question(q))
	yes := a.Choice == view.ChoiceYes || a.Choice == view.ChoiceDrain
	if yes && err == nil && !q.DryRun {
		post(x.w.loop, "looking at the machine once more", x.agreed)
	}
	return power.Answer{Yes: yes, Drain: a.Choice == view.ChoiceDrain, Typed: a.Typed}, err
}

// agreed shows what is done now that the operator has said yes.
func (x *request) agreed(text string) {
	x.yes = true
	x.w.machines.busy(x.action, text, x.nodes...)
}

// acting: it is begun now. The zero of the clock and the guest come before the
// first packet, so the procedure waits until both have been told.
func (x *request) acting(q power.Question) {
	at, told := x.w.now(), make(chan struct{})
	post(x.w.loop, q, func(q power.Question) {
		defer close(told)
		x.begun(q, at)
	})
	select {
	case <-told:
	case <-x.w.ctx.Done():
	}
}

// begun takes in, on the loop, that what q says is begun at that time.
func (x *request) begun(q power.Question, at time.Time) {
	w := x.w
	if x.nodes = slices.Clone(q.Nodes); q.DryRun {
		for _, n := range q.Nodes {
			w.say(view.Event{Lane: view.LanePower, Subject: n, Text: "dry run: " + string(q.Action) + " not asked for"})
		}
		return
	}
	if q.Action != power.ActionOn && w.rec.timeline.Start(at) {
		w.say(view.Event{At: at, Lane: view.LaneOperator, Subject: "trial", Text: "zero of the clock: the first power-off is asked for"})
	}
	if q.Action == power.ActionOn {
		w.returns.poweredOn(q.Nodes)
	} else {
		w.returns.switchedOff(q.Nodes)
	}
	w.guest.Switching(q.Action, q.Bindings)
	w.machines.busy(q.Action, "", q.Nodes...)
}

// look ends requests that were made for what the guest is not carrying out any
// more, unless they are under way.
func (w *switching) look() {
	for _, x := range w.requests {
		if x.course != nil && w.guest.Course() != x.course {
			x.ended()
		}
	}
}

// unmarkEvery is between two looks for notes on nodes that are back.
const unmarkEvery = 30 * time.Second

// unmark takes our notes off nodes whose machines are back, however they came
// back, and others' that are over.
func (w *switching) unmark(s *cluster.Snapshot) {
	if w.switcher == nil || w.opt.ReadOnly || len(w.requests) > 0 || w.now().Before(w.unmarkNext) || s.Link.State != cluster.LinkLive {
		return
	}
	now := w.now()
	w.unmarkNext = now.Add(unmarkEvery)
	w.spawn(func() {
		registered := w.switcher.Registered()
		var noted []power.Node
		for _, n := range s.Nodes() {
			_, here := registered[n.Name]
			if n.Gone.IsZero() && (here || n.Annotations[power.AnnotationSwitchedOff] != "") {
				noted = append(noted, nodeOf(s, n, now))
			}
		}
		w.switcher.Sweep(noted)
	})
}

// missing says why machines can't be switched here; nil when they can.
func (w *switching) missing() error {
	switch {
	case w.opt.ReadOnly:
		return errors.New("read-only: nothing can be switched")
	case w.switcher == nil:
		return errors.New(w.noPower())
	}
	return nil
}

func (w *switching) noPower() string {
	return cmp.Or(w.opt.NoPower, "machines can't be switched: set power.off_by and power.on_by in lightsout.yaml")
}

// progress keeps one step of an operation on one machine.
func (w *switching) progress(pr power.Progress) {
	w.machines.update(pr.Node, func(v *view.MachineView) { v.Phase, v.Text = pr.Phase, pr.Text })
	if !pr.Reading.At.IsZero() {
		w.machines.read(pr.Node, pr.Reading) // it came before what is said of it
	}
	w.say(view.Event{At: pr.At, Lane: view.LanePower, Subject: pr.Node, Text: pr.Text, Level: phaseLevel(pr.Phase)})
	if pr.Phase == power.PhaseDone || pr.Phase == power.PhaseUncertain {
		w.readJournal()
	}
	if pr.Phase == power.PhaseDone && pr.Action == power.ActionOn {
		w.cordons.poweredOn(pr.Node)
	}
}

// nodes are those of the requests that have not ended.
func (w *switching) nodes() []string {
	var nodes []string
	for _, x := range w.requests {
		nodes = append(nodes, x.nodes...)
	}
	return nodes
}

// over is the end of a request, on the loop.
func (x *request) over(err error) {
	w := x.w
	x.ended()
	w.requests = slices.DeleteFunc(w.requests, func(o *request) bool { return o == x })
	for _, n := range x.nodes {
		w.machines.update(n, func(v *view.MachineView) { v.Busy = "" })
	}
	var failed *power.ActionError
	var notDone *power.NotDoneError
	switch {
	case err == nil, errors.Is(err, context.Canceled):
	case errors.As(err, &failed):
		w.notice = view.Notice{Text: err.Error(), At: w.now(), Level: view.Warning}
	case errors.As(err, &notDone) && !x.drained && notDone.Why != power.NotTyped: // the operator has seen why
	default:
		w.warn(view.LanePower, "power", err.Error()) // nothing was switched
		for _, n := range x.nodes {
			w.machines.update(n, func(v *view.MachineView) { v.Phase, v.Text = power.PhaseFailed, err.Error() })
		}
	}
	w.readJournal()
	if x.drained {
		for _, n := range x.nodes {
			if _, off := w.machines.leftOff[n]; !off {
				w.cordons.release(n) // it has not been switched off
			}
		}
	}
	if w.leaveWhenOn && (err != nil || len(w.machines.leftOff) > 0) {
		w.leaveWhenOn = false
	}
	w.undone = true
	x.end(err)
}

package session

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// apiTimeout bounds a request to the API server, or to the API of a power driver.
const apiTimeout = 15 * time.Second

// switching switches machines through power.Switcher, for the operator, for the guest,
// and at the end. Each request runs in a goroutine of its own and reports its progress
// to the loop.
type switching struct {
	*loop
	machines *machines
	cordons  *cordons
	drains   *drains
	cluster  ClusterReader
	switcher *power.Switcher // nil when nothing can be switched

	requests  []*request
	sweepNext time.Time // when to sweep the notes again
	taking    bool      // findTakenOver looks now
	greeted   bool      // lightsout has asked about the machines that an earlier run left off
}

// request is one run of the procedure. It asks the operator itself, as a
// power.Asker, unless it is answered automatically.
type request struct {
	w      *switching
	action power.Action
	// unasked: a program answers the questions, so the operator has not seen a refusal
	// yet.
	unasked bool
	// trial took its steps when the request was made. When it does no longer,
	// lightsout cancels the request unless its action has begun.
	trial  Trial
	cancel context.CancelFunc
	onEnd  func(error)
	stays  []view.Line // before powering on: what stays as it was

	// Of the loop.
	nodes []string
	stage requestStage
	drain *drain                 // of its nodes; nil if they are not drained first
	ended map[string]power.Stage // the nodes whose machines it has switched, or could not switch
}

// requestStage is how far a request is.
type requestStage int

const (
	preparing requestStage = iota // no question is open yet; one without questions stays here until it acts
	asking                        // the question is open, or the answer was no
	agreed                        // the operator has said yes
	acting                        // its action has begun
)

func newSwitching(l *loop, m *machines, c *cordons, d *drains) *switching {
	opt := l.opt
	w := &switching{loop: l, machines: m, cordons: c, drains: d, cluster: ClusterReader{opt.Watcher, opt.Self, opt.Now}}
	if opt.Fleet == nil {
		return w
	}
	w.switcher = &power.Switcher{
		Fleet: opt.Fleet, Cluster: w.cluster, Annotations: opt.Annotations, Limits: opt.Guards,
	}
	if opt.Drain != nil && opt.Journal != nil {
		w.switcher.Drain = w
	}
	if opt.Production {
		w.switcher.Production = opt.Cluster
	}
	return w
}

// ask asks the operator, and switches the machines after a yes.
func (w *switching) ask(a view.AskPower) {
	if err := w.missing(); err != nil {
		w.warn(view.LanePower, "power", err.Error())
		return
	}
	if w.asking() {
		return
	}
	if a.Action != power.ActionOn {
		w.departure.stay()
	}
	a.Nodes = w.needed(a)
	if len(a.Nodes) > 0 && !w.drains.underWay(a.Nodes) {
		w.run(a, nil, func(error) {}, w.switcher.Switch)
	}
}

// needed returns the nodes of a request that it would change, and says of the others
// that their machines are on, or off, already.
func (w *switching) needed(a view.AskPower) []string {
	may, state := w.machines.mayBeOn, "off"
	if a.Action == power.ActionOn {
		may, state = w.machines.mayBeOff, "on"
	}
	nodes := slices.Clone(a.Nodes)
	done := slices.DeleteFunc(slices.Clone(nodes), may)
	if len(done) == 0 {
		return nodes
	}
	why := text.List(done) + text.Noun(len(done), " is", " are") + " already " + state
	for _, n := range done {
		if notes := w.machines.notes(n); a.Action != power.ActionOn && len(notes) > 0 {
			why += "; " + n + " " + power.Ownership{Other: power.NodeNote{Note: notes[0]}}.SwitchedOff()
		}
	}
	w.warn(view.LanePower, done[0], why)
	for _, n := range done {
		w.machines.update(n, func(v *view.MachineView) { v.Stage, v.Text = power.StageDone, why })
	}
	return slices.DeleteFunc(nodes, func(n string) bool { return !may(n) })
}

// asking reports whether something is being asked, or soon will be: then a question of QuestionWait is open.
func (w *switching) asking() bool { return w.opt.Questions.first() != nil }

// prepare shows that lightsout prepares the question of the request, which the operator may cancel until then.
func (x *request) prepare() {
	q := view.Question{Kind: view.QuestionWait, Title: "Checking " + who(x.nodes) + " before the question", Choices: []view.Choice{{ID: view.ChoiceNo, Label: "Cancel"}},
		Lines: []view.Line{{Text: "lightsout polls the machines and asks their drivers. Nothing was sent to them."}}}
	x.w.opt.Questions.follow(func() (view.Question, bool) {
		return q, x.stage == preparing && slices.Contains(x.w.requests, x)
	}, func(view.Answer) {
		x.cancel()
		x.w.notice = view.Notice{Text: "cancelled: nothing was sent to " + text.List(x.nodes), At: x.w.now()}
	})
}

// run switches machines by carryOut after the answer of asker;
// nil asks the operator. The loop calls onEnd with the result.
func (w *switching) run(a view.AskPower, asker power.Asker, onEnd func(error), carryOut func(context.Context, power.Request, power.Asker) error) {
	if a.Action != power.ActionOn && w.opt.Watcher != nil {
		w.opt.Watcher.WantKubelets(a.Nodes...) // the forecast stands on their settings
	}
	x := &request{w: w, action: a.Action, unasked: asker != nil, nodes: slices.Sorted(slices.Values(a.Nodes)), trial: w.trial, onEnd: onEnd, ended: map[string]power.Stage{}}
	while, cancel := context.WithCancel(w.ctx)
	x.cancel = cancel
	if a.Action == power.ActionOn && w.snapshot != nil {
		x.stays = append(w.machines.alreadyOn(x.nodes), w.cordons.stays(x.nodes)...)
	}
	w.requests = append(w.requests, x)
	r := power.Request{
		Action: a.Action, Nodes: slices.Clone(a.Nodes), Drain: a.Drain, While: while,
		Acting: x.acting,
		Report: func(p power.Progress) { w.post(func() { x.progress(p) }) },
	}
	if asker == nil {
		asker = x
		x.prepare()
	}
	w.work.Go(func() {
		result := carryOut(w.ctx, r, asker)
		w.post(func() { x.finished(result) })
	})
}

// Ask asks the operator.
func (x *request) Ask(ctx context.Context, q power.Question) (power.Answer, error) {
	x.w.post(func() { x.waits(q.Refused()) })
	also := x.stays
	if q.Action != power.ActionOn && !q.Refused() {
		also = x.meanwhile(ctx, q.Nodes)
	}
	a, err := x.w.opt.Questions.Ask(ctx, x.w.question(q, also...))
	yes := a.Choice == view.ChoiceYes || a.Choice == view.ChoiceDrain
	if yes && err == nil && !q.DryRun {
		x.w.post(x.agreed)
	}
	return power.Answer{Yes: yes, Drain: a.Choice == view.ChoiceDrain, Typed: a.Typed}, err
}

// waits records, in the loop, that the request waits for an answer. The procedure may ask
// again after a yes; if lightsout refuses then, the screen shows the action no longer.
func (x *request) waits(refused bool) {
	if x.stage == agreed && refused {
		x.release()
	}
	x.stage = asking
}

// release shows on the nodes of the request only what is under way on their machines.
func (x *request) release() {
	under := x.w.under()
	for _, n := range x.nodes {
		x.w.machines.update(n, func(v *view.MachineView) { v.Busy = under[n] })
	}
}

// meanwhile returns what else an operator has to know before an outage: the requests in
// flight, the other machines that are off because of other operators, as in a trial of theirs, and whether
// a trial keeps its record.
func (x *request) meanwhile(ctx context.Context, nodes []string) (lines []view.Line) {
	if load := x.w.opt.Load; load != nil {
		if n := load.Run().Totals.InFlight(); n > 0 {
			lines = append(lines, view.Line{Level: view.Warning, Text: text.Count(n, "request is", "requests are") + " in flight now."})
		}
	}
	owners := x.w.owners(ctx)
	for _, n := range slices.Sorted(maps.Keys(owners)) {
		if by := owners[n]; by.SwitchedOff() != "" && !slices.Contains(nodes, n) { // the guards name those
			lines = append(lines, view.Line{Level: view.Warning, Text: n + " " + by.SwitchedOff()})
		}
	}
	if x.trial == nil && x.w.opt.RecordsOutages {
		lines = append(lines, view.Line{Text: "No trial is running: lightsout records this outage by itself, and reports on it."})
	}
	return lines
}

// agreed shows the actions after the operator's yes.
func (x *request) agreed() {
	x.stage = agreed
	x.w.notice = view.Notice{Text: "the answer was yes: " + power.Verb(x.action) + " " + text.List(x.nodes), At: x.w.now()}
	x.w.machines.show(x.action, power.StageWaiting, "polling the machine once more", x.nodes...)
}

// acting marks the start of the action. The clock's zero and the guest come before the
// request, so the procedure waits for both.
func (x *request) acting(q power.Question) {
	at, done := x.w.now(), make(chan struct{})
	x.w.post(func() {
		defer close(done)
		x.begun(q, at)
	})
	select {
	case <-done:
	case <-x.w.ctx.Done():
	}
}

// begun records, in the loop, that the actions of q started at that time.
func (x *request) begun(q power.Question, at time.Time) {
	w := x.w
	if x.overdue() {
		x.cancel()
		return
	}
	x.stage = acting
	x.leaveOut(q)
	x.nodes = slices.Clone(q.Nodes)
	if q.DryRun {
		for _, n := range q.Nodes {
			w.say(view.NewEvent(view.CodeDryRun, n, view.Facts{Action: q.Action, Reported: string(q.Action) + " not requested"}))
		}
		return
	}
	if q.Action != power.ActionOn && w.rec.timeline.Start(at) {
		e := view.NewEvent(view.CodeZero, "outage", view.Facts{})
		e.At = at
		w.say(e)
	}
	what := outage.NotSent
	if q.Action == power.ActionOn {
		what = outage.Agreed
	}
	w.machines.asked(what, q.Nodes...)
	w.guest.Handle(Switching{q.Action, w.addressed(q)})
	under := w.under()
	for _, n := range q.Nodes {
		if under[n] == "" { // otherwise the screen keeps the action under way until it ends
			w.machines.show(q.Action, power.StageWaiting, "", n)
		}
	}
}

// leaveOut shows that the action failed for the nodes that are not in the question any more:
// a rule refuses them, and permits the others. The end of the request has the reason.
func (x *request) leaveOut(q power.Question) {
	for _, n := range x.nodes {
		if !slices.Contains(q.Nodes, n) {
			x.w.machines.update(n, func(v *view.MachineView) { v.Busy, v.Stage = "", power.StageFailed })
		}
	}
}

// addressed returns the bindings of a request with the machine that receives it as the one
// for switching off: to cut the power lightsout may ask another driver than for a shutdown.
func (w *switching) addressed(q power.Question) []power.Binding {
	out := slices.Clone(q.Bindings)
	for i := range out {
		if m, err := w.opt.Fleet.Can(out[i], q.Action); err == nil && q.Action != power.ActionOn {
			out[i].Off = &m
		}
	}
	return out
}

// endOverdue ends requests of a trial that has ended, unless they are under way.
func (w *switching) endOverdue() {
	for _, x := range w.requests {
		if x.overdue() {
			x.cancel()
		}
	}
}

// overdue reports whether the trial that made the request has ended.
func (x *request) overdue() bool { return x.trial != nil && x.w.trial != x.trial }

// sweepEvery is the least time between two sweeps of the notes.
const sweepEvery = 30 * time.Second

// sweepNotes removes the notes of this journal from nodes whose machines are on, whoever
// powered them on, and those of other journals that are out of date.
func (w *switching) sweepNotes(s *cluster.Snapshot) {
	if w.switcher == nil || w.opt.ReadOnly || len(w.requests) > 0 || w.now().Before(w.sweepNext) || s.Link.State != cluster.LinkLive {
		return
	}
	w.sweepNext = w.now().Add(sweepEvery)
	w.work.Go(func() {
		state, _ := ClusterReader{Watcher: w.opt.Watcher, Now: w.now}.State(w.ctx) // the snapshot is there
		w.switcher.Sweep(state.Nodes)
	})
}

// under returns the action under way on each machine.
func (w *switching) under() map[string]power.Action {
	if w.opt.Fleet == nil {
		return nil
	}
	return w.opt.Fleet.Busy()
}

// missing returns the reason why machines cannot be switched here; nil if they can.
func (w *switching) missing() error {
	switch {
	case w.opt.ReadOnly:
		return errors.New("read-only: nothing can be switched; start without --read-only")
	case w.switcher == nil:
		return errors.New(cmp.Or(w.opt.NoPower, "machines can't be switched: set power.off_by and power.on_by in lightsout.yaml"))
	}
	return nil
}

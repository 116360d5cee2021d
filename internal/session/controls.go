package session

import (
	"context"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/internal/planned"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// Progress looks how far something is that takes time. It returns done, with an
// error when that has failed; doing is one sentence for the operator.
type Progress = func(now time.Time) (done bool, doing string, err error)

// FailNow is something that fails at once.
func FailNow(err error) Progress {
	return func(time.Time) (bool, string, error) { return true, "", err }
}

// Controls are a session in the hands of its Guest. But for Post, they may be
// used in the session's loop only.
type Controls struct{ s *Session }

// Post has the loop call do in one of its turns. It never blocks, and is safe for concurrent use.
func (c Controls) Post(do func()) { c.s.post(do) }

// Say puts an event on the timeline.
func (c Controls) Say(ev view.Event) { c.s.say(ev) }

// Notify is Say, and shows the event's text at once.
func (c Controls) Notify(ev view.Event) { c.s.notify(ev) }

// Warn shows a sentence at once and keeps it on the timeline.
func (c Controls) Warn(lane view.Lane, subject, text string) { c.s.warn(lane, subject, text) }

// Async runs work in a goroutine, for at most that long, and then runs then in a turn of
// the loop.
func (c Controls) Async(within time.Duration, work func(context.Context) error, then func(error)) {
	async(c.s.loop, within, work, then)
}

// Snapshot returns the newest snapshot of the cluster; nil before the first.
func (c Controls) Snapshot() *cluster.Snapshot { return c.s.snapshot }

// TakeSteps says which trial takes its steps from now on; nil if none does. Until then, the requests of the
// operator and of the trial belong to it.
func (c Controls) TakeSteps(t Trial) { c.s.trial = t }

// Focus is the deployment that the gauge measures.
func (c Controls) Focus() cluster.Key { return c.s.opt.Target.Focus() }

// Do carries an intent out, as for the operator.
func (c Controls) Do(i view.Intent) { c.s.carryOut(i) }

// Publish hands out a frame now, and returns it. Its timeline has the result of the last
// load.
func (c Controls) Publish() *view.Frame { return c.s.publish() }

// End ends the session.
func (c Controls) End() { c.s.departure.to(gone) }

// Ask asks the operator.
func (c Controls) Ask(q view.Question, answer func(view.Answer)) { c.s.opt.Questions.ask(q, answer) }

// AskWhile asks what now returns, for as long as now reports that there is something to
// ask. An answer to a question that has changed since does nothing.
func (c Controls) AskWhile(now func() (view.Question, bool), answer func(view.Answer)) {
	c.s.opt.Questions.follow(now, answer)
}

// Asking reports whether something is being asked, or soon will be.
func (c Controls) Asking() bool { return c.s.switching.asking() }

// StartLoad starts requests.
func (c Controls) StartLoad(spec loadgen.Spec) (number int, started time.Time, err error) {
	return c.s.loads.start(spec)
}

// AtRest reports whether the load of that number starts no more requests and has
// none in flight.
func (c Controls) AtRest(number int) bool { return c.s.loads.atRest(number) }

// Rollout restarts a rollout; the Progress reports when all of its pods are new ones.
func (c Controls) Rollout(k cluster.Key) Progress { return c.s.rollouts.restart(k) }

// Switch has machines switched after the operator has agreed, or without asking
// where nothing has to be typed. end is called when that is over, with why
// nothing was switched (a power.NotDoneError), or what failed. It ends by
// itself, unless it is under way, when the trial takes no more steps.
func (c Controls) Switch(a view.AskPower, unasked bool, end func(error)) error {
	if err := c.s.switching.missing(); err != nil {
		return err
	}
	var asker power.Asker
	if unasked {
		asker = power.Automatic{}
	}
	c.s.switching.run(a, asker, end, c.s.switching.switcher.Switch)
	return nil
}

// PowerOnOwn powers on the machines of nodes without a question, except those that others
// have switched off since. end is called when that is over, with what failed.
func (c Controls) PowerOnOwn(nodes []string, end func(error)) error {
	return c.s.switching.powerOn(nodes, end)
}

// DrainLines are what the operator has to know before a drain of nodes that stay on.
func (c Controls) DrainLines(nodes []string) []view.Line { return c.s.drains.drainLines(nodes) }

// Cordon cordons nodes.
func (c Controls) Cordon(nodes []string) Progress {
	return c.s.cordons.cordonAll(nodes, power.ActionShutdown, "by a step of a trial")
}

// Uncordon uncordons the nodes that lightsout has cordoned itself.
func (c Controls) Uncordon(nodes []string) Progress { return c.s.cordons.uncordonAll(nodes) }

// UncordonOwn uncordons what this session has cordoned, except machines that are left off and
// nodes that except, unless nil, accepts.
func (c Controls) UncordonOwn(except func(node string) bool) Progress {
	return c.s.cordons.uncordonOwn(except)
}

// NoDrain returns the reason why nodes cannot be cordoned here; nil if they can.
func (c Controls) NoDrain() error { return c.s.cordons.missing() }

// Drain cordons and drains nodes, within that time unless it is 0. end is called
// when it is over.
func (c Controls) Drain(nodes []string, within time.Duration, end func(error)) {
	c.s.drains.drain(nodes, within, end)
}

// Draining reports whether a node is being drained.
func (c Controls) Draining(node string) bool {
	_, n := c.s.drains.of(node)
	return n != nil
}

// LeaveDrains gives all drains up.
func (c Controls) LeaveDrains() { c.s.drains.leave() }

// WantKubelets has the kubelets of these nodes asked for their settings.
func (c Controls) WantKubelets(nodes ...string) {
	if c.s.opt.Watcher != nil {
		c.s.opt.Watcher.WantKubelets(nodes...)
	}
}

// Outlook forecasts the effect of switching the nodes off now.
func (c Controls) Outlook(nodes []string) []string {
	if c.s.snapshot == nil {
		return nil
	}
	f := forecast.Outage(c.s.snapshot, nodes, c.Down(), c.s.now())
	h := f.Hits()
	lines := slices.Concat([]forecast.Line{f.Sum(h)}, h.BudgetLines(), h.Lines(), f.FollowLines(h), f.WontLines(h))
	return text.Each(view.Few(viewLines(lines)), func(l view.Line) string { return l.Text })
}

// Machine returns the last known state of a node's machine.
func (c Controls) Machine(node string) view.MachineView { return c.s.machines.view(node) }

// Down names the nodes whose machines are off, or on their way off, although the API server
// may call them Ready: off in forecast.Outage.
func (c Controls) Down() []string { return c.s.machines.down() }

// Plans are the machines that somebody has switched off by plan.
func (c Controls) Plans() planned.Offs { return c.s.machines.plans }

// WhyLeft says why lightsout leaves a node's machine off: who else has switched it off since. It is empty if
// lightsout powers it on.
func (c Controls) WhyLeft(node string) string { return c.s.machines.whyLeft(node) }

// Standing returns how a node's machine stands.
func (c Controls) Standing(node string) power.Standing { return c.s.machines.standing(node) }

// CanSwitch returns the reason why lightsout cannot carry out the action on a node's
// machine; nil if it can, and while it is still finding the machines.
func (c Controls) CanSwitch(a power.Action, node string) error {
	b, found := c.s.machines.bindings[node]
	if !found || c.s.opt.Fleet == nil {
		return nil
	}
	_, err := c.s.opt.Fleet.Can(b, a)
	return err
}

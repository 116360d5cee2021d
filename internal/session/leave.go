package session

import (
	"slices"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/power"
)

// IDs of choices when leaving.
const (
	leaveOn   = "on"    // power on first
	leaveUndo = "undo"  // cancel drains and uncordon first
	leaveNow  = "leave" // leave everything as it is
)

// leaving ends the session in order.
type leaving struct {
	*switching
	loads   *loads
	awaited []string // what waitsFor named when the operator chose to wait
}

// PoweredOn names the nodes that the operator waited for before leaving, and that are Ready after lightsout has
// powered their machines on. It is for after Run.
func (s *Session) PoweredOn() []string {
	return slices.DeleteFunc(slices.Clone(s.leaving.awaited), func(name string) bool {
		o := s.machines.outages[name]
		return o == nil || !o.Returned() || s.snapshot.Node(name) == nil || s.snapshot.Node(name).Ready != cluster.TriTrue
	})
}

// end ends the session without asking, after its guest.
func (v *leaving) end(i view.End) {
	v.departure.to(afterGuest)
	if v.guest.Running() {
		v.guest.Handle(Asked{view.AbortTrial(i)})
	}
}

// ask ends the session, or first asks what to do with machines that are off and with
// requests that are in flight.
func (v *leaving) ask() {
	v.readJournal() // including machines that are being switched off now
	switch {
	case v.settled() && !v.loads.busy():
		v.departure.to(gone)
	case v.departure.state != choosing: // otherwise the question is open
		v.departure.to(choosing)
		var named []string // as in the question on the screen
		v.opt.Questions.follow(func() (view.Question, bool) {
			named = slices.Concat(v.machines.own(), v.goingOff())
			return v.question()
		}, func(a view.Answer) { v.answered(a, named) })
	}
}

// question asks about the machines and nodes that would stay off or cordoned, and the
// requests that would be cancelled.
func (v *leaving) question() (view.Question, bool) {
	question := func(title string, first view.Choice, now string, lines ...view.Line) (view.Question, bool) {
		if v.loads.busy() {
			lines = append(lines, view.Line{Text: "Leaving cancels the requests in flight."})
		}
		lines = append(lines, listed("These stay cordoned, as you asked:", v.cordons.wanted(), func(n string) string { return ": " + v.byHand(n) })...)
		if len(v.machines.own())+len(v.cordons.open()) > 0 {
			later := view.Line{Text: "The cluster and its machines end with the screen."}
			if command := v.opt.Restore; command != "" {
				later = view.Line{Text: "The next start asks, or: `" + command + "`", Command: command}
			}
			lines = append(lines, later)
		}
		q := view.Question{Kind: view.QuestionQuit, Title: title, Lines: lines, Choices: []view.Choice{{ID: view.ChoiceNo, Label: "Stay"}, first, {ID: leaveNow, Label: now}}}
		q.Choices = slices.DeleteFunc(q.Choices, func(c view.Choice) bool { return c.ID == "" }) // nothing can be undone before
		return q, !v.settled() || v.loads.busy()
	}
	going := listed("Being switched off:", v.goingOff(), func(string) string { return "" })
	boots := listed("Powered on by lightsout:", v.machines.booting(), func(string) string { return ": not Ready yet, the record would end before" })
	cordoned := v.cordons.lines("Still cordoned by lightsout:")
	switch {
	case len(v.machines.own()) > 0:
		return question("Leave with machines off, or going off?", view.Choice{ID: leaveOn, Label: "Power on, then leave"}, "Leave them as they are", slices.Concat(v.machines.lines("Switched off by lightsout:"), going, v.drains.cancelled(), cordoned, v.machines.takenLines())...)
	case len(v.drains.running) > 0:
		return question("Leave while nodes are being drained?", view.Choice{ID: leaveUndo, Label: "Cancel the drain, then leave"}, "Leave them cordoned", slices.Concat(v.drains.cancelled(), boots, going)...)
	case boots != nil:
		return question("Leave before nodes are Ready?", view.Choice{ID: leaveOn, Label: "Stay until they are Ready, then leave"}, "Leave now", slices.Concat(boots, going, cordoned)...)
	case v.busy():
		return question("Leave while machines are being switched?", view.Choice{}, "Leave", append(going, cordoned...)...)
	case cordoned == nil:
		return question("Leave while requests are in flight?", view.Choice{}, "Cancel them and leave")
	}
	return question("Leave with nodes cordoned?", view.Choice{ID: leaveUndo, Label: "Uncordon, then leave"}, "Leave them cordoned", cordoned...)
}

// answered leaves as the operator has chosen, who was asked about the machines of the nodes named.
func (v *leaving) answered(a view.Answer, named []string) {
	next := map[string]departureState{leaveNow: gone, leaveOn: bringing, leaveUndo: undoing}[a.Choice] // else staying
	v.departure.to(next)
	v.departure.named, v.awaited = named, v.waitsFor()
	if v.departure.undoes() {
		v.drains.leave()
		v.restore(nil, v.cordons.open())
		v.bringBack()
	}
}

// goingOff names the machines of requests to switch off that the operator has agreed to, and that
// the journal does not list yet. A node of a drain that runs is not one of them: it stays on if
// lightsout cancels the drain.
func (v *leaving) goingOff() (nodes []string) {
	own := v.machines.own()
	for _, x := range v.requests {
		for _, n := range x.nodes {
			drains := slices.ContainsFunc(v.drains.running, func(d *drain) bool { return d.by == drainerShutdown && d.has(n) })
			if x.action != power.ActionOn && x.settled() && x.ended[n] == "" && !drains && !slices.Contains(own, n) {
				nodes = append(nodes, n)
			}
		}
	}
	slices.Sort(nodes)
	return nodes
}

// settled reports whether no machine is off or being switched, and no node boots or is
// cordoned or being drained, because of us.
func (v *leaving) settled() bool {
	return len(v.machines.own())+len(v.machines.booting()) == 0 && len(v.cordons.open()) == 0 && len(v.drains.running) == 0 && !v.busy()
}

// busy reports whether a machine is being switched, or will be as was agreed to.
func (v *leaving) busy() bool {
	return len(v.under()) > 0 || slices.ContainsFunc(v.requests, func(x *request) bool { return x.stage >= agreed })
}

// waitsFor lists the nodes that must be Ready, or no longer cordoned, before the session ends;
// nil if the operator has not asked it to.
func (v *leaving) waitsFor() []string {
	if !v.departure.undoes() {
		return nil
	}
	nodes := slices.Concat(v.machines.own(), v.machines.booting(), v.cordons.open(), v.nodes())
	return slices.Compact(slices.Sorted(slices.Values(nodes)))
}

// endIfSettled ends the session when that was requested and the reason to stay has gone. A question
// that nobody has answered ends nothing.
func (v *leaving) endIfSettled() {
	switch s := v.departure.state; {
	case s == choosing && v.settled() && !v.loads.busy():
		v.departure.to(staying)
		v.notice = view.Notice{Text: "what held lightsout is over: q leaves", At: v.now()}
	case v.departure.undoes() && v.settled(), s == afterGuest && !v.guest.Running():
		v.departure.to(gone)
	}
}

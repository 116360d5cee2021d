package session

import (
	"context"
	"maps"
	"slices"

	"lightsout/internal/restore"
	"lightsout/internal/view"
	"lightsout/power"
)

// readJournal reads which machines and nodes lightsout has left off or cordoned. The
// first time it asks about those of earlier runs, unless it may not restore them.
func (w *switching) readJournal() {
	if w.opt.Journal == nil || !w.machines.readLeftOff() {
		return
	}
	w.cordons.read()
	if !w.greeted && len(w.machines.own())+len(w.cordons.open()) > 0 {
		var named, cordoned []string // as in the question on the screen
		w.opt.Questions.follow(func() (view.Question, bool) {
			named, cordoned = w.machines.own(), w.cordons.open()
			return w.restoreQuestion()
		}, func(a view.Answer) {
			if a.Choice == view.ChoiceYes {
				w.restore(named, cordoned)
			}
		})
	}
	w.greeted = true
	w.bringBack()
}

// bringBack powers on, each once, the machines that the operator has chosen not to leave off. One that is being
// switched off is powered on when that has ended.
func (w *switching) bringBack() {
	if w.departure.state != bringing || w.ctx.Err() != nil {
		return
	}
	nodes := slices.DeleteFunc(w.machines.own(), func(n string) bool { return !slices.Contains(w.departure.named, n) || w.poweringOn(n) })
	w.departure.named = slices.DeleteFunc(w.departure.named, func(n string) bool { return slices.Contains(nodes, n) })
	w.powerOnOwn(nodes)
}

// restoreQuestion offers to power on what an earlier run has left off.
func (w *switching) restoreQuestion() (view.Question, bool) {
	q := view.Question{Kind: view.QuestionRestore, Title: "Power on what lightsout asked to go off?", Choices: []view.Choice{{ID: view.ChoiceNo, Label: "Not now"}, {ID: view.ChoiceYes, Label: "Power on"}}}
	off := w.machines.lines("lightsout asked these to go off, and its journal still lists them:")
	cordoned := w.cordons.lines("lightsout cordoned these and has not uncordoned them:")
	q.Lines = slices.Concat(off, cordoned)
	switch {
	case off == nil:
		q.Title, q.Choices[1].Label = "Uncordon what lightsout cordoned?", "Uncordon"
	case cordoned != nil:
		q.Choices[1].Label = "Power on and uncordon"
	}
	open := len(q.Lines) > 0
	q.Lines = append(q.Lines, w.machines.takenLines()...)
	return q, open
}

// owners returns, by node, who has switched machines off, as far as the view of the cluster shows. It is safe for
// concurrent use.
func (w *switching) owners(ctx context.Context) map[string]power.Ownership {
	state, _ := w.cluster.State(ctx) // without it, nobody is seen to have
	return w.switcher.Owners(state.Nodes)
}

// findTakenOver looks which machines of the journal others have switched off since, and
// names each once.
func (w *switching) findTakenOver() {
	if w.switcher == nil || len(w.machines.leftOff) == 0 || w.taking {
		return
	}
	w.taking = true
	async(w.loop, apiTimeout, w.owners, func(taken map[string]power.Ownership) {
		maps.DeleteFunc(taken, func(n string, o power.Ownership) bool { return restore.DecideOwn(n, o).Do != restore.Leave })
		for n, by := range taken {
			if w.machines.taken[n].Other.Note != by.Other.Note {
				w.warn(view.LanePower, n, n+" "+by.SwitchedOff()+"; lightsout leaves it off")
			}
		}
		w.taking, w.machines.taken = false, taken
	})
}

// restore powers these nodes on, except those that others have switched off since. It
// uncordons those of the cordoned that lightsout has left so: at once if the machine is on or
// somebody else's by now, otherwise when the node has returned.
func (w *switching) restore(nodes, cordoned []string) {
	own := w.machines.own()
	for _, n := range slices.DeleteFunc(w.cordons.names(), func(n string) bool { return !slices.Contains(cordoned, n) }) {
		w.cordons.ours[n].Action = power.ActionShutdown // its return ends it
		if !slices.Contains(own, n) && !w.draining(n) {
			w.cordons.release(n)
		}
	}
	w.powerOnOwn(nodes)
}

// powerOnOwn is powerOn for the operator.
func (w *switching) powerOnOwn(nodes []string) {
	if len(nodes) == 0 {
		return
	}
	if err := w.powerOn(nodes, func(error) {}); err != nil {
		w.warn(view.LanePower, "power", err.Error())
	}
}

// powerOn powers these nodes on without a question, except those that others have switched off since. end is
// called with what failed; the error is the reason why nothing can be switched.
func (w *switching) powerOn(nodes []string, end func(error)) error {
	err := w.missing()
	if err == nil {
		w.run(view.AskPower{Action: power.ActionOn, Nodes: nodes}, power.Automatic{}, end, w.restoreOwn)
	}
	return err
}

// restoreOwn carries out a request of powerOn.
func (w *switching) restoreOwn(ctx context.Context, r power.Request, ask power.Asker) error {
	look, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	return restore.Own(ctx, w.switcher, w.owners(look), r, ask)
}

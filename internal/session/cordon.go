package session

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/power"
)

// Drainer cordons, drains and uncordons nodes. See the methods of
// cluster.Watcher of the same names, which is one.
type Drainer interface {
	Cordon(ctx context.Context, node string, before func() error) (changed bool, err error)
	Uncordon(ctx context.Context, node string) (changed bool, err error)
	Drain(ctx context.Context, node string, report func(cluster.DrainProgress)) error
}

// uncordonPause is between two tries to uncordon a node.
const uncordonPause = 10 * time.Second

// cordons is what the engine keeps of the nodes that it has cordoned, and of
// the drains under way. It belongs to the engine's loop.
type cordons struct {
	ours   map[string]*ourCordon
	drains []*drain
}

// ourCordon is a node that lightsout has cordoned and not uncordoned, by the
// journal.
type ourCordon struct {
	// session: it was cordoned by this session, and not by an earlier run.
	session bool
	// boot is the boot before the machine was switched off; empty when unknown.
	boot string
	// onAt is when powering its machine on was seen to be done.
	onAt time.Time
	// due: it is to be uncordoned. busy: that is under way; next is when to
	// try again, failed why it could not be done the last time.
	due, busy bool
	next      time.Time
	failed    string
}

// readCordons learns from the journal what is cordoned because of us.
func (e *Engine) readCordons() {
	if e.opt.Journal == nil {
		return
	}
	left, err := e.opt.Journal.LeftCordoned()
	if err != nil {
		e.warn(view.LanePower, "journal", err.Error())
		return
	}
	old := e.cordons.ours
	e.cordons.ours = make(map[string]*ourCordon, len(left))
	for _, l := range left {
		c := old[l.Node]
		if c == nil {
			c = &ourCordon{}
		}
		if off, ok := e.leftOff[l.Node]; ok {
			c.boot, c.onAt = cmp.Or(off.Binding.Node.BootID, c.boot), time.Time{}
		}
		e.cordons.ours[l.Node] = c
	}
}

// cordon cordons one node, journal first. It is called off the loop; noted says
// that the journal now holds a cordon of ours, whatever became of it.
func (e *Engine) cordon(ctx context.Context, node, text string) (noted bool, err error) {
	changed, err := e.opt.Drain.Cordon(ctx, node, func() error {
		if err := e.opt.Journal.Cordoned(node, text); err != nil {
			return err
		}
		noted = true
		return nil
	})
	if noted && !changed && err == nil {
		// Somebody else was quicker, so it is theirs.
		return false, e.opt.Journal.Uncordoned(node, "cordoned by somebody else meanwhile")
	}
	return noted, err
}

// cordoned takes in what has become of a cordon.
func (e *Engine) cordoned(node string, noted bool, err error) {
	e.readCordons()
	c := e.cordons.ours[node]
	if c != nil {
		c.session = true
		if s := e.snapshot.Load(); s != nil && s.Node(node) != nil {
			c.boot, c.onAt = s.Node(node).BootID, time.Time{}
		}
	}
	switch {
	case err != nil:
		e.warn(view.LanePower, node, err.Error())
		if noted && c != nil { // it may have been done all the same
			c.due = true
		}
	case noted:
		e.say(view.Event{Lane: view.LanePower, Subject: node, Text: "cordoned: no more pods are put on it"})
	case c == nil:
		e.say(view.Event{Lane: view.LanePower, Subject: node, Text: "cordoned already by somebody else, and stays so afterwards"})
	}
}

// release uncordons nodes as soon as that is possible, those that lightsout has
// cordoned itself; others are left as they are.
func (e *Engine) release(nodes ...string) {
	for _, n := range nodes {
		if c := e.cordons.ours[n]; c != nil {
			c.due, c.next, c.failed = true, time.Time{}, ""
		}
	}
	e.uncordonDue()
}

// uncordonDue uncordons what is due.
func (e *Engine) uncordonDue() {
	now := e.now()
	for _, node := range slices.Sorted(maps.Keys(e.cordons.ours)) {
		c := e.cordons.ours[node]
		switch {
		case !c.due || c.busy || now.Before(c.next):
			continue
		case e.opt.Drain == nil || e.opt.ReadOnly || e.opt.DryRun:
			c.due, c.failed = false, "can't be uncordoned here"
			e.warn(view.LanePower, node, node+" can't be uncordoned here; by hand: kubectl uncordon "+node)
			continue
		}
		c.busy = true
		e.goDo(func() {
			ctx, cancel := e.withTimeout(planTimeout)
			defer cancel()
			text, err := Uncordon(ctx, e.opt.Drain, e.opt.Journal, node)
			e.mail.post(func() { e.uncordoned(node, text, err) })
		})
	}
}

func (e *Engine) uncordoned(node, text string, err error) {
	if err != nil && e.ctx.Err() != nil {
		return // the session ends; the journal has it
	}
	if c := e.cordons.ours[node]; c != nil {
		c.busy, c.failed = false, ""
		if err != nil {
			if c.next.IsZero() { // said once
				e.warn(view.LanePower, node, err.Error()+"; it is tried again; by hand: kubectl uncordon "+node)
			}
			c.next, c.failed = e.now().Add(uncordonPause), err.Error()
			e.leaveWhenOn = false
			return
		}
	}
	e.say(view.Event{Lane: view.LanePower, Subject: node, Text: text, Level: view.Good})
	e.readCordons()
	e.leaveIfSettled()
}

// settleCordons uncordons the nodes of ours that have returned: Ready, with
// another boot than when they were switched off.
func (e *Engine) settleCordons(s *cluster.Snapshot) {
	if len(e.cordons.ours) > 0 && s.Link.State == cluster.LinkLive {
		now := e.now()
		for name, c := range e.cordons.ours {
			n := s.Node(name)
			if n == nil || n.Ready != cluster.TriTrue || n.BootID == "" || c.boot == "" || e.uncordonPlanned(name) {
				continue
			}
			_, silent := s.Silent(n, now)
			// Powered on, and still the boot of before: it had never been off.
			stayedOn := !c.onAt.IsZero() && now.Sub(c.onAt) > power.CarriedOutWithin && !silent
			if n.BootID != c.boot || stayedOn {
				c.due = true
			}
		}
	}
	e.uncordonDue()
}

// poweredOn notes for our cordons that a machine is on again.
func (e *Engine) poweredOn(node string) {
	if c := e.cordons.ours[node]; c != nil {
		c.onAt = e.now()
		if e.leaveWhenOn {
			e.release(node)
		}
	}
}

// uncordonPlanned reports whether the trial under way has a step to come that
// uncordons a node.
func (e *Engine) uncordonPlanned(node string) bool {
	if !e.running() || e.run.stage != stageSteps {
		return false
	}
	return slices.ContainsFunc(e.run.steps, func(st *stepRun) bool {
		uncordon, ok := st.Action.(*plan.Uncordon)
		return ok && st.state == view.StepToCome && slices.Contains(uncordon.Nodes, node)
	})
}

// uncordonAll uncordons what this session has cordoned, but for machines that
// are left off, and waits until that is done or has failed.
func (e *Engine) uncordonAll() poll {
	var nodes []string
	deadline := e.now().Add(2 * planTimeout)
	return func(now time.Time) (bool, string, error) {
		if nodes == nil {
			nodes = []string{}
			for _, n := range slices.Sorted(maps.Keys(e.cordons.ours)) {
				if _, off := e.leftOff[n]; !off && e.cordons.ours[n].session {
					nodes = append(nodes, n)
				}
			}
			e.release(nodes...)
		}
		for _, n := range nodes {
			if c := e.cordons.ours[n]; c != nil && c.failed == "" && now.Before(deadline) {
				return false, "uncordoning " + n, nil
			}
		}
		return true, "", nil
	}
}

// stillCordoned names the nodes that are cordoned because of us, sorted.
func (e *Engine) stillCordoned() []string { return slices.Sorted(maps.Keys(e.cordons.ours)) }

func cordonLines(nodes []string) []view.Line {
	var lines []view.Line
	for _, n := range nodes {
		lines = append(lines, view.Line{Level: view.Warning, Text: "  " + n + " (cordoned)"})
	}
	return lines
}

// LeftCordoned names the nodes that this program has cordoned and not
// uncordoned, from the journal. Safe for use by several goroutines.
func (e *Engine) LeftCordoned() []string {
	if e.opt.Journal == nil {
		return nil
	}
	left, err := e.opt.Journal.LeftCordoned()
	if err != nil {
		return nil
	}
	var names []string
	for _, l := range left {
		names = append(names, l.Node)
	}
	slices.Sort(names)
	return names
}

// Uncordon uncordons a node that the journal says lightsout has cordoned, and
// settles that there. text says what was done or found.
func Uncordon(ctx context.Context, d Drainer, j *power.Journal, node string) (text string, err error) {
	changed, err := d.Uncordon(ctx, node)
	text = "uncordoned"
	switch {
	case err != nil && cluster.IsGone(err):
		text = "there is no such node any more"
	case err != nil:
		return "", err
	case !changed:
		text = "was not cordoned any more"
	}
	return text, j.Uncordoned(node, text)
}

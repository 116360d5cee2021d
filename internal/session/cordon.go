package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// Drainer cordons, drains and uncordons nodes. cluster.Client implements it.
type Drainer interface {
	Cordon(ctx context.Context, node string, before func() error) (changed bool, err error)
	Uncordon(ctx context.Context, node string) (changed bool, err error)
	Drain(ctx context.Context, node string, report func(cluster.DrainProgress)) error
}

// uncordonPause is between two tries to uncordon a node.
const uncordonPause = 10 * time.Second

// cordons is the state of the nodes that lightsout has cordoned.
type cordons struct {
	*loop
	machines *machines

	ours map[string]*ourCordon
}

// ourCordon is a node that lightsout has cordoned and not uncordoned, by the
// journal.
type ourCordon struct {
	// Entry has the action that the cordon prepared: once that is undone, or does not happen, the node is uncordoned.
	// An operator's drain (beforeDrain) ends with :uncordon.
	power.Entry
	// lands is when the cluster has the cordon at the latest: a node that is schedulable after that is uncordoned.
	lands time.Time
	// session: it was cordoned by this session, and not by an earlier run.
	session bool
	state   cordonState
	// next is when to try again, failed why it could not be done the last time.
	next   time.Time
	failed string
}

// cordonState is whether a cordon of ours goes on.
type cordonState int

const (
	kept        cordonState = iota // not to be uncordoned yet
	due                            // to be uncordoned, at the next try
	uncordoning                    // that is under way
)

// read reads from the journal which nodes lightsout has left cordoned.
func (c *cordons) read() {
	left, err := c.opt.Journal.LeftCordoned()
	if err != nil {
		c.warn(view.LanePower, "journal", err.Error())
		return
	}
	old := c.ours
	c.ours = make(map[string]*ourCordon, len(left))
	for _, l := range left {
		c.ours[l.Node] = cmp.Or(old[l.Node], &ourCordon{Entry: l, lands: l.At.Add(2 * apiTimeout)})
	}
}

// cordoning is the result of a cordon; noted: the journal has a cordon of ours,
// whatever its result.
type cordoning struct {
	noted bool
	err   error
}

// cordon cordons one node, journal first. It is called off the loop.
func (c *cordons) cordon(ctx context.Context, node string, before power.Action, text string) (r cordoning) {
	changed, err := c.opt.Drain.Cordon(ctx, node, func() error {
		if err := c.opt.Journal.Cordoned(node, before, text); err != nil {
			return err
		}
		r.noted = true
		return nil
	})
	r.err = err
	if r.noted && cluster.IsForbidden(err) {
		return c.mayNot(node, err)
	}
	if r.noted && !changed && err == nil {
		// Somebody else was quicker, so it is theirs.
		return cordoning{err: c.opt.Journal.Uncordoned(node, "cordoned by somebody else meanwhile")}
	}
	return r
}

// mayNot settles the cordon of a node that the account may not patch: it has changed nothing.
func (c *cordons) mayNot(node string, forbidden error) cordoning {
	why := "the account may not patch nodes, so lightsout has not cordoned " + node
	settled := c.opt.Journal.Uncordoned(node, why)
	err := fmt.Errorf("%s: bind the ClusterRole lightsout-act (docs/clusterrole.yaml) to the account: %w", why, forbidden)
	return cordoning{noted: settled != nil, err: errors.Join(err, settled)}
}

// cordoned handles the result of a cordon.
func (c *cordons) cordoned(node string, r cordoning) {
	c.read()
	o := c.ours[node]
	if o != nil {
		o.session = true
		if _, off := c.machines.leftOff[node]; !off {
			delete(c.machines.outages, node) // the outages before it are over
		}
	}
	switch {
	case r.err != nil:
		c.warn(view.LanePower, node, r.err.Error())
		if r.noted && o != nil { // the cordon may exist anyway
			o.state = due
		}
	case r.noted:
		c.say(view.NewEvent(view.CodeCordoned, node, view.Facts{}))
	case o == nil:
		c.say(view.NewEvent(view.CodeCordonedBefore, node, view.Facts{}))
	}
}

// keep has a node of ours not uncordoned for now; it is about to be cordoned again.
func (c *cordons) keep(node string) {
	if o := c.ours[node]; o != nil {
		o.state, o.lands = kept, c.now().Add(2*apiTimeout)
	}
}

// giveBack uncordons nodes whose shutdown did not happen, or is undone, if lightsout cordoned them for it.
func (c *cordons) giveBack(nodes ...string) {
	c.release(slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return c.ours[n] == nil || !c.ours[n].Action.GoesOff() })...)
}

// release uncordons nodes as soon as that is possible, those that lightsout has
// cordoned itself; others are left as they are.
func (c *cordons) release(nodes ...string) {
	for _, n := range nodes {
		if o := c.ours[n]; o != nil && o.state != uncordoning {
			o.state, o.next, o.failed = due, time.Time{}, ""
		}
	}
	c.uncordonDue()
}

// uncordonDue uncordons the nodes that are due.
func (c *cordons) uncordonDue() {
	now := c.now()
	for _, node := range c.names() {
		o := c.ours[node]
		switch {
		case o.state != due || now.Before(o.next):
			continue
		case c.opt.Drain == nil || c.opt.ReadOnly || c.opt.DryRun:
			o.state, o.failed = kept, "can't be uncordoned here"
			c.warn(view.LanePower, node, node+" can't be uncordoned here; by hand: "+c.byHand(node))
			continue
		}
		o.state = uncordoning
		var text string
		async(c.loop, apiTimeout, func(ctx context.Context) (err error) {
			text, err = Uncordon(ctx, c.opt.Drain, c.opt.Journal, node)
			return err
		}, func(err error) { c.uncordoned(node, text, err) })
	}
}

// uncordoned handles the result of an uncordon.
func (c *cordons) uncordoned(node, text string, err error) {
	o := c.ours[node]
	again := o != nil && o.state == uncordoning // otherwise it has been cordoned again, or is about to be
	if again {
		o.state, o.next = due, c.now().Add(uncordonPause)
	}
	switch {
	case err == nil:
		c.say(view.NewEvent(view.CodeUncordoned, node, view.Facts{Reported: text}))
		c.read() // or the journal does not have it yet
	case again && c.ctx.Err() == nil: // when the session ends, the journal has it
		if o.failed == "" { // said once
			c.warn(view.LanePower, node, err.Error()+"; retrying; by hand: "+c.byHand(node))
		}
		o.failed = err.Error()
		c.departure.stay()
	}
}

// stays are the lines of a question about powering nodes on: which of them stay cordoned.
func (c *cordons) stays(nodes []string) (lines []view.Line) {
	for _, n := range c.snapshot.Nodes() {
		if o := c.ours[n.Name]; n.Unschedulable && slices.Contains(nodes, n.Name) && (o == nil || !o.Action.GoesOff()) {
			lines = append(lines, view.Line{Text: n.Name + " stays cordoned: it was before"})
		}
	}
	return lines
}

// settle uncordons the nodes of ours whose outage is over, except those whose drain is under way or whose
// shutdown after the drain has not begun, and settles the cordons that somebody else has ended.
func (c *cordons) settle(draining func(node string) bool) {
	for name, o := range c.ours {
		x, n := c.machines.outages[name], c.snapshot.Node(name)
		over := x != nil && x.Cause == outage.Operator && x.Step() == outage.StepReady && (c.trial == nil || !c.trial.WillUncordon(name))
		switch {
		case o.state != kept || draining(name):
		case over && o.Action.GoesOff():
			o.state = due
		case n == nil || c.snapshot.Link.State != cluster.LinkLive:
		case n.Unschedulable:
			o.lands = time.Time{}
		case c.now().After(o.lands):
			o.lands = c.now().Add(uncordonPause) // the next try, if the journal can't be written
			if c.read(); c.ours[name] == o {     // no other run of lightsout has settled it
				c.uncordoned(name, "uncordoned by somebody else", c.opt.Journal.Uncordoned(name, "uncordoned by somebody else"))
			}
		}
	}
	c.uncordonDue()
}

// names lists the nodes that are cordoned because of us.
func (c *cordons) names() []string { return slices.Sorted(maps.Keys(c.ours)) }

// wanted reports whether the operator wanted the cordon itself, and does not end it now.
func (o *ourCordon) wanted() bool { return o.Action == power.ForItself && o.state == kept }

// open names the nodes whose cordon lightsout asks about, or ends.
func (c *cordons) open() []string {
	return slices.DeleteFunc(c.names(), func(n string) bool { return c.opt.ReadOnly || c.ours[n].wanted() })
}

// lines lists the nodes of open below a title; nil if there are none.
func (c *cordons) lines(title string) []view.Line {
	return listed(title, c.open(), func(n string) string { return strings.TrimRight(" (cordoned "+c.ours[n].Running(), " ") + ")" })
}

// wanted names the nodes that stay cordoned because the operator wanted the cordon itself.
func (c *cordons) wanted() []string {
	return slices.DeleteFunc(c.names(), func(n string) bool { return !c.ours[n].wanted() })
}

// Uncordon uncordons a node that lightsout has cordoned according to the journal, and
// settles the entry. text describes the result.
func Uncordon(ctx context.Context, d Drainer, j *power.Journal, node string) (text string, err error) {
	changed, err := d.Uncordon(ctx, node)
	text = "uncordoned"
	switch {
	case err != nil && cluster.IsGone(err):
		text = "there is no such node any more"
	case err != nil:
		return "", err
	case !changed:
		text = "lightsout's cordon was gone already; a cordon of somebody else stays"
	}
	err = j.Uncordoned(node, text)
	if power.IsLate(err) {
		return text + " (" + err.Error() + ")", nil
	}
	return text, err
}

// missing returns the reason why nodes cannot be cordoned here; nil if they can.
func (c *cordons) missing() error {
	switch {
	case c.opt.ReadOnly:
		return errors.New("read-only: nothing can be cordoned")
	case c.opt.Drain == nil || c.opt.Journal == nil:
		return errors.New("nodes can't be cordoned here")
	}
	return nil
}

// notDone returns the reason why a step does nothing or, in a dry run, describes what
// it would do; nil if the step acts.
func (c *cordons) notDone(nodes []string, what string) Progress {
	if err := c.missing(); err != nil {
		return FailNow(err)
	}
	if !c.opt.DryRun {
		return nil
	}
	for _, n := range nodes {
		c.say(view.NewEvent(view.CodeDryRun, n, view.Facts{Reported: what}))
	}
	return func(time.Time) (bool, string, error) { return true, "dry run", nil }
}

// cordonAll cordons nodes side by side; before and by, for the journal, are what for, and who wants that.
func (c *cordons) cordonAll(nodes []string, before power.Action, by string) Progress {
	if p := c.notDone(nodes, "not cordoned"); p != nil {
		return p
	}
	left := len(nodes)
	var errs []error
	for _, n := range nodes {
		c.keep(n)
		async(c.loop, apiTimeout, func(ctx context.Context) cordoning { return c.cordon(ctx, n, before, by) }, func(r cordoning) {
			left--
			c.cordoned(n, r)
			if r.err != nil {
				errs = append(errs, r.err)
			}
		})
	}
	return func(time.Time) (bool, string, error) {
		return left == 0, "cordoning " + strings.Join(nodes, ", "), errors.Join(errs...)
	}
}

// byHand is the command with which the operator uncordons a node.
func (l *loop) byHand(node string) string {
	return text.ShellLine(slices.Concat(l.opt.Kubectl, []string{"uncordon", node})...)
}

// undo is how the operator uncordons a node, in parentheses: lightsout does it where it has cordoned.
func (c *cordons) undo(node string) string {
	if c.ours[node] != nil {
		return " (:uncordon)"
	}
	return " by somebody else (kubectl uncordon)"
}

// uncordonAll uncordons the nodes that lightsout has cordoned itself.
func (c *cordons) uncordonAll(nodes []string) Progress {
	if p := c.notDone(nodes, "not uncordoned"); p != nil {
		return p
	}
	for _, n := range nodes {
		switch {
		case c.ours[n] != nil:
		case c.snapshot != nil && c.snapshot.Node(n) != nil && !c.snapshot.Node(n).Unschedulable:
			c.warn(view.LanePower, n, n+" is not cordoned")
		default:
			c.warn(view.LanePower, n, "lightsout did not cordon "+n+", so it does not uncordon it; by hand: "+c.byHand(n))
		}
	}
	c.release(nodes...)
	deadline := c.now().Add(time.Minute)
	return func(now time.Time) (bool, string, error) {
		i := slices.IndexFunc(nodes, func(n string) bool { return c.ours[n] != nil })
		switch {
		case i < 0:
			return true, "", nil
		case now.After(deadline):
			return true, "", fmt.Errorf("%s is not uncordoned: %s", nodes[i], c.ours[nodes[i]].failed)
		}
		return false, "uncordoning " + nodes[i], nil
	}
}

// uncordonOwn uncordons, from its first look on, what this session has cordoned, except machines that are
// left off and nodes that except, unless nil, accepts.
func (c *cordons) uncordonOwn(except func(node string) bool) Progress {
	var p Progress
	return func(now time.Time) (bool, string, error) {
		if p == nil { // the first look may come long after
			p = c.uncordonAll(slices.DeleteFunc(c.names(), func(n string) bool {
				_, off := c.machines.leftOff[n]
				return off || !c.ours[n].session || !c.ours[n].Action.GoesOff() || except != nil && except(n)
			}))
		}
		return p(now)
	}
}

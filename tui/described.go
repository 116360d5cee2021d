package tui

import (
	"fmt"
	"time"

	"lightsout/cluster"
)

// described adds the API server's description of an object during an inspection:
// conditions, containers, events. Records leave it out.
func (d *details) described(ref cluster.Ref) {
	if d.s.f.Replay != nil {
		return
	}
	o := described(d.s, ref)
	if o == nil {
		d.head("Conditions, containers, events")
		d.put(waiting(d.s, ref))
		return
	}
	if l := d.s.f.Inspection; l.Err != "" && !l.Log {
		d.addStyled(d.s.t.warn, "not read again", l.Err)
	}
	last := ""
	if p := d.s.snap.Pod(ref.Key); ref.Kind == cluster.KindPod && p != nil && d.s.snap.PodUnheard(p, d.s.now) {
		last = " (last known)"
	}
	d.head("Conditions" + last)
	for _, c := range o.Conditions {
		d.condition(ref.Kind, c)
	}
	d.head("Containers" + last)
	for _, c := range o.Containers {
		d.container(c)
	}
	d.services(ref.Kind, o)
	d.head("Events of the cluster")
	d.none(o.EventsErr, len(o.Events), "the API server keeps them for about an hour")
	for _, e := range o.Events {
		text, st := e.Reason+": "+e.Message, style("")
		if e.Count > 1 {
			text += fmt.Sprintf(" (%d times)", e.Count)
		}
		if e.Warning {
			st = d.s.t.warn
		}
		d.addStyled(st, d.s.when(cluster.When{After: e.At.Local(), By: e.At.Add(time.Second)}), text)
	}
}

// written adds the object itself: lightsout knows nothing else of its kind.
func (d *details) written(ref cluster.Ref) {
	if o := described(d.s, ref); o != nil {
		d.head("Object")
		for _, f := range plainFacts(d.s, o.YAML) {
			d.put(f)
		}
	}
}

// none says that a list cannot be read, or that it is empty and why.
func (d *details) none(err string, n int, why string) {
	switch {
	case err != "":
		d.addStyled(d.s.t.warn, "can't be read", err)
	case n == 0:
		d.addStyled(d.s.t.dim, "none", why)
	}
}

// services adds the services that send requests to the pods of an object, with
// how many endpoints are ready.
func (d *details) services(kind cluster.Kind, o *cluster.Description) {
	if kind != cluster.KindPod && kind != cluster.KindDeployment {
		return
	}
	d.head("Services")
	d.none(o.ServicesErr, len(o.Services), "no service selects these pods")
	for _, s := range o.Services {
		text, st := d.s.facts(s.Name+": "+s.Type, s.Ports), style("")
		for _, e := range d.s.snap.Endpoints() {
			if e.Service != s.Key {
				continue
			}
			if e.Ready == 0 {
				st = d.s.t.bad
			}
			text = d.s.facts(text, fmt.Sprint(e.Ready, " ready endpoints"))
		}
		d.addStyled(st, "service", text)
	}
}

// condition adds a condition. Those of a node but Ready say that something is
// wrong when they are true, those of others when they are false.
func (d *details) condition(kind cluster.Kind, c cluster.Condition) {
	bad := "False"
	if kind == cluster.KindNode && c.Type != "Ready" {
		bad = "True"
	}
	st := style("")
	if c.Status == bad || c.Status == "Unknown" {
		st = d.s.t.warn
	}
	d.addStyled(st, c.Type, d.state(c.Status, c.Since, c.Reason, c.Message))
}

// state is a word with how long it has held and why.
func (d *details) state(word string, since time.Time, reason, message string) string {
	if !since.IsZero() {
		word += " for " + age(d.s.now.Sub(since))
	}
	return word + after(": ", reason, "") + after(": ", message, "")
}

// container adds a container: its state, its last end, its requests.
func (d *details) container(c cluster.Container) {
	t := d.s.t
	name, state, st := c.Name, c.State, t.good
	if c.Init {
		name += " (init)"
	}
	switch {
	case state == "waiting", state == "terminated" && !c.Init:
		st = t.bad
	case state == "running" && !c.Ready && !c.Init:
		state, st = "running, not ready", t.warn
	}
	state = d.state(state, c.Since, c.Reason, c.Message)
	if c.Restarts > 0 {
		state = d.s.facts(state, fmt.Sprint("restarts ", c.Restarts))
	}
	if state == "" {
		state, st = c.Image, "" // of a template
	}
	d.addStyled(st, name, state)
	if c.Last != "" {
		d.addStyled(t.warn, "", "before that: "+c.Last)
	}
	if c.State != "" {
		d.add("", c.Image)
	}
	d.add("", d.s.facts(after("requests ", c.Requests, ""), after("limits ", c.Limits, "")))
}

package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/power"
)

// planTimeout bounds what is looked up before a question about switching.
const planTimeout = 15 * time.Second

// NodeRef is what power needs to know of a node.
func NodeRef(n *cluster.Node) power.NodeRef {
	return power.NodeRef{Name: n.Name, Addresses: n.Addresses, ProviderID: n.ProviderID, BootID: n.BootID, Annotations: n.Annotations}
}

// resolve finds the machines of the nodes, again whenever the nodes' names or
// addresses have changed.
func (e *Engine) resolve(s *cluster.Snapshot) {
	if e.opt.Fleet == nil || e.resolving || !s.Access[cluster.KindNode].Synced {
		return
	}
	refs, sign := nodeRefs(s)
	if sign == e.resolved {
		return
	}
	e.resolving = true
	e.goDo(func() {
		ctx, cancel := context.WithTimeout(e.ctx, planTimeout)
		defer cancel()
		bindings := e.opt.Fleet.Resolve(ctx, refs)
		e.mail.post(func() {
			e.resolving, e.resolved = false, sign
			e.bindings = make(map[string]power.Binding, len(bindings))
			for _, b := range bindings {
				e.bindings[b.Node.Name] = b
			}
			e.bound.Store(&bindings)
		})
	})
}

func nodeRefs(s *cluster.Snapshot) (refs []power.NodeRef, sign string) {
	var b strings.Builder
	for _, n := range s.Nodes() {
		if n.Gone.IsZero() {
			refs = append(refs, NodeRef(n))
			fmt.Fprintf(&b, "%s=%s;", n.Name, strings.Join(n.Addresses, ","))
		}
	}
	return refs, b.String()
}

// reading keeps a look at a machine's state and says when it has changed.
func (e *Engine) reading(node string, r power.Reading) {
	v := e.machines[node]
	old := v.Reading
	v.Reading = r
	e.outages.power(node, r)
	e.notePower(node, r)
	e.machines[node] = v
	if (old.State == r.State && old.Proof == r.Proof) || (old.At.IsZero() && r.State == power.On) {
		return
	}
	level := view.Info
	switch r.State {
	case power.On:
		level = view.Good
	case power.Off:
		level = view.Bad
	}
	e.say(view.Event{At: r.At, Lane: view.LanePower, Subject: node, Text: "machine " + stateText(r), Level: level, From: old.State.String(), To: r.State.String()})
}

func stateText(r power.Reading) string {
	text := r.State.String()
	if r.State == power.Off && r.Proof == power.Presumed {
		text = "presumed off"
	}
	if r.Detail != "" {
		text += " (" + r.Detail + ")"
	}
	return text
}

func (e *Engine) machineViews() map[string]view.MachineView {
	out := make(map[string]view.MachineView, len(e.machines))
	for node, v := range e.machines {
		out[node] = v
	}
	for node, b := range e.bindings {
		v := out[node]
		v.Machine = MachineText(b)
		out[node] = v
	}
	for node := range e.leftOff {
		v := out[node]
		v.LeftOff = true
		out[node] = v
	}
	return out
}

// MachineText names the machines that stand for a node, for people.
func MachineText(b power.Binding) string {
	var parts []string
	if b.Off != nil {
		parts = append(parts, "off: "+machineName(b.Off))
	} else if b.OffErr != "" {
		parts = append(parts, "off: "+b.OffErr)
	}
	if b.On != nil {
		parts = append(parts, "on: "+machineName(b.On))
	} else if b.OnErr != "" {
		parts = append(parts, "on: "+b.OnErr)
	}
	return strings.Join(parts, " · ")
}

func machineName(m *power.Machine) string {
	text := m.Driver
	switch {
	case m.Driver == "ssh":
		text += " " + m.ID
	default:
		text += " " + m.Title()
	}
	if level := m.Params[power.ParamServiceLevel]; level != "" && m.Driver != "ssh" {
		text += ", service level " + level
		if m.Params[power.ParamServiceLevelFrom] == "assumed" {
			text += " (assumed)"
		}
	}
	return text
}

// switchPlan is what was looked up before a question about switching.
type switchPlan struct {
	ask      view.AskPower
	snapshot *cluster.Snapshot
	bindings []power.Binding
	findings []power.Finding
	problems map[string]error
}

// askPower prepares a question about switching: it finds the machines, proves
// the way back, asks the guards and forecasts, all away from the loop.
func (e *Engine) askPower(a view.AskPower) {
	switch {
	case e.opt.ReadOnly:
		e.warn(view.LanePower, "power", "read-only: nothing can be switched; start without --read-only")
		return
	case e.opt.Fleet == nil:
		e.warn(view.LanePower, "power", e.noPower())
		return
	case len(a.Nodes) == 0 || e.asking || len(e.questions) > 0:
		return
	}
	if d, n := e.drainOf(a.Nodes...); n != nil {
		if d.asks {
			e.askDrain(d, n)
			return
		}
		e.warn(view.LanePower, n.node, n.node+" is being drained by a step of the trial")
		return
	}
	a.Nodes = slices.Clone(a.Nodes)
	s := e.snapshot.Load()
	e.asking = true
	e.goDo(func() {
		ctx, cancel := context.WithTimeout(e.ctx, planTimeout)
		defer cancel()
		p := e.makePlan(ctx, a, s)
		e.mail.post(func() {
			e.asking = false
			e.ask(e.switchQuestion(p), func(ans view.Answer) {
				switch ans.Choice {
				case choiceYes:
					e.switchMachines(p, nil)
				case ChoiceDrain:
					e.drainFirst(p, nil)
				}
			})
		})
	})
}

func (e *Engine) noPower() string {
	if e.opt.NoPower != "" {
		return e.opt.NoPower
	}
	return "machines can't be switched: set power.off_by and power.on_by in lightsout.yaml"
}

func (e *Engine) makePlan(ctx context.Context, a view.AskPower, s *cluster.Snapshot) switchPlan {
	p := switchPlan{ask: a, snapshot: s}
	var refs []power.NodeRef
	for _, name := range a.Nodes {
		ref := power.NodeRef{Name: name}
		if s != nil {
			if n := s.Node(name); n != nil {
				ref = NodeRef(n)
			}
		}
		refs = append(refs, ref)
	}
	// All nodes are resolved, so that two nodes with one machine are noticed.
	p.bindings = e.opt.Fleet.Resolve(ctx, refs)
	if a.Action == power.ActionOn {
		p.useLeftOff(e.opt.Journal)
	}
	guard := power.Plan{Action: a.Action, Targets: a.Nodes, Bound: map[string]power.Bound{}, Busy: e.opt.Fleet.Busy(), ReadOnly: e.opt.ReadOnly, DryRun: e.opt.DryRun, Limits: e.opt.Guards}
	var unproven map[string]error
	if a.Action != power.ActionOn {
		unproven = e.opt.Fleet.Prove(ctx, p.bindings)
		p.problems = e.opt.Fleet.Preflight(ctx, a.Action, p.bindings)
	}
	for _, b := range p.bindings {
		bound := power.Bound{Binding: b, OnProven: unproven[b.Node.Name] == nil && b.On != nil}
		if _, err := e.opt.Fleet.Can(b, a.Action); err != nil {
			bound.Why = err.Error()
		} else {
			bound.Can = true
		}
		guard.Bound[b.Node.Name] = bound
	}
	guard.ViewAge = time.Hour
	if s != nil {
		guard.Nodes = planNodes(s)
		if last := e.opt.Watcher.Link().LastContact; !last.IsZero() {
			guard.ViewAge = e.now().Sub(last)
		}
	}
	if e.opt.Self != nil {
		guard.Self = e.opt.Self(ctx)
	}
	p.findings = power.Guard(guard)
	return p
}

// useLeftOff takes the machines from the journal for nodes that can't be
// resolved now: powering on needs neither the API server nor a look-up.
func (p *switchPlan) useLeftOff(j *power.Journal) {
	if j == nil {
		return
	}
	left, err := j.LeftOff()
	if err != nil {
		return
	}
	for i, b := range p.bindings {
		for _, l := range left {
			if b.On == nil && l.Binding.Node.Name == b.Node.Name {
				p.bindings[i] = l.Binding
			}
		}
	}
}

func planNodes(s *cluster.Snapshot) []power.Node {
	var out []power.Node
	for _, n := range s.Nodes() {
		if !n.Gone.IsZero() {
			continue
		}
		role := power.RoleWorker
		if n.ControlPlane {
			role = power.RoleControlPlane
		}
		out = append(out, power.Node{
			NodeRef: NodeRef(n), Role: role, Etcd: runsEtcd(s, n.Name),
			Ready: n.Ready == cluster.TriTrue, Schedulable: !n.Unschedulable,
		})
	}
	return out
}

// runsEtcd reports whether one of the node's static pods is an etcd member.
func runsEtcd(s *cluster.Snapshot, node string) bool {
	return slices.ContainsFunc(s.PodsOn(node), func(p *cluster.Pod) bool {
		return p.Static && strings.HasPrefix(p.Name, "etcd-")
	})
}

// switchMachines carries a plan out, all machines side by side. end, which may
// be nil, is called on the loop with what came of it.
func (e *Engine) switchMachines(p switchPlan, end func(error)) {
	a := p.ask
	if end == nil {
		end = func(error) {}
	}
	if e.opt.DryRun {
		for _, n := range a.Nodes {
			e.say(view.Event{Lane: view.LanePower, Subject: n, Text: "dry run: " + string(a.Action) + " not asked for"})
		}
		end(nil)
		return
	}
	asked := e.now()
	if a.Action != power.ActionOn && e.timeline.Start(asked) {
		e.say(view.Event{At: asked, Lane: view.LaneOperator, Subject: "trial", Text: "zero of the clock: the first power-off is asked for"})
	}
	e.noteSwitch(p)
	for _, n := range a.Nodes {
		v := e.machines[n]
		v.Busy, v.Phase, v.Text = a.Action, power.PhaseAsking, ""
		e.machines[n] = v
	}
	e.goDo(func() {
		err := e.opt.Fleet.Do(e.ctx, a.Action, p.bindings, func(pr power.Progress) {
			e.mail.post(func() { e.progress(pr) })
		})
		e.mail.post(func() {
			e.switched(a, err)
			end(err)
		})
	})
}

// progress keeps one step of an operation on one machine.
func (e *Engine) progress(pr power.Progress) {
	v := e.machines[pr.Node]
	v.Phase, v.Text = pr.Phase, pr.Text
	e.machines[pr.Node] = v
	e.say(view.Event{At: pr.At, Lane: view.LanePower, Subject: pr.Node, Text: pr.Text, Level: phaseLevel(pr.Phase)})
	if !pr.Reading.At.IsZero() {
		e.reading(pr.Node, pr.Reading)
	}
	if pr.Phase == power.PhaseDone || pr.Phase == power.PhaseUncertain {
		e.readLeftOff()
	}
	if pr.Phase == power.PhaseDone && pr.Action == power.ActionOn {
		e.poweredOn(pr.Node)
	}
}

// switched is the end of an operation on all its machines.
func (e *Engine) switched(a view.AskPower, err error) {
	for _, n := range a.Nodes {
		v := e.machines[n]
		v.Busy = ""
		e.machines[n] = v
	}
	var failed *power.ActionError
	if err != nil && !errors.As(err, &failed) {
		e.warn(view.LanePower, "power", err.Error()) // nothing was switched
	} else if err != nil {
		e.notice, e.noticeAt = err.Error(), e.now()
	}
	e.readLeftOff()
	if e.leaveWhenOn && (err != nil || len(e.leftOff) > 0) {
		e.leaveWhenOn = false
	}
	e.leaveIfSettled()
}

// readLeftOff learns from the journal what is still off because of us.
func (e *Engine) readLeftOff() {
	if e.opt.Journal == nil {
		return
	}
	left, err := e.opt.Journal.LeftOff()
	if err != nil {
		e.warn(view.LanePower, "journal", err.Error())
		return
	}
	e.leftOff = make(map[string]power.LeftOff, len(left))
	for _, l := range left {
		e.leftOff[l.Node] = l
	}
	e.readCordons()
	if !e.greeted && len(left)+len(e.cordons.ours) > 0 {
		e.greeted = true
		e.askRestore(left)
	}
	e.greeted = true
}

// settleBoots marks machines that we switched off as on again when their node
// is Ready with another boot id than before.
func (e *Engine) settleBoots(s *cluster.Snapshot) {
	if len(e.leftOff) == 0 || s.Link.State != cluster.LinkLive {
		return
	}
	for name, l := range e.leftOff {
		n := s.Node(name)
		if n == nil || n.Ready != cluster.TriTrue || n.BootID == "" || n.BootID == l.Binding.Node.BootID || l.Binding.Node.BootID == "" {
			continue
		}
		if _, err := e.opt.Journal.SeenOn(power.Seen{Node: NodeRef(n), At: e.now(), Text: "Ready with a new boot id"}); err != nil {
			e.warn(view.LanePower, name, err.Error())
		}
	}
	e.readLeftOff()
	e.leaveIfSettled()
}

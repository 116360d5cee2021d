package power

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lightsout/internal/clock"
	"lightsout/internal/outage"
	"lightsout/internal/text"
)

// Preview polls and judges everything, and returns the question that lightsout would
// ask, with the actions and the findings. It switches nothing. A program that has just
// started waits up to heartbeatWait for the heartbeats that the guards need. It ends with Request.While.
func (s *Switcher) Preview(ctx context.Context, r Request) (Question, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(cmp.Or(r.While, ctx), cancel)()
	if r.Action != ActionOn {
		s.awaitHeartbeats(ctx, r)
	}
	defer r.slowlyAs(StagePreparing, "nothing was sent yet: lightsout waits for the API server or a driver before it asks")()
	return s.preview(ctx, r, false)
}

const (
	// heartbeatWait bounds the wait for heartbeats. A kubelet sends one every 10 s; one that
	// arrives in the first 2 s of a watch may have been sent before the watch.
	heartbeatWait = 15 * time.Second
	heartbeatPoll = 500 * time.Millisecond
)

// awaitHeartbeats waits, for heartbeatWait at most, until as many workers as the guards keep
// have sent a heartbeat, without the nodes of the request and of earlier steps. A worker counts
// as left only from then on: the Lease of a node that died with its clock ahead looks new.
func (s *Switcher) awaitHeartbeats(ctx context.Context, r Request) {
	ctx, cancel := context.WithTimeout(ctx, heartbeatWait)
	defer cancel()
	defer r.slowlyAs(StagePreparing, "nothing was sent yet: lightsout waits up to 15 s for a heartbeat from a worker that stays on")()
	for {
		state, err := s.state(ctx, false)
		if err != nil {
			return
		}
		heard, awaited := staying(s.standing(state, r.Assumed, s.leftOff(), s.Fleet.Busy()), r.Nodes)
		keep := s.Limits.keepReady()
		if len(heard) >= keep || len(heard)+awaited < keep || !Sleep(ctx, heartbeatPoll) {
			return
		}
	}
}

// preview is Preview. After a yes, lightsout asks the API server first.
func (s *Switcher) preview(ctx context.Context, r Request, agreed bool) (Question, error) {
	began := time.Now()
	state, err := s.state(ctx, agreed && r.Action != ActionOn)
	if err != nil && r.Action != ActionOn {
		state.Stale = append(state.Stale, err.Error())
	}
	in := s.guardInput(r, state)
	listedOff := s.leftOff()
	all := s.bind(ctx, r, state, listedOff)
	for _, b := range all {
		in.Bound[b.Node.Name] = Bound{Binding: b, FromJournal: listedOff[b.Node.Name] != nil && r.Action == ActionOn}
		if s.lockedElsewhere(b) && in.Busy[b.Node.Name] == "" && r.Action != ActionOn {
			in.Busy[b.Node.Name] = ActionOff
		}
	}
	q := Question{Request: r, bound: in.Bound, observedAt: began, DryRun: s.Fleet.cfg.DryRun, CanDrain: r.Action == ActionShutdown && s.Drain != nil && !s.Fleet.cfg.ReadOnly}
	for _, b := range all {
		if slices.Contains(r.Nodes, b.Node.Name) {
			b.Heard = state.node(b.Node.Name).Heard
			q.Bindings = append(q.Bindings, b)
		}
	}
	problems := s.tryOut(ctx, r.Action, q.Bindings, in.Bound)
	s.judged(ctx, in, &q, map[string]Reading{})
	q.Findings = append(q.Findings, problems...)
	switch {
	case r.Action == ActionOn:
	case s.Production != "":
		q.Type = s.Production
	case worst(q.Findings) == Override:
		q.Type = strings.Join(r.Nodes, " ")
	}
	return q, ctx.Err()
}

// guardInput returns the input of the guards, without machines and workers.
func (s *Switcher) guardInput(r Request, state ClusterState) guardInput {
	why, settles := s.noJournal()
	return guardInput{Action: r.Action, Targets: r.Nodes, ClusterState: state, Bound: map[string]Bound{}, Busy: s.Fleet.Busy(),
		ReadOnly: s.Fleet.cfg.ReadOnly, DryRun: s.Fleet.cfg.DryRun, Limits: s.Limits, NoJournal: why, Settles: settles, NoIdentity: !s.Fleet.cluster().certain(), Trial: s.Fleet.cfg.Locks.heldBy(lockNames("trial", s.Fleet.cluster()))}
}

// withoutRefused removes the nodes that a rule refuses one by one; the error has the
// reason for each. If no node would be left, it returns the question unchanged.
func (q Question) withoutRefused() (Question, error) {
	failed := map[string]string{}
	for _, f := range q.Findings {
		if f.Effect < Refuse {
			continue
		}
		if f.Node == "" {
			return q, nil
		}
		failed[f.Node] = fmt.Sprintf("refused: %s (rule %s)", strings.TrimSuffix(f.Text, "."), f.Rule)
	}
	rest := q
	rest.Nodes = slices.DeleteFunc(slices.Clone(q.Nodes), func(n string) bool { return failed[n] != "" })
	rest.Bindings = slices.DeleteFunc(slices.Clone(q.Bindings), func(b Binding) bool { return failed[b.Node.Name] != "" })
	if len(rest.Nodes) == 0 {
		return q, nil
	}
	rest.Findings = slices.Clone(q.Findings)
	for i, f := range rest.Findings {
		if failed[f.Node] != "" {
			rest.Findings[i].Effect, rest.Findings[i].Text = Warn, "Left out: "+f.Text
		}
	}
	return rest, &ActionError{Action: q.Action, Failed: failed}
}

// state returns the state of the cluster; with fresh it asks the API server first.
func (s *Switcher) state(ctx context.Context, fresh bool) (ClusterState, error) {
	if s.Cluster == nil {
		return ClusterState{}, errors.New("lightsout knows nothing of the cluster")
	}
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	if fresh {
		return s.Cluster.FreshState(ctx)
	}
	return s.Cluster.State(ctx)
}

// leftOff returns the machines that the journal lists as off, by node.
func (s *Switcher) leftOff() map[string][]LeftOff {
	left := map[string][]LeftOff{}
	off, _ := s.Fleet.journal.LeftOff() // the readable part
	for _, l := range off {
		left[l.Node] = append(left[l.Node], l)
	}
	return left
}

// bind finds the machines of all nodes, so that the guards notice two nodes with one
// machine. For powering on it first takes the machines in the journal: those are the
// ones that were switched off.
func (s *Switcher) bind(ctx context.Context, r Request, state ClusterState, left map[string][]LeftOff) (all []Binding) {
	refs, journalHasAll := state.refs(), r.Action == ActionOn
	for _, name := range r.Nodes {
		bound := false
		for _, l := range left[name] {
			if r.Action == ActionOn && l.Binding.On != nil {
				all, bound = append(all, s.Fleet.wayBack(ctx, l.Binding)), true
			}
		}
		is := func(n NodeRef) bool { return n.Name == name }
		switch {
		case bound:
			refs = slices.DeleteFunc(refs, is)
			continue
		case !slices.ContainsFunc(refs, is):
			refs = append(refs, NodeRef{Name: name})
		}
		journalHasAll = false
	}
	if journalHasAll {
		return all
	}
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	return append(all, s.Fleet.Resolve(ctx, refs)...)
}

// tryOut asks the drivers whether they can reach the targets, and whether the machine's
// power-on driver answers.
func (s *Switcher) tryOut(ctx context.Context, a Action, targets []Binding, bound map[string]Bound) (problems []Finding) {
	var unproven map[string]error
	if a != ActionOn {
		ctx, cancel := context.WithTimeout(ctx, stateTimeout)
		defer cancel()
		unproven = s.Fleet.Prove(ctx, targets)
		for node, err := range s.Fleet.Preflight(ctx, a, targets) {
			x := Finding{Rule: RulePreflight, Effect: Warn, Node: node, Text: sentence(node + ": " + Clean(err.Error()))}
			if errors.As(err, new(*OtherBootError)) {
				x.Rule, x.Effect = RuleContradiction, Refuse
			}
			problems = append(problems, x)
		}
		slices.SortFunc(problems, func(a, b Finding) int { return strings.Compare(a.Node, b.Node) })
	}
	for _, b := range targets {
		m := bound[b.Node.Name]
		m.Unproven = unproven[b.Node.Name]
		_, m.Cannot = s.Fleet.Can(b, a)
		bound[b.Node.Name] = m
	}
	return problems
}

// judged judges a question, and adds to it the findings and the workers that are left. The API
// server calls a node Ready for most of a minute after its machine is off. So a node does not
// count if it is being switched, if a journal or a note lists it as off, or if its own
// driver reports it as off. judged polls the machines that readings lacks, and adds
// them.
func (s *Switcher) judged(ctx context.Context, in guardInput, q *Question, readings map[string]Reading) {
	began := time.Now()
	in.Nodes = s.standing(in.ClusterState, q.Assumed, s.leftOff(), in.Busy)
	stay, awaited := staying(in.Nodes, in.Targets)
	q.Left, q.Awaited = -1, awaited
	for _, n := range in.Nodes {
		if n.Presence == Down && !slices.Contains(in.Targets, n.Name) {
			q.Down = append(q.Down, n.Name)
		}
	}
	if in.Action != ActionOn {
		s.countLeft(ctx, in, q, stay, readings)
	}
	in.Age += clock.Since(began)
	q.Findings = judge(in)
}

// countLeft counts the workers that stay, without those whose machines are not on.
func (s *Switcher) countLeft(ctx context.Context, in guardInput, q *Question, stay []*Node, readings map[string]Reading) {
	// Poll only until enough machines are known to be on: polling all of a large
	// cluster would take long and change nothing.
	q.Left = len(stay)
	enough := s.Limits.keepReady()
	for batch := range slices.Chunk(stay, 16) {
		if enough <= 0 {
			break
		}
		var unread []Binding
		for _, n := range batch {
			if _, known := readings[n.Name]; !known {
				unread = append(unread, in.Bound[n.Name].Binding)
			}
		}
		for k, r := range s.Fleet.Read(ctx, unread) {
			readings[unread[k].Node.Name] = r.Reading
		}
		for _, n := range batch {
			if r := readings[n.Name]; r.State == Off || r.State == Transitioning {
				n.Presence, n.Why = Down, fmt.Sprintf("has a machine that is %s", r.State)
				q.Left--
				q.Down = append(q.Down, n.Name)
				continue
			}
			enough--
		}
	}
}

// standing returns the nodes with the reasons why they do not count as workers that are left: their
// machines are busy, or left off, or may go off by the journal, or a note lists them as off.
func (s *Switcher) standing(state ClusterState, assumed Assumption, left map[string][]LeftOff, busy map[string]Action) (nodes []Node) {
	on := s.Fleet.journal.PoweredOn()
	for _, n := range state.Nodes {
		n.owned = OwnershipOf(n.Name, left[n.Name], s.others(n))
		down := ""
		switch {
		case n.Presence == Down:
			down = n.Why
		case busy[n.Name].GoesOff():
			down = "is being switched off"
		case len(left[n.Name]) > 0:
			down = left[n.Name][0].whyNotCounted()
		case n.owned.Owner == Others:
			down = n.owned.SwitchedOff()
		case slices.Contains(assumed.Off, n.Name):
			down = "is off by an earlier step"
		case n.Presence == Runs && !n.Heard.IsZero() && n.Heard.Before(on[n.Name]):
			n.Presence, n.Why = Awaited, "was powered on and has sent no heartbeat since"
		}
		if down != "" {
			n.Presence, n.Why = Down, down
		}
		n.Ready = n.Ready && !(n.ControlPlane && slices.Contains(assumed.Off, n.Name))
		n.Schedulable = n.Schedulable && !slices.Contains(assumed.Cordoned, n.Name)
		nodes = append(nodes, n)
	}
	return nodes
}

// staying returns the workers that are left without the targets, and how many more may be: lightsout
// has received no heartbeat from them yet.
func staying(nodes []Node, targets []string) (stay []*Node, awaited int) {
	for i := range nodes {
		n := &nodes[i]
		switch {
		case !n.Ready || !n.Schedulable || n.ControlPlane || slices.Contains(targets, n.Name):
		case n.Presence == Runs:
			stay = append(stay, n)
		case n.Presence == Awaited:
			awaited++
		}
	}
	return stay, awaited
}

// worse lists the findings of the question asked again that the agreed one lacks: a more
// severe or longer finding, and, without a rule, another machine, another boot, fewer
// workers left.
func worse(agreed, again Question) (changed []Finding) {
	add := func(node, format string, args ...any) {
		changed = append(changed, Finding{Node: node, Text: fmt.Sprintf(format, args...)})
	}
	for _, f := range again.Findings {
		if f.Effect >= Override && alike(again.Findings, f) > alike(agreed.Findings, f) {
			changed = append(changed, f)
		}
	}
	for _, b := range again.Bindings {
		same := slices.IndexFunc(agreed.Bindings, func(o Binding) bool {
			return o.Node.Name == b.Node.Name && sameRequest(o.Off, b.Off) && sameRequest(o.On, b.On)
		})
		switch {
		case same < 0:
			add(b.Node.Name, "%s has another machine than before", b.Node.Name)
		case again.Action != ActionOn && outage.OtherBoot(agreed.Bindings[same].Node.BootID, b.Node.BootID):
			// The annotation and the journal name the boot that the request ends: with
			// an earlier boot, everybody who sees the node would take them for out of
			// date.
			add(b.Node.Name, "%s has booted again", b.Node.Name)
		}
	}
	explained := slices.ContainsFunc(again.Findings, func(f Finding) bool { return f.Rule == RuleLastWorker || f.Rule == RuleStaleView })
	if again.Left < agreed.Left && !explained {
		add("", "it would leave %s, not %d", text.Count(again.Left, "worker that takes pods", "workers that take pods"), agreed.Left)
	}
	return changed
}

// alike counts the findings of f's rule, node and annotation that are at least as severe. Their
// texts may contain times.
func alike(findings []Finding, f Finding) (n int) {
	for _, o := range findings {
		if o.Rule == f.Rule && o.Node == f.Node && o.Note == f.Note && o.Effect >= f.Effect {
			n++
		}
	}
	return n
}

// sameRequest reports whether switching a and switching b is the same request: the same
// machine with the same parameters, including the address if it matters.
func sameRequest(a, b *Machine) bool {
	return a == nil && b == nil || sameMachine(a, b) && maps.Equal(a.Params, b.Params)
}

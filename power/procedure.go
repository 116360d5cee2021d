package power

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"lightsout/internal/text"
)

// Switcher is the one procedure that switches machines, whoever wants it: a key
// on the screen, a step of a plan, after a drain, when leaving, the command
// line, a restore.
//
//	resolve all nodes → guard → ask → drain, where that was answered →
//	lock the cluster → mark the nodes → look and guard again (worse: ask anew)
//	→ lock the machine → journal → act → verify by looking → settle
//
// The second look counts: between question and answer an hour may have passed.
// It happens under the cluster's lock, so that no other program on this host
// judges by the same workers, and after the mark, so that of two operators on
// two hosts at least one sees the other. Powering on takes the same way, but
// nothing stands in it except a machine that is not known: it needs no view of
// the cluster, no journal and no lock on the cluster.
//
// It is safe for use by several goroutines. It knows nothing of Kubernetes and
// nothing of a screen: World and Asker are all it sees of them.
type Switcher struct {
	Fleet *Fleet
	// Journal is what the Fleet writes to; nil: nothing can be switched off.
	Journal *Journal
	World   World
	// Marks and Drain may be nil: then nothing is marked, and nothing drained.
	Marks Marker
	Drain Drainer
	// Limits tighten the guards. Production is what has to be typed before
	// something is switched off there; empty for other clusters.
	Limits           Limits
	Production       string
	ReadOnly, DryRun bool
	// WayBack is the command that brings back what the journal has left off, from
	// any folder. In notes the config file and the state folder are added to it.
	WayBack string

	// judge is Guard, but for tests of what must find a fault in it.
	judge func(Plan) []Finding
	// again gives the question that counts when yes was answered.
	again func(first, second Question) Question
}

const (
	// lookTimeout bounds each thing that is looked up before a question.
	lookTimeout = 15 * time.Second
	// judgeTimeout bounds the wait for another program that is judging.
	judgeTimeout = 30 * time.Second
	// mostQuestions is how often it is asked anew because something changed.
	mostQuestions = 5
)

// Switch carries a request out, after ask has said yes. The error is a
// *NotDoneError when nothing was done, an *ActionError when it did not succeed
// for all nodes, or ctx's.
func (s *Switcher) Switch(ctx context.Context, r Request, ask Asker) error {
	r.Nodes = slices.Compact(slices.Sorted(slices.Values(r.Nodes)))
	r.While = cmp.Or(r.While, context.Background())
	q, err := s.Preview(ctx, r)
	for range mostQuestions {
		if err != nil {
			return err
		}
		answer, err := answered(ctx, q, ask)
		if err != nil {
			return err
		}
		var notDrained error
		if answer.Drain && q.CanDrain && !s.DryRun {
			if r.Nodes, notDrained = s.Drain.Drain(ctx, r.Nodes); len(r.Nodes) == 0 {
				return notDrained
			}
		}
		unlock, err := s.lock(ctx, r)
		if err != nil {
			return errors.Join(notDrained, err)
		}
		if err := s.mark(ctx, r.Nodes, q); err != nil {
			unlock()
			s.returned(r.Nodes, nil)
			return errors.Join(notDrained, err)
		}
		var now Question
		now, err = s.Preview(ctx, r)
		if err == nil && s.again != nil {
			now = s.again(q, now)
		}
		if err = cmp.Or(err, r.While.Err()); err == nil {
			if now.Changed = worse(q, now); len(now.Changed) == 0 {
				return errors.Join(notDrained, s.act(ctx, now, unlock))
			}
		}
		unlock()
		s.returned(r.Nodes, nil)
		q = now
	}
	return cmp.Or(err, errors.New("nothing was switched: the cluster keeps changing for the worse while it is being asked"))
}

// answered asks, and is an error unless the answer is a yes that counts.
func answered(ctx context.Context, q Question, ask Asker) (Answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(q.While, cancel)()
	a, err := ask.Ask(ctx, q)
	switch {
	case q.Refused():
		return a, &NotDoneError{Why: NotAllowed, Question: q}
	case err != nil:
		return a, err
	case !a.Yes:
		return a, &NotDoneError{Why: NotWanted, Question: q}
	case q.Type != "" && a.Typed != q.Type:
		return a, &NotDoneError{Why: NotTyped, Question: q}
	}
	return a, ctx.Err()
}

// Preview looks at everything and judges: the question that would be asked, with
// what would be done and what speaks against it. Nothing is done.
func (s *Switcher) Preview(ctx context.Context, r Request) (Question, error) {
	began := time.Now()
	view, err := s.look(ctx)
	if err != nil && r.Action != ActionOn {
		view.Stale = append(view.Stale, err.Error())
	}
	plan := Plan{Action: r.Action, Targets: r.Nodes, View: view,
		Bound: map[string]Bound{}, Busy: s.Fleet.Busy(), ReadOnly: s.ReadOnly, DryRun: s.DryRun, Limits: s.Limits}
	plan.NoJournal = s.noJournal()
	all, left := s.bind(ctx, r, view)
	for _, b := range all {
		plan.Bound[b.Node.Name] = Bound{Binding: b, FromJournal: left[b.Node.Name] != nil && r.Action == ActionOn}
		if s.lockedElsewhere(b) && plan.Busy[b.Node.Name] == "" && r.Action != ActionOn {
			plan.Busy[b.Node.Name] = ActionOff
		}
	}
	q := Question{Request: r, Left: -1, DryRun: s.DryRun, CanDrain: r.Action == ActionShutdown && s.Drain != nil && !s.ReadOnly}
	for _, b := range all {
		if slices.Contains(r.Nodes, b.Node.Name) {
			q.Bindings = append(q.Bindings, b)
		}
	}
	problems := s.tryOut(ctx, r.Action, q.Bindings, plan.Bound)
	plan.Nodes = s.judged(ctx, view, left, plan, &q)
	plan.Age += time.Since(began)
	judge := s.judge
	if judge == nil {
		judge = Guard
	}
	q.Findings = append(judge(plan), problems...)
	if r.Action != ActionOn {
		switch {
		case s.Production != "":
			q.Type = s.Production
		case NeedsOverride(q.Findings):
			q.Type = strings.Join(r.Nodes, " ")
		}
	}
	return q, ctx.Err()
}

func (s *Switcher) look(ctx context.Context) (View, error) {
	if s.World == nil {
		return View{}, errors.New("nothing is known of the cluster")
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	return s.World.Look(ctx)
}

// bind finds the machines: of all nodes, so that two nodes with one machine are
// noticed; for powering on first those that the journal has, which are the ones
// that were switched off. left is what it says to be off, by node.
func (s *Switcher) bind(ctx context.Context, r Request, view View) (all []Binding, left map[string][]LeftOff) {
	left = map[string][]LeftOff{}
	if s.Journal != nil {
		off, _ := s.Journal.LeftOff() // what can be read of it
		for _, l := range off {
			left[l.Node] = append(left[l.Node], l)
		}
	}
	if r.Action == ActionOn {
		for _, name := range r.Nodes {
			for _, l := range left[name] {
				if l.Binding.On != nil {
					all = append(all, l.Binding)
				}
			}
		}
	}
	bound := func(name string) bool {
		return slices.ContainsFunc(all, func(b Binding) bool { return b.Node.Name == name })
	}
	need := slices.DeleteFunc(slices.Clone(r.Nodes), bound)
	if len(need) == 0 {
		return all, left // the journal knows them all: nothing to look up
	}
	refs := slices.DeleteFunc(view.refs(), func(n NodeRef) bool { return bound(n.Name) })
	for _, name := range need {
		if !slices.ContainsFunc(refs, func(n NodeRef) bool { return n.Name == name }) {
			refs = append(refs, NodeRef{Name: name})
		}
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	return append(all, s.Fleet.resolveAll(ctx, refs, need)...), left
}

// tryOut asks the drivers whether the targets would obey, and whether what
// powers them on again answers.
func (s *Switcher) tryOut(ctx context.Context, a Action, targets []Binding, bound map[string]Bound) (problems []Finding) {
	var unproven map[string]error
	if a != ActionOn {
		ctx, cancel := context.WithTimeout(ctx, lookTimeout)
		defer cancel()
		unproven = s.Fleet.Prove(ctx, targets)
		for node, err := range s.Fleet.Preflight(ctx, a, targets) {
			problems = append(problems, Finding{Rule: RulePreflight, Severity: Warn, Node: node, Text: fmt.Sprintf("%s: %s.", node, strings.TrimSuffix(Clean(err.Error()), "."))})
		}
		slices.SortFunc(problems, func(a, b Finding) int { return strings.Compare(a.Node, b.Node) })
	}
	for _, b := range targets {
		now := bound[b.Node.Name]
		now.OnProven = unproven[b.Node.Name] == nil && b.On != nil
		if _, err := s.Fleet.Can(b, a); err != nil {
			now.Why = err.Error()
		} else {
			now.Can = true
		}
		bound[b.Node.Name] = now
	}
	return problems
}

// judged says of every node whether it is a worker that is left. The API server
// calls a node Ready for most of a minute after its machine was switched off, so
// what is being switched, what a journal or a mark has as off, and what its own
// driver calls off does not count.
func (s *Switcher) judged(ctx context.Context, view View, left map[string][]LeftOff, p Plan, q *Question) []Node {
	var out []Node
	var candidates []int
	for _, n := range s.withRegister(view.Nodes, false) {
		c, l := n, left[n.Name]
		for _, m := range n.Marks {
			if m.over(n) {
				q.over = append(q.over, m)
			} else if !s.Ours(m) && c.MarkedBy == "" {
				c.MarkedBy = m.String()
			}
		}
		switch {
		case c.NotLeft != "":
		case p.Busy[c.Name] == ActionOff || p.Busy[c.Name] == ActionShutdown:
			c.NotLeft = "is being switched off"
		case len(l) > 0:
			c.NotLeft = "was switched off and not seen on again"
		case c.MarkedBy != "":
			c.NotLeft = "was switched off by " + c.MarkedBy
		}
		out = append(out, c)
		if c.Ready && c.Schedulable && c.NotLeft == "" && c.Role == RoleWorker && !slices.Contains(p.Targets, c.Name) {
			candidates = append(candidates, len(out)-1)
		}
	}
	if p.Action == ActionOn {
		return out
	}
	// Machines are asked until enough are known to be on: all of a large cluster
	// would take long, and tell nothing more.
	const round = 16
	q.Left = len(candidates)
	for enough := s.Limits.keepReady(); enough > 0 && len(candidates) > 0; {
		now := candidates[:min(round, len(candidates))]
		candidates = candidates[len(now):]
		var bindings []Binding
		for _, i := range now {
			bindings = append(bindings, p.Bound[out[i].Name].Binding)
		}
		for k, r := range s.Fleet.Read(ctx, bindings) {
			if r.State == Off || r.State == Transitioning {
				out[now[k]].NotLeft = fmt.Sprintf("has a machine that is %s", r.State)
				q.Left--
				continue
			}
			enough--
		}
	}
	return out
}

// worse says what is worse in a question than it was when it was answered: a
// rule that weighs more or has more to say, another machine, another boot, fewer
// workers left.
func worse(asked, now Question) (changed []string) {
	for _, f := range now.Findings {
		was := slices.ContainsFunc(asked.Findings, func(o Finding) bool {
			return o.Rule == f.Rule && o.Node == f.Node && o.Severity >= f.Severity
		})
		if !was && f.Severity >= Override {
			changed = append(changed, f.Text)
		}
	}
	for _, b := range now.Bindings {
		same := slices.IndexFunc(asked.Bindings, func(o Binding) bool {
			return o.Node.Name == b.Node.Name && sameOrNone(o.Off, b.Off) && sameOrNone(o.On, b.On)
		})
		switch {
		case same < 0:
			changed = append(changed, fmt.Sprintf("%s has another machine than before", b.Node.Name))
		case now.Action != ActionOn && otherBoot(asked.Bindings[same].Node.BootID, b.Node.BootID):
			// What is noted and written down names the boot that is ended: by an
			// earlier one, whoever sees the node takes it for over.
			changed = append(changed, fmt.Sprintf("%s has booted again", b.Node.Name))
		}
	}
	if now.Left < asked.Left && !slices.ContainsFunc(now.Findings, func(f Finding) bool { return f.Rule == RuleLastWorker }) {
		changed = append(changed, fmt.Sprintf("%s would be left, and not %d", text.Count(now.Left, "worker that takes pods", "workers that take pods"), asked.Left))
	}
	if now.Type != asked.Type && now.Type != "" && len(now.Nodes) == len(asked.Nodes) && len(changed) == 0 {
		changed = append(changed, fmt.Sprintf("%q has to be typed now", now.Type))
	}
	return changed
}

func sameOrNone(a, b *Machine) bool { return a == nil && b == nil || sameMachine(a, b) }

// lock keeps other programs on this host from judging by the same workers until
// every intent is in the journal. Nobody has to judge for powering on.
func (s *Switcher) lock(ctx context.Context, r Request) (unlock func(), err error) {
	if r.Action == ActionOn || s.DryRun || s.Fleet.cfg.Locks == nil {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, judgeTimeout)
	defer cancel()
	if unlock, err = s.Fleet.cfg.Locks.take(ctx, clusterLock(s.Fleet.cluster())); err != nil {
		return nil, fmt.Errorf("nothing was switched: %w", err)
	}
	return sync.OnceFunc(unlock), nil
}

// act does what was agreed to: journal, request, and looks until it is seen.
// The cluster is unlocked as soon as every intent is in the journal, for that
// is what others judge by from then on.
func (s *Switcher) act(ctx context.Context, q Question, unlock func()) error {
	defer unlock()
	if q.Acting != nil {
		q.Acting(q)
	}
	if s.DryRun {
		return nil
	}
	wasOff := map[string]time.Time{}
	err := s.Fleet.do(ctx, q.Action, q.Bindings, func(p Progress) {
		if p.Phase == PhaseDone && p.Action == ActionOn {
			wasOff[p.Node] = p.WasOff
		}
		if q.Report != nil {
			q.Report(p)
		}
	}, unlock)
	s.returned(q.Nodes, wasOff) // also what was off already, and not by us
	return err
}

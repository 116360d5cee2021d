package power

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"lightsout/internal/text"
)

// Switcher is the one procedure that switches machines, whoever requests it: a key
// on the screen, a step of a plan, the end of a drain or of the session, the command
// line, a restore.
//
//	resolve all nodes → guard → ask → drain, if that was the answer →
//	lock the cluster → annotate the nodes → poll and guard again (worse: ask again)
//	→ lock the machine → journal → wait for its turn → poll and guard a third time,
//	unless the second was less than a second ago → act → verify by polling → settle
//
// The second judgement counts: between question and answer an hour may have passed. It
// begins with a question to the API server, so that no old state passes for a new one.
// It happens under the cluster's lock, so that no other program on this host
// judges by the same workers, and after the note, so that of two operators on
// two hosts at least one sees the other. The third covers the time in which a
// machine waits for its turn: see BeforeSend. Powering on takes the same way, but
// each machine by itself: the Switcher waits for a busy one, leaves a refused one out, and
// neither delays the others. It needs no state of the cluster,
// no journal and no lock.
//
// It is safe for concurrent use. It depends on neither Kubernetes nor a screen: Cluster
// and Asker stand for them.
type Switcher struct {
	Fleet   *Fleet
	Cluster ClusterReader
	// Annotations and Drain may be nil: then nodes are not annotated, and not drained.
	Annotations NoteStore
	Drain       Drainer
	// Limits tighten the guards. Production is the text that the operator has to type
	// before switching something off in a production cluster; empty for other clusters.
	Limits     Limits
	Production string
}

const (
	// stateTimeout bounds each query before a question.
	stateTimeout = 15 * time.Second
	// judgeTimeout bounds the wait for another program that is judging.
	judgeTimeout = 30 * time.Second
	// mostQuestions is how often the Switcher asks again because something changed.
	mostQuestions = 5
)

// Switch carries a request out, after ask has said yes. The error is a
// *NotDoneError when nothing was done, an *ActionError when it did not succeed
// for all nodes, or ctx's.
func (s *Switcher) Switch(ctx context.Context, r Request, ask Asker) error {
	r.Nodes = slices.Compact(slices.Sorted(slices.Values(r.Nodes)))
	r.While = cmp.Or(r.While, context.Background())
	q, err := s.Preview(ctx, r)
	if err != nil {
		return err
	}
	var leftOut error
	for range mostQuestions {
		if r.Action == ActionOn && q.Refused() {
			var refused error
			if q, refused = q.withoutRefused(); refused != nil {
				leftOut, r.Nodes = errors.Join(leftOut, refused), q.Nodes
			}
		}
		answer, err := answered(ctx, q, ask)
		if err != nil {
			return errors.Join(leftOut, err)
		}
		if answer.Drain && q.CanDrain && !s.Fleet.cfg.DryRun {
			var notDrained error
			r.Nodes, notDrained = s.Drain.Drain(ctx, r.Nodes)
			leftOut = errors.Join(leftOut, notDrained)
			if len(r.Nodes) == 0 {
				return leftOut
			}
		}
		unlock, err := s.lock(ctx, r)
		if err != nil {
			return errors.Join(leftOut, err)
		}
		undo := func() {
			unlock()
			s.clear(r, nil)
		}
		stopReport := r.slowly("nothing was sent yet: lightsout waits for the API server to annotate " + text.List(r.Nodes))
		now, _ := s.state(ctx, false)
		if len(now.Nodes) > 0 { // this host's clock may have been set since the question was prepared
			q.ahead = now.Nodes[0].Ahead
		}
		err = s.annotate(ctx, r.Nodes, q, now)
		stopReport()
		if err != nil {
			undo()
			return errors.Join(leftOut, err)
		}
		stopReport = r.slowly(judgingWaitsFor)
		again, err := s.preview(ctx, r, true)
		stopReport()
		err = cmp.Or(err, r.While.Err())
		again.Changed, again.ahead = worse(q, again), q.ahead
		if err == nil && len(again.Changed) == 0 {
			return errors.Join(leftOut, s.act(ctx, again, unlock))
		}
		undo()
		if err != nil {
			return errors.Join(leftOut, err)
		}
		q = again
	}
	return errors.Join(leftOut, fmt.Errorf("nothing was switched: the situation got worse after each of %d answers", mostQuestions))
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

// lock keeps other programs on this host from judging by the same workers until
// every intent is in the journal. Nobody has to judge for powering on.
func (s *Switcher) lock(ctx context.Context, r Request) (unlock func(), err error) {
	if r.Action == ActionOn || s.Fleet.cfg.DryRun || s.Fleet.cfg.Locks == nil {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, judgeTimeout)
	defer cancel()
	defer r.slowly("nothing was sent yet: lightsout waits for another lightsout on this host that is checking the guards of the same cluster")()
	if unlock, err = s.Fleet.cfg.Locks.take(ctx, clusterLock(s.Fleet.cluster())); err != nil {
		return nil, fmt.Errorf("nothing was switched: %w", err)
	}
	return sync.OnceFunc(unlock), nil
}

// act carries out the agreed actions: journal, request, and polls until the wanted power state
// is seen. It unlocks the cluster as soon as every intent is in the journal, because
// others judge by the journal from then on.
func (s *Switcher) act(ctx context.Context, q Question, unlock func()) error {
	defer unlock()
	if q.Acting != nil {
		q.Acting(q)
	}
	if err := q.While.Err(); err != nil || s.Fleet.cfg.DryRun {
		unlock()
		s.clear(q.Request, nil)
		return err
	}
	var j *judgement
	if q.Action != ActionOn {
		j = &judgement{mu: newMutex(), while: q.While, at: q.observedAt, again: func(ctx context.Context) (time.Time, error) { return s.judgeAgain(ctx, q) }}
	}
	wasOff := map[string]time.Time{}
	defer func() { s.clear(q.Request, wasOff) }()
	return s.Fleet.do(ctx, q.Action, q.Bindings, j, func(p Progress) {
		if p.Stage == StageDone && p.Action == ActionOn {
			wasOff[p.Node] = p.WasOff
			if !p.WasOff.IsZero() {
				wasOff[p.Node] = p.WasOff.Add(q.ahead)
			}
		}
		if q.Report != nil {
			q.Report(p)
		}
	}, unlock)
}

// clear removes the notes of a request that has ended, including those on machines that others switched
// off before. wasOff has when each machine that is on now was proven off last, by the API server's clock. It
// takes stateTimeout at most.
func (s *Switcher) clear(r Request, wasOff map[string]time.Time) {
	done := r.slowlyAs(StageClearing, "lightsout waits for the API server, or for another lightsout on this host, to remove its annotations from "+text.List(r.Nodes))
	ctx, cancel := context.WithTimeout(context.Background(), stateTimeout)
	defer cancel()
	err := s.removeNotes(ctx, r.Nodes, wasOff)
	done()
	if err == nil || errors.Is(err, ErrMayNot) || r.Report == nil {
		return
	}
	for n := range wasOff { // the annotations of others have to stay
		r.Report(Progress{Action: r.Action, Node: n, Stage: StageClearing, At: time.Now(),
			Text: "lightsout could not check its annotation: " + Clean(err.Error()) + "; if there is one, the next lightsout that sees the node removes it"})
	}
}

package session_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"lightsout/internal/session"
	"lightsout/internal/view"
	"lightsout/power"
)

// lateAnswer is a drainer whose API server uncordons at once, and answers late.
type lateAnswer struct {
	*drainer
	answer chan struct{}
}

func (d lateAnswer) Uncordon(ctx context.Context, node string) (bool, error) {
	changed, err := d.drainer.Uncordon(ctx, node)
	select {
	case <-d.answer:
	case <-ctx.Done():
	}
	return changed, err
}

// The operator leaves a node on, and drains it again while lightsout still uncordons it: lightsout
// cordons it after that, and remembers it.
func TestANodeIsCordonedAfterItsUncordon(t *testing.T) {
	t.Parallel()
	d := newDrainer()
	d.held["kube-node3"] = budget
	late := lateAnswer{d, make(chan struct{})}
	w := startWorld(t, session.Options{Drain: late}, nil)
	w.confirm("drain", "kube-node3")
	w.x.frame("it held", func(f *view.Frame) bool { return strings.Contains(f.Power["kube-node3"].Text, "keep-all") })
	w.x.Send(view.AskPower{Action: power.ActionShutdown, Nodes: []string{"kube-node3"}})
	w.x.Send(view.Answer{Question: w.x.question("drain").ID, Choice: "leave"})
	w.x.frame("it uncordoned", func(*view.Frame) bool { return slices.Contains(d.calls(), "uncordon kube-node3") })
	w.confirm("drain", "kube-node3")
	w.x.frame("its cordon", func(f *view.Frame) bool { return f.Power["kube-node3"].Text == "cordoning" })
	close(late.answer)
	w.x.frame("it cordoned again", func(*view.Frame) bool {
		log := d.calls()
		i := slices.Index(log, "uncordon kube-node3")
		return slices.Contains(log[i:], "cordon kube-node3")
	})
	close(d.free)
	w.x.frame("it off", func(f *view.Frame) bool { return f.Power["kube-node3"].LeftOff })
	if now, left := d.now(), w.x.leftCordoned(); !slices.Equal(now, []string{"kube-node3"}) || !slices.Equal(left, now) {
		t.Errorf("cordoned are %v; by the journal: %v; done: %q", now, left, d.calls())
	}
}

// slowClearing is a NoteStore whose notes can't be removed before free is closed.
type slowClearing struct{ free chan struct{} }

func (s slowClearing) Change(ctx context.Context, _ string, change func(power.Note) (power.Note, bool)) error {
	note, ok := change(power.Note{})
	if ok && note != (power.Note{}) {
		return nil
	}
	select {
	case <-s.free:
	case <-ctx.Done():
	}
	return nil
}

// A request ends while the operator drains its node again: lightsout does not uncordon the node.
func TestTheEndOfARequestUncordonsNoNodeThatIsBeingDrained(t *testing.T) {
	t.Parallel()
	d := newDrainer()
	notes := slowClearing{make(chan struct{})}
	w := startWorld(t, session.Options{Drain: d, Annotations: notes}, func(w *world) { w.refuse = true })
	w.confirm("drain", "kube-node3")
	w.x.frame("it refused", func(f *view.Frame) bool { return f.Power["kube-node3"].Stage == power.StageFailed })
	w.mu.Lock()
	w.refuse = false
	w.mu.Unlock()
	d.mu.Lock()
	d.held["kube-node3"] = budget
	d.mu.Unlock()
	w.confirm("drain", "kube-node3")
	w.x.frame("it held", func(f *view.Frame) bool { return strings.Contains(f.Power["kube-node3"].Text, "keep-all") })
	close(notes.free)
	w.x.frame("the end of the first request", func(f *view.Frame) bool { return strings.Contains(f.Notice.Text, "kube-node3") })
	if now := d.now(); !slices.Equal(now, []string{"kube-node3"}) {
		t.Errorf("cordoned are %v; done: %q", now, d.calls())
	}
}

package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestUnwellIsWhatEachNodeSays changes nodes at random and compares what is kept
// of all of them with what each of them says.
func TestUnwellIsWhatEachNodeSays(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	b := NewBuilder()
	since := now.Add(-time.Hour)
	for step := range 3000 {
		now = now.Add(time.Duration(rnd.IntN(300)) * time.Millisecond)
		n := &Node{Name: fmt.Sprintf("node-%03d", rnd.IntN(600)), Ready: TriTrue, LeaseDuration: 40 * time.Second, RenewSeen: now, Zone: fmt.Sprint(rnd.IntN(3))}
		switch rnd.IntN(20) {
		case 0:
			n.Ready = TriUnknown
		case 1:
			n.Gone = now
		case 2:
			n.Overdue = true
		case 3:
			b.DropNode(n.Name)
			continue
		}
		b.SetNode(n)
		if rnd.IntN(50) == 0 {
			since = now // the watch was taken up again
		}
		s := b.Snapshot(Contents{At: now, HeartbeatsSince: since})
		at := now
		if step%7 == 0 {
			at = now.Add(time.Duration(rnd.IntN(40)) * time.Second)
		}
		var want []*Node
		ready, total := 0, 0
		for _, n := range s.Nodes() {
			if _, silent := s.Silent(n, at); silent || n.Ready != TriTrue || !n.Gone.IsZero() {
				want = append(want, n)
			}
			if n.Gone.IsZero() {
				total++
				ready += btoi(n.Ready == TriTrue)
			}
		}
		if got := s.Unwell(at); !slices.Equal(got, want) {
			t.Fatalf("step %d: %d nodes, want %d", step, len(got), len(want))
		}
		if r, all := s.NodeCount(); r != ready || all != total {
			t.Fatalf("step %d: %d of %d, want %d of %d", step, r, all, ready, total)
		}
	}
}

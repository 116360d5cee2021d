package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pastEvent is an Event of a node that happened so long ago.
func pastEvent(name, reason string, ago time.Duration) *corev1.Event {
	return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Reason: reason,
		InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: name}, LastTimestamp: metav1.NewTime(time.Now().Add(-ago))}
}

// Who opens lightsout in the middle of an outage sees how it began.
func TestTheEventsOfThePastHourAreToldOnceWithTheirTimes(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	for _, e := range []*corev1.Event{
		pastEvent("b", "NodeNotReady", 20*time.Second), pastEvent("a", "NodeReady", 10*time.Second),
		pastEvent("c", "Rebooted", 2*time.Hour), pastEvent("d", "Pulled", time.Second),
	} {
		f.put("events", e)
	}
	w := watchFake(t, f)
	w.untilTold("node b event:  → NodeNotReady")
	if at := w.untilTold("node a event:  → NodeReady"); time.Since(at.SourceTime) < 9*time.Second {
		t.Errorf("happened at %s", at.SourceTime)
	}
	f.change(func() { f.oldest = f.version + 1; f.drops++ }) // the history is gone: all is listed again
	f.put("events", pastEvent("e", "NodeNotReady", 0))
	w.until("another list", func(*Snapshot) bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.lists["events"] >= 3 // two pages of the past, and one without
	})
	f.put("events", pastEvent("f", "NodeNotReady", 0))
	w.untilTold("node f event:  → NodeNotReady")
	var told []string
	for _, one := range w.told() {
		if strings.Contains(one, " event: ") && !strings.Contains(one, "node e ") {
			told = append(told, one)
		}
	}
	if want := "[node b event:  → NodeNotReady node a event:  → NodeReady node f event:  → NodeNotReady]"; fmt.Sprint(told) != want {
		t.Errorf("told %v, wanted %s", told, want)
	}
}

func TestOnlyTheNewestOfThePastAreKept(t *testing.T) {
	t0 := time.Unix(1000, 0)
	p := &past{from: t0, most: 3}
	for _, s := range []int{5, 90, -1, 30, 20, 80, 70, 10, 60, 40} {
		p.add(&clusterEvent{at: t0.Add(time.Duration(s) * time.Second)})
	}
	p.sort()
	var kept []int
	for _, e := range p.newest {
		kept = append(kept, int(e.at.Sub(t0).Seconds()))
	}
	if !slices.Equal(kept, []int{70, 80, 90}) {
		t.Errorf("kept %v", kept)
	}
}

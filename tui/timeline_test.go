package tui

import (
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
)

// timelineOf is a session with these events, and its screen.
func timelineOf(events ...view.Event) *view.Frame {
	f := outage()
	f.Events = numbered(events...)
	return f
}

// rowWith is the first line of the screen with a text.
func rowWith(m *Model, text string) string {
	for _, l := range strings.Split(plainView(m), "\n") {
		if strings.Contains(l, text) {
			return l
		}
	}
	return ""
}

func TestNoTenthIsShownThatIsNotKnown(t *testing.T) {
	seen := t0.Add(25700 * time.Millisecond)
	m, _, _ := testModel(timelineOf(
		view.Event{At: t0.Add(25 * time.Second), Seen: seen, Lane: view.LanePod, Change: cluster.ChangeReady, Subject: "web-1", From: "NotReady", To: "Ready"},
		view.Event{At: seen, Seen: seen, Lane: view.LanePower, Subject: "kube-node3", Text: "machine on"},
	), 120, 36, Options{})
	if got := rowWith(m, "web-1"); !strings.Contains(got, "T+00:25   ") {
		t.Errorf("whole seconds: %q", got)
	}
	if got := rowWith(m, "machine on"); !strings.Contains(got, "T+00:25.7 ") {
		t.Errorf("tenths: %q", got)
	}
	typeKeys(m, "C")
	if got := rowWith(m, "machine on"); !strings.Contains(got, "10:20:55Z ") {
		t.Errorf("UTC: %q", got)
	}
	typeKeys(m, "C")
	if got := rowWith(m, "machine on"); !strings.Contains(got, "T+00:25.7 ") {
		t.Errorf("counted again: %q", got)
	}
}

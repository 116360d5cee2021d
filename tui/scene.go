package tui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
)

// freshFor is how long a change stands out.
const freshFor = 4 * time.Second

// scene holds everything that the panes draw: the newest frame, its time, and the
// operator's choices. Frame and Snapshot are never nil.
type scene struct {
	t    *theme
	f    *view.Frame
	snap *cluster.Snapshot
	now  time.Time
	// start is when the first frame came: what changed before it is not news.
	start time.Time
	// caption is for spectators of keys that a program presses; empty: there is none.
	caption string
	marks   map[string]bool // the marked nodes
	// scope is the choice of the Pods pane, and chosen counts how often it was made; node and deployment are under the cursors
	// of those lists; deployment is empty while that list is.
	scope      scope
	chosen     int
	node       string
	deployment cluster.Key
	only       namespaces // filter for deployments and pods
	sizes      sizes
	span       int  // index of chartSpans
	utc        bool // times are UTC as logs have them, "10:21:53Z"; otherwise counted from the zero
	h          int  // of the screen
}

// showPods chooses the pods to show after the marks or a cursor changed.
func (s *scene) showPods(sc scope) {
	s.scope = sc
	s.chosen++
}

// dropMarks forgets the marks of nodes that are no longer there.
func (s *scene) dropMarks() {
	maps.DeleteFunc(s.marks, func(name string, _ bool) bool { n := s.snap.Node(name); return n == nil || !n.Gone.IsZero() })
}

// facts joins the texts at the right of a title, without empty ones.
func (s *scene) facts(all ...string) string {
	all = slices.DeleteFunc(all, func(fact string) bool { return fact == "" })
	return strings.Join(all, " "+s.t.bullet+" ")
}

// after puts words around a text; empty for an empty text.
func after(before, text, behind string) string {
	if text == "" {
		return ""
	}
	return before + text + behind
}

// some formats a number of things; empty for none.
func some(n int, what string) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("%d %s", n, what)
}

// readyOf formats how many of all are ready; empty if there are none.
func readyOf(ready, all int) string {
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d ready", ready, all)
}

var (
	emptySnapshot = cluster.NewSnapshot(cluster.Contents{})
	emptyFrame    = &view.Frame{Snapshot: emptySnapshot}
)

// fresh reports whether something changed so lately that it stands out.
func (s *scene) fresh(changed time.Time) bool {
	return changed.After(s.start) && s.now.Sub(changed) < freshFor && !changed.After(s.now.Add(time.Minute))
}

// just gives the look of a word that changed then: another while that is news.
func (s *scene) just(st style, changed time.Time) style {
	if s.fresh(changed) {
		return cmp.Or(s.t.news[st], s.t.news[""])
	}
	return st
}

// missing returns the reason, in a few words, why the screen cannot show a kind; empty
// if it can.
func (s *scene) missing(k cluster.Kind) string {
	a, tried := s.snap.Access[k]
	switch {
	case a.Forbidden:
		return fmt.Sprintf("forbidden: this account may not list %ss", k)
	case a.Synced:
		return ""
	case s.snap.Link.State == cluster.LinkConnecting:
		return "connecting to " + s.t.text(cmp.Or(s.snap.Server, s.f.Cluster, "the cluster")) + " " + s.t.ellipsis
	case s.snap.Link.State == cluster.LinkDisconnected:
		return "lightsout has not seen any yet" + after(": ", s.t.text(s.snap.Link.Err), "")
	case a.Err != "":
		return fmt.Sprintf("%ss: %s", k, s.t.text(a.Err))
	case tried:
		return a.Reading(k) + " " + s.t.ellipsis
	}
	return ""
}

// message centres a sentence in an otherwise empty pane.
func (s *scene) message(st style, text string, w, h int) []string {
	lines := wrap(text, max(1, w-4))
	out := fill(nil, w, (h-len(lines))/2)
	for _, l := range lines {
		out = append(out, newRow(w).space((w-width(l))/2).put(st, l).String())
	}
	return fill(out, w, h)
}

// switchClock shows all times by the other clock.
func switchClock(m *Model) {
	m.s.utc = !m.s.utc
	m.say(map[bool]string{true: "times are UTC; C: counted from zero", false: "times are counted from zero; C: UTC"}[m.s.utc])
}

// offset writes a time by the chosen clock: "T+01:23.4", "T-00:05.0"; before there is a zero the
// local time of day.
func (s *scene) offset(at time.Time) string {
	if s.utc && !at.IsZero() {
		return at.UTC().Format("15:04:05Z")
	}
	return offset(at, s.f.Zero)
}

// when writes a moment by the chosen clock.
func (s *scene) when(w cluster.When) string {
	if s.utc {
		return s.offset(w.After)
	}
	return offsetOf(w, s.f.Zero)
}

// offsetOf is offset without the tenth of a second if that is unknown.
func offsetOf(w cluster.When, zero time.Time) string {
	if zero.IsZero() || w.Exact() {
		return offset(w.After, zero)
	}
	return signed(w.By.Add(-1).Sub(zero), false) + "  "
}

func offset(at, zero time.Time) string {
	if at.IsZero() {
		return ""
	}
	if zero.IsZero() {
		return at.Format("15:04:05")
	}
	return signed(at.Sub(zero), true)
}

// coarseAge writes an age in one unit, for ten minutes with seconds: what merely grows
// older must not keep a terminal busy for long.
func coarseAge(d time.Duration) string {
	switch {
	case d < 10*time.Minute:
		return age(d)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

package record

import (
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
)

// Moment says what in an event a viewer of a recording wants to find, and whom
// it befell (empty: nobody by name); ok is false for most events. The words are
// those of power.State and of cluster.Transition.
func Moment(e *view.Event) (what, subject string, ok bool) {
	node := e.Lane == view.LaneNode && e.Kind == string(cluster.KindNode)
	switch {
	case e.Lane == view.LanePower && (e.To == "on" || e.To == "off") && e.From != e.To:
		return "machine " + e.To, e.Subject, true
	case node && cluster.IsNotReady(e.To) && !cluster.IsNotReady(e.From):
		return "NotReady", e.Subject, true
	case node && e.To == cluster.WordReady && e.From != "":
		return "Ready", e.Subject, true
	case e.Lane == view.LaneLink && e.Level == view.Bad:
		return "API server lost", "", true
	case e.Lane == view.LanePod && e.To == cluster.WordTerminating && strings.HasPrefix(e.Why, "node "): // something is wrong with it
		return "pods evicted", "", true
	case e.Lane == view.LanePod && e.To == cluster.WordTerminating:
		return "pods are deleted", "", true
	case e.Lane == view.LaneLoad && strings.HasSuffix(e.Text, " started"):
		return strings.TrimSuffix(e.Text, " started"), "", true
	case e.Lane == view.LaneOperator && e.Subject == "mark":
		return e.Text, "", true
	}
	return "", "", false
}

// togetherWithin is how close moments of one sort come that are told once.
const togetherWithin = 3 * time.Second

// Moments finds what is new in each frame and worth a marker in a cast. It
// belongs to one goroutine.
type Moments struct {
	begun bool
	seq   int                  // the newest event looked at
	told  map[string]time.Time // when each sort that names nobody was last told
	trial []string             // what the trial has come to
}

// In gives the markers for what is new in f since the frame before, in order.
// What was there in the first frame is no news.
func (m *Moments) In(f *view.Frame) []string {
	var out []string
	subjects := map[string][]string{}
	for i := range f.Events {
		e := &f.Events[i]
		if e.Seq <= m.seq {
			continue
		}
		m.seq = e.Seq
		what, subject, ok := Moment(e)
		if !m.begun || !ok || subject == "" && e.Seen.Sub(m.told[what]) < togetherWithin {
			continue
		}
		if subject == "" {
			if m.told == nil {
				m.told = map[string]time.Time{}
			}
			m.told[what] = e.Seen
		}
		if !slices.Contains(out, what) {
			out = append(out, what)
		}
		subjects[what] = append(subjects[what], subject)
	}
	for i, what := range out {
		out[i] = strings.TrimSpace(strings.Join(subjects[what], ", ") + " " + what)
	}
	trial := trialMoments(f.Trial)
	for _, what := range trial {
		if m.begun && !slices.Contains(m.trial, what) {
			out = append(out, what)
		}
	}
	m.begun, m.trial = true, trial
	return out
}

// trialMoments says whether the service has all its capacity again, and the verdict.
func trialMoments(t *view.TrialView) (out []string) {
	if t == nil {
		return nil
	}
	if slices.ContainsFunc(t.Phases, func(p view.Phase) bool { return p.Name == view.PhaseRestored && p.Observed != nil }) {
		out = append(out, view.PhaseRestored)
	}
	if t.Verdict != "" {
		out = append(out, "verdict: "+string(t.Verdict))
	}
	return out
}

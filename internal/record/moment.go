package record

import (
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/power"
)

// Moment describes an event that a viewer of a recording wants to find, and names its
// object; subject is empty if there is no name. ok is false for most events.
func Moment(e *view.Event) (what, subject string, ok bool) {
	switch e.Code {
	case view.CodeMachineState:
		if (e.To == power.On.String() || e.To == power.Off.String()) && e.From != e.To {
			return "machine " + e.To, e.Subject, true
		}
	case view.CodeNodeStatus:
		if e.Is == cluster.HealthBad && e.Was != cluster.HealthBad {
			return cluster.WordNotReady, e.Subject, true
		}
		if e.Is == cluster.HealthGood && e.Was == cluster.HealthBad {
			return cluster.WordReady, e.Subject, true
		}
	case view.CodeAPILost:
		return "API server silent", "", true
	case view.CodePodStatus:
		switch {
		case e.Is != cluster.HealthChanging || e.Was == cluster.HealthChanging: // it was being deleted already
		case e.Cause.Evicts():
			return "pods evicted", "", true
		default:
			return "pods are deleted", "", true
		}
	case view.CodeLoadStarted:
		return e.Name, "", true
	case view.CodeRemark:
		return e.Reported, "", true
	}
	return "", "", false
}

// togetherWithin is the interval within which moments of one kind count as one.
const togetherWithin = 3 * time.Second

// Moments finds the changes in each frame that deserve a marker in a cast. One
// goroutine may use it.
type Moments struct {
	begun bool
	seq   int                  // the newest event seen
	told  map[string]time.Time // last report of each kind without a name
	trial []string             // results of the trial so far
}

// In returns the markers for the changes between the frame before and f, in order. The
// first frame has no changes.
func (m *Moments) In(f *view.Frame) (out []string) {
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

// trialMoments reports that the service has its whole capacity again, and the verdict.
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

package session

import (
	"fmt"
	"lightsout/cluster"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"time"
)

// radiusLines puts a blast radius into words.
func radiusLines(r cluster.Radius) []view.Line {
	lines := []view.Line{{Text: fmt.Sprintf("%s, %d Ready %s left", text.Count(r.Pods, "pod", "pods"), r.ReadyWorkersLeft, text.Noun(r.ReadyWorkersLeft, "worker", "workers"))}}
	const most = 8
	for i, d := range r.Deployments {
		if i == most {
			lines = append(lines, view.Line{Text: fmt.Sprintf("and %d more deployments", len(r.Deployments)-most)})
			break
		}
		l := view.Line{Text: fmt.Sprintf("%s: %d → %d available", d.Key, d.AvailableBefore, d.AvailableAfter)}
		if d.CapacityBefore > 0 {
			l.Text += fmt.Sprintf(", capacity %d → %d", d.CapacityBefore, d.CapacityAfter)
		}
		if d.BelowMinimum {
			l.Level, l.Text = view.Warning, l.Text+fmt.Sprintf(", below its minimum of %d", d.Minimum)
		}
		lines = append(lines, l)
	}
	return lines
}

// followLines says what the control plane will do after the nodes have fallen
// silent, by the settings in force.
func followLines(s *cluster.Snapshot, r cluster.Radius) []view.Line {
	grace, period := s.Settings.GracePeriod, s.Settings.MonitorPeriod.Value
	lines := []view.Line{{Text: fmt.Sprintf("NotReady %s–%s after the last heartbeat (grace period %s, %s)",
		text.Span(grace.Value), text.Span(grace.Value+2*period), text.Span(grace.Value), source(grace.Source))}}
	if text := toleranceText(s, r.Nodes); text != "" && r.ZoneRule == "" {
		lines = append(lines, view.Line{Text: text})
	}
	if r.Room != "" {
		l := view.Line{Text: r.Room}
		if r.WillNotFit > 0 {
			l.Level = view.Warning
		}
		lines = append(lines, l)
	}
	return lines
}

func source(s string) string {
	if s == cluster.Assumed || s == "" {
		return cluster.Assumed
	}
	return "from " + s
}

// toleranceText says when the pods on the nodes are evicted, by their own
// tolerations of an unreachable node.
func toleranceText(s *cluster.Snapshot, nodes []string) string {
	var least, most time.Duration
	n := 0
	for _, node := range nodes {
		for _, p := range s.PodsOn(node) {
			d := p.UnreachableFor
			if d < 0 || !p.Gone.IsZero() || p.Static {
				continue // tolerated for ever
			}
			if n == 0 || d < least {
				least = d
			}
			most = max(most, d)
			n++
		}
	}
	switch {
	case n == 0:
		return ""
	case least == most:
		return fmt.Sprintf("evicted %s after that (their own tolerations)", text.Span(most))
	}
	return fmt.Sprintf("evicted %s to %s after that (their own tolerations)", text.Span(least), text.Span(most))
}

// outlook is what is said of the future when nodes are switched off.
func outlook(s *cluster.Snapshot, nodes []string) []string {
	r := cluster.Blast(s, nodes)
	var out []string
	for _, l := range append(radiusLines(r), followLines(s, r)...) {
		out = append(out, l.Text)
	}
	for _, text := range cluster.WontHappen(s, r) {
		out = append(out, "not to be expected: "+text)
	}
	return out
}

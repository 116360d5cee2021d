package session

import (
	"lightsout/cluster/forecast"
	"lightsout/internal/view"
)

// forecastLines is the forecast in a question: the pods that stop when the nodes go off,
// the next actions of the control plane, and the uncertainties. left is the number of
// workers left by the guard's count, and more reports whether further ones may be left.
// The guard learns of machines that are off before the API server does, and counts only
// nodes whose heartbeat lightsout has received.
func forecastLines(f *forecast.Forecast, left int, more bool) (out []view.Line) {
	h := f.Hits()
	h.ReadyWorkersLeft, h.MoreWorkers = left, more
	for _, part := range []struct {
		title string
		lines []forecast.Line
	}{{"What stops now:", h.Lines()}, {"What Kubernetes does next:", f.FollowLines(h)}, {"What Kubernetes does not do for you:", f.WontLines(h)}} {
		if len(part.lines) > 0 {
			out = append(append(out, view.Line{Heading: true, Text: part.title}), viewLines(part.lines)...)
		}
	}
	return out
}

func viewLines(lines []forecast.Line) (out []view.Line) {
	for _, l := range lines {
		v := view.Line{Text: l.Text}
		if l.Warn {
			v.Level = view.Warning
		}
		out = append(out, v)
	}
	return out
}

// outlook is the forecast for switching off the nodes.
func outlook(f *forecast.Forecast) (out []string) {
	h := f.Hits()
	for _, l := range append(h.Lines(), f.FollowLines(h)...) {
		out = append(out, l.Text)
	}
	for _, l := range f.WontLines(h) {
		out = append(out, l.Text)
	}
	return out
}

package session

import (
	"lightsout/cluster/forecast"
	"lightsout/internal/view"
)

// forecastLines is what a question says of the future: what stops when the nodes
// are switched off, what follows, and what is not to be counted on.
func forecastLines(f *forecast.Forecast) (out []view.Line) {
	h := f.Hits()
	for _, part := range []struct {
		title string
		lines []forecast.Line
	}{{"What stops now:", h.Lines()}, {"What Kubernetes does next:", f.FollowLines(h)}, {"What will not protect you:", f.WontLines(h)}} {
		if len(part.lines) > 0 {
			out = append(append(out, view.Line{Text: part.title}), viewLines(part.lines)...)
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

// outlook is what is said of the future when nodes are switched off.
func outlook(f *forecast.Forecast) (out []string) {
	h := f.Hits()
	for _, l := range append(h.Lines(), f.FollowLines(h)...) {
		out = append(out, l.Text)
	}
	for _, l := range f.WontLines(h) {
		out = append(out, "not to be expected: "+l.Text)
	}
	return out
}

package tui

import (
	"slices"
	"strings"
	"time"

	"lightsout/internal/text"
	"lightsout/internal/view"
)

// whole shows the whole trial: its progress, its steps, the expected and observed
// values, and the forecast and observed times.
func (p *trialPane) whole(s *scene, w int) []string {
	t, v := s.t, s.f.Trial
	var out []string
	if v.Verdict == "" {
		out = append(out, doing(newRow(w).space(1), s).String())
	} else {
		sign, st := verdictStyle(t, string(v.Verdict))
		out = append(out, newRow(w).space(1).put(st, sign+" "+strings.ToUpper(t.text(string(v.Verdict)))).String())
	}
	for _, why := range v.Why {
		out = append(out, paragraph(t, w, "", why)...)
	}
	if v.Report != "" {
		out = append(out, textLine(t, w, 3, t.dim, "The report (enter reads it here, Y copies its path):"),
			newRow(w).space(3).put("", middle(t.text(v.Report), w-4, t.ellipsis)).String())
	}
	if v.Verdict == view.NotObserved {
		out = append(out, paragraph(t, w, t.dim, view.NoVerdict(v.Why, v.Expectations))...)
	}
	return below(w, out, expectations(s, w), steps(s, w), phases(s, w))
}

// paragraph is a wrapped text, indented.
func paragraph(t *theme, w int, st style, s string) []string {
	return text.Each(wrap(t.text(s), w-6), func(l string) string { return textLine(t, w, 3, st, l) })
}

// steps lists the steps with their states.
func steps(s *scene, w int) []string {
	t, v := s.t, s.f.Trial
	if len(v.Steps) == 0 {
		return []string{textLine(t, w, 1, t.dim, "no plan: the trial records what the operator does")}
	}
	out := []string{textLine(t, w, 1, t.strong, "Steps")}
	return append(out, stepLines(s, w, 0, len(v.Steps))...)
}

// stepLines gives the steps from one to before another, one a line.
func stepLines(s *scene, w, from, to int) []string {
	t, v := s.t, s.f.Trial
	var out []string
	for i := from; i < to; i++ {
		step := v.Steps[i]
		sign, st := stepStyle(t, step.State)
		name, text, state := t.text(step.Name), t.text(step.Text), t.text(string(step.State))
		if i == v.Next && v.Driven && v.Waiting && v.Verdict == "" {
			sign, st, state = t.underWay, t.fresh, "waits"
		}
		body := style("")
		if step.State == view.StepToCome && i != v.Next {
			body = t.dim
		}
		r := newRow(w).space(1).put(st, sign).space(1).cell(t, st, state, 10)
		r.rest(t, t.strong+body, name)
		if text != "" && !strings.EqualFold(text, name) && r.left > 12 {
			r.rest(t, t.dim, "  "+text)
		}
		out = append(out, r.String())
	}
	return out
}

// expectations lists the expected and the observed values.
func expectations(s *scene, w int) []string {
	t := s.t
	all := s.f.Trial.Expectations
	if len(all) == 0 {
		return nil
	}
	name, want := width("Expected"), width("want")
	for _, e := range all {
		name, want = max(name, width(t.text(e.Name))), max(want, width(t.text(e.Want)))
	}
	name, want = min(name, w*2/5), min(want, w/4)
	out := []string{newRow(w).space(3).cell(t, t.strong, "Expected", name).space(2).cell(t, t.dim, "want", want).space(2).put(t.dim, "got").String()}
	for _, e := range all {
		sign, st := okStyle(t, e.OK, e.Unobserved)
		what, wanted := t.text(e.Name), t.text(e.Want)
		for _, got := range wrap(t.text(e.Got), max(8, w-name-want-8)) {
			r := newRow(w).space(1).cell(t, st, sign, 2).cell(t, "", what, name).space(2).cell(t, "", wanted, want).space(2)
			out = append(out, r.put(st, got).String())
			sign, what, wanted = "", "", "" // only on the first line
		}
	}
	return out
}

// phases is the table of forecast and observed times.
func phases(s *scene, w int) []string {
	t := s.t
	all := s.f.Trial.Phases
	if len(all) == 0 {
		return nil
	}
	cols := []fitting{
		{ease: 17, min: 10},                          // phase
		{ease: 12, min: 8, middle: true},             // subject
		{least: 11, right: true},                     // predicted
		{least: 11, right: true},                     // observed
		{least: 9, leastShort: 1, short: 1, drop: 2}, // inside
		{ease: 20, min: 12, drop: 3},                 // note
	}
	head := func(text string) cell { return textCell(t.dim, text) }
	rows := [][]cell{{textCell(t.strong, "Phase"), head(""), head("forecast"), head("observed"), head(""), head("")}}
	for _, p := range all {
		observed, look := observedText(s, p)
		inside := cell{}
		if p.Inside != nil {
			sign, st := okStyle(t, *p.Inside, false)
			inside = shortCell(st, sign+map[bool]string{true: " inside", false: " outside"}[*p.Inside], sign)
		}
		rows = append(rows, []cell{
			textCell("", t.text(p.Name)), textCell(t.dim, t.text(p.Subject[strings.LastIndexByte(p.Subject, '/')+1:])), textCell(t.dim, interval(t, p.Predicted)),
			textCell(look, observed), inside, textCell(t.dim, t.text(p.Note)),
		})
	}
	var need widths
	for _, cells := range rows {
		need.grow(cells)
	}
	fitted := fitColumns(w-2, cols, need)
	return text.Each(rows, func(cells []cell) string { return newRow(w).space(1).cells(t, fitted, cols, cells).String() })
}

// observedText is when a phase was seen or, while the trial runs, the time left until the
// forecast.
func observedText(s *scene, p view.Phase) (string, style) {
	t := s.t
	switch {
	case p.Observed != nil && p.From != nil:
		return interval(t, &[2]float64{*p.From, *p.Observed}), t.strong
	case p.Observed != nil:
		return seconds(*p.Observed), t.strong
	case p.Predicted == nil || s.f.Zero.IsZero() || s.f.Trial.Verdict != "" || overtaken(s.f.Trial.Phases, p):
		return t.dash, t.dim
	}
	now := s.now.Sub(s.f.Zero)
	until := func(f float64) time.Duration { return time.Duration(f*float64(time.Second)) - now }
	if lo := until(p.Predicted[0]); lo > 0 {
		return "in " + age(lo), t.accent
	}
	if hi := until(p.Predicted[1]); hi > 0 {
		return "within " + age(hi), t.accent
	}
	return "overdue " + age(-until(p.Predicted[1])), t.warn
}

// overtaken reports whether a phase of an outage can't come any more, as its node is Ready again; that of a
// deployment if all nodes are.
func overtaken(all []view.Phase, p view.Phase) (ready bool) {
	if !slices.Contains([]string{view.PhaseDetected, view.PhaseEndpointsOut, view.PhaseTainted, view.PhaseEvicted, view.PhaseReplaced}, p.Name) {
		return false
	}
	for _, x := range all {
		if x.Name == view.PhaseReady && (x.Subject == p.Subject || p.Name == view.PhaseReplaced) {
			if x.Observed == nil {
				return false
			}
			ready = true
		}
	}
	return ready
}

// interval writes a span of seconds from zero.
func interval(t *theme, v *[2]float64) string {
	switch {
	case v == nil:
		return t.dash
	case v[0] == v[1]:
		return seconds(v[0])
	}
	return strings.ReplaceAll(seconds(v[0])+t.dash+seconds(v[1]), "T+", "")
}

// seconds writes an offset from zero.
func seconds(f float64) string { return signed(time.Duration(f*float64(time.Second)), true) }

package tui

import (
	"cmp"
	"fmt"
	"strings"

	"lightsout/internal/view"
)

// Heights from which the trial has a pane of its own, and from which that pane shows
// more than the present step.
const (
	trialHeight     = 29
	trialMoreHeight = 44
)

var trialSpec = &paneSpec{
	name: "Trial", names: []string{"trial", "trials"}, place: placeLower, least: trialHeight,
	keys: []binding{
		bind(readReport, "report", "enter", "after the verdict: read the report; before: show the whole trial, or go back", "enter").onlyWhen(judgedTrial),
		bind(wholeTrial, "", "d", "the whole trial, or back", "d"),
	},
	missing: func(f *view.Frame) string {
		switch {
		case f.Trial != nil:
			return ""
		case f.Replay != nil:
			return "there is no trial at this moment of the record"
		}
		return "there is no trial: t starts one"
	},
	open: func() pane { return &trialPane{} },
}

// trialPane shows the trial: with little room the present step and those to come,
// otherwise all of it.
type trialPane struct {
	unmoving
	pager
}

// row is the path of the report, to be copied.
func (p *trialPane) row(s *scene) (object, bool) {
	if s.f.Trial == nil || s.f.Trial.Report == "" {
		return object{}, false
	}
	return object{name: s.f.Trial.Report}, true
}

func (p *trialPane) want(s *scene, _ int) want {
	if s.h >= trialMoreHeight {
		return want{least: s.h / 5, most: s.h / 5}
	}
	return want{least: 2, most: 2}
}

// wholeTrialRows is the room from which the trial is shown in full.
const wholeTrialRows = 6

// stepCount is "4 of 9", of the step under way or to come; empty when none is.
func stepCount(v *view.TrialView, of string) string {
	if v.Verdict != "" || len(v.Steps) == 0 {
		return ""
	}
	return fmt.Sprint(min(max(v.Next, 0)+1, len(v.Steps)), of, len(v.Steps))
}

// trialWord returns the trial's name and progress, for the header; empty if there is
// none.
func trialWord(t *theme, v *view.TrialView) string {
	if v == nil {
		return ""
	}
	return strings.TrimRight("trial "+t.text(v.Name)+" "+stepCount(v, "/"), " ")
}

func (p *trialPane) key(_ *scene, m motion) { p.scroll(m) }

func (p *trialPane) draw(s *scene, w, h int, _ bool) drawing {
	t, v := s.t, s.f.Trial
	if v == nil {
		return drawing{"Trial", "", "", "", s.message(t.dim, "there is no trial: t starts one", w, h)}
	}
	lines, facts := p.lines(s, w, h), strings.ToUpper(t.text(string(v.Verdict)))
	if count := stepCount(v, " of "); count != "" {
		facts = "step " + count
	}
	return drawing{strings.TrimRight("Trial "+t.text(v.Name), " "), "", facts, inSight(t, p.top, p.room, len(p.pager.lines)), lines}
}

func (p *trialPane) lines(s *scene, w, h int) []string {
	v := s.f.Trial
	if h < wholeTrialRows {
		out := []string{doing(newRow(w).space(1), s).String()}
		switch {
		case h < 2:
		case v.Verdict != "":
			out = append(out, outcome(s, w))
		default:
			from := max(0, min(v.Next+1, len(v.Steps)-(h-1)))
			out = append(out, stepLines(s, w, from, min(from+h-1, len(v.Steps)))...)
		}
		p.pager = pager{}
		return fill(out, w, h)
	}
	return fill(p.pager.draw(s, p.whole(s, w), w, h), w, h)
}

// doing describes the running or waiting step, or the end of the trial.
func doing(r *row, s *scene) *row {
	t, v := s.t, s.f.Trial
	if v.Verdict != "" {
		sign, st := verdictStyle(t, string(v.Verdict))
		r.put(st, sign+" "+strings.ToUpper(t.text(string(v.Verdict))))
		if len(v.Why) > 0 {
			r.put("", fit(": "+t.text(v.Why[0]), r.left-1, t.ellipsis))
		}
		return r
	}
	text := "all steps have ended"
	var step *view.StepView // under way or to come
	if v.Next >= 0 && v.Next < len(v.Steps) {
		step = &v.Steps[v.Next]
	}
	if v.Keyboard {
		text = "the trial records what you do: t ends it"
	}
	if step != nil {
		text = cmp.Or(t.text(step.Text), text)
	}
	text = cmp.Or(t.text(v.Doing), text)
	if !v.Driven || !v.Waiting {
		if step != nil && !strings.Contains(text, t.text(step.Name)) {
			text = t.text(step.Name) + ": " + text
		}
		return r.put(t.accent, t.underWay+" ").put("", fit(text, r.left-1, t.ellipsis))
	}
	r.put(t.fresh, t.underWay+" ")
	if s.f.Replay != nil || s.caption != "" { // nobody presses it, or a program does
		return r.rest(t, t.strong, text)
	}
	const key = "[enter]"
	return r.put(t.strong, fit(text, r.left-width(key)-4, t.ellipsis)).put(t.dim, " "+t.dash+" ").put(t.active, key)
}

// outcome counts the met expectations and forecasts, and lists those that were not met.
func outcome(s *scene, w int) string {
	t, v := s.t, s.f.Trial
	inside, judged, unobserved := 0, 0, 0
	var missed []string
	for _, e := range v.Expectations {
		switch {
		case e.Unobserved:
			unobserved++
		case !e.OK:
			missed = append(missed, fmt.Sprintf("%s: want %s, got %s", t.text(e.Name), t.text(e.Want), t.text(e.Got)))
		}
	}
	for _, p := range v.Phases {
		if p.Inside != nil {
			judged, inside = judged+1, inside+btoi(*p.Inside)
		}
	}
	r := newRow(w).space(1)
	if n := len(v.Expectations); n > 0 {
		sign, st := okStyle(t, len(missed)+unobserved == 0, len(missed) == 0)
		met := fmt.Sprintf("%d of %d expectations met", n-len(missed)-unobserved, n) + after(", ", some(unobserved, "not observed"), "")
		r.put(st, sign+" ").put("", met).space(3)
	}
	if judged > 0 {
		r.put(t.dim, fmt.Sprintf("%d of %d forecasts right", inside, judged)).space(3)
	}
	if len(missed) > 0 && r.left > 20 {
		r.rest(t, t.bad, s.facts(missed...))
	}
	return r.String()
}

// okStyle returns the sign and style for what came true, was not observed, or did not come true.
func okStyle(t *theme, ok, unobserved bool) (string, style) {
	switch {
	case ok:
		return levelStyle(t, view.Good)
	case unobserved:
		return levelStyle(t, view.Warning)
	}
	return levelStyle(t, view.Bad)
}

// verdictStyle returns the sign and style of a verdict, or of an outage's severity.
func verdictStyle(t *theme, verdict string) (string, style) {
	switch verdict {
	case string(view.Pass), "no request failed":
		return levelStyle(t, view.Good)
	case string(view.Fail), "down":
		return levelStyle(t, view.Bad)
	case string(view.NoExpectations), "unknown":
		return levelStyle(t, view.Info)
	}
	return levelStyle(t, view.Warning)
}

// stepStyle returns the sign and style of a step's state.
func stepStyle(t *theme, state view.StepState) (string, style) {
	switch state {
	case view.StepUnderWay:
		return t.underWay, t.fresh
	case view.StepDone:
		return t.okSign, t.good
	case view.StepFailed:
		return t.badSign, t.bad
	case view.StepSkipped:
		return t.dash, t.dim
	case view.StepCut:
		return t.warnSign, t.warn
	}
	return t.toCome, t.dim
}

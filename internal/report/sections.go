package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/internal/view"
)

func expectationsOf(s *record.Summary) section {
	t := section{ID: "expectations", Title: "Expectations", Nothing: cell{Text: "The plan had no expectations."}}.columns("expectation", "wanted", "got", "met")
	for _, e := range s.Expectations {
		word := cell{"NO", bad}
		switch {
		case e.OK:
			word = cell{"yes", good}
		case e.Unobserved:
			word = cell{"not observed", warning}
		}
		t.row(e.Name, e.Want, e.Got, word)
	}
	return t
}

// phasesOf compares the forecasts with the observations: of a node that went down several times,
// the last ones.
func phasesOf(r *record.Record, nodes []NodeFacts) section {
	t := section{ID: "phases", Title: "Forecast and observed", Nothing: cell{Text: "No phase was forecast or observed."}}.columns("phase", "subject", "#first forecast", "#forecast", "#observed", "inside", "note")
	t.say(plain, "From zero, "+zeroOf(r)+". The forecast is the last one before the event.")
	for _, p := range inOrder(phasesIn(r, nodes)) {
		note := p.Note
		if p.Name == view.PhaseErrors && p.Observed == nil && note == "" {
			note = clientsOf(r, wholeRecord(r), 0).text("")
		}
		t.row(p.Name, p.Subject, between(p.First), between(p.Predicted), observed(p), inside(p), note)
	}
	return t
}

// inOrder sorts phases as the report lists them. The sort is stable, and phases with
// unknown names keep their place.
func inOrder(phases []view.Phase) []view.Phase {
	return slices.SortedStableFunc(slices.Values(phases), func(a, b view.Phase) int { return phaseRank(a.Name) - phaseRank(b.Name) })
}

// phaseRank is the index of a phase among all; unknown ones are last.
func phaseRank(name string) int {
	if i := slices.Index(view.PhaseNames, name); i >= 0 {
		return i
	}
	return len(view.PhaseNames)
}

func skewOf(s *record.Summary) section {
	t := section{ID: "skew", Title: "Pods of " + cmp.Or(clean(s.Deployment), "the deployment") + " over the nodes", Nothing: cell{Text: "Unknown."}}.columns("node", "#at the start", "#at the end")
	nodes := map[string]int{}
	maps.Copy(nodes, s.Skew)
	maps.Copy(nodes, s.SkewStart)
	pods := func(m map[string]int, node string) string {
		return given(len(m), func(int) string { return itoa(m[node]) })
	}
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		t.row(node, pods(s.SkewStart, node), pods(s.Skew, node))
	}
	return t
}

func blindOf(s *record.Summary) section {
	t := section{ID: "blind", Title: "Blind spans", Nothing: cell{Text: "None: lightsout ran and the API server answered all the time."}}
	for _, b := range s.Blind {
		text := fmt.Sprintf("For %s (%s – %s): %s", seconds(max(apart(b.From, b.To), 0)), offset(b.From), offset(b.To), b.Why)
		t.Items = append(t.Items, cell{clean(text + map[bool]string{true: ", and sent no requests"}[b.StoodStill] + "."), warning})
	}
	t.say(warning, "From the last change that reached lightsout to the next complete view, which is longer than the API server was silent. The times of events in them come only from their sources.")
	return t
}

func forecastOf(s *record.Summary) section {
	t := section{ID: "forecast", Title: "Forecast at zero: what would happen, and what would not", Lead: []cell{{Text: "As it was forecast then: what came, also where it differs, is in the tables of workloads and of phases."}}, Nothing: cell{Text: "Nothing was forecast."}}
	for _, x := range cmp.Or(s.Unplanned, &record.Unplanned{}).Signs {
		if x.Kind.OfNode() {
			t.Title = "Forecast as of " + offset(x.Noticed.Sub(s.Zero).Seconds()) + ": what would still happen, and what would not"
		}
	}
	t.Items = text.Each(s.Forecast, plainCell)
	return t
}

func stepsOf(r *record.Record) section {
	t := section{ID: "steps", Title: "Steps", Nothing: cell{Text: "None."}}.columns("step", "state", "#from", "#to", "how it ended")
	for _, st := range r.Summary.Steps {
		state := cell{Text: string(st.State)}
		switch st.State {
		case view.StepFailed:
			state = cell{"FAILED", bad}
		case view.StepCut, view.StepSkipped:
			state.Tone = warning
		}
		t.row(st.Name, state, instant(r, st.Started), instant(r, st.Ended), orNone(st.Text))
	}
	return t
}

func settingsOf(s *record.Summary) section {
	t := section{ID: "settings", Title: "Settings in force", Nothing: cell{"None are known.", warning}}.columns("setting", "#value", "source")
	assumed := 0
	for _, x := range s.Settings {
		source := cell{Text: x.Source}
		if x.Source == cluster.Assumed {
			source = cell{"ASSUMED", warning}
			if assumed++; x.Why != "" {
				source.Text += ": " + x.Why
			}
		}
		t.row(x.Name, x.Value, source)
	}
	if assumed > 0 {
		t.say(warning, fmt.Sprintf("%d of %d are assumed: the cluster did not report them, so forecasts that depend on them may be wrong.", assumed, len(s.Settings)))
	}
	return t
}

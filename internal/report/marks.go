package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/view"
)

// entriesMost bounds the lines of the timeline in a report.
const entriesMost = 60

// markGap is how close two marks may come, in the picture's units; events
// within it share one number.
const markGap = 17.0

// mark is a numbered moment: what happened at (nearly) the same time.
type mark struct {
	Number  int
	At      float64 // seconds from base
	Entries []entry
}

// entry is one line of the timeline: what happened to one or more subjects.
type entry struct {
	At       float64
	Lane     view.Lane
	Subjects []string
	Text     string
	Level    view.Level
	from, to string
}

// who names the subjects, or counts them if there are many.
func (e entry) who() string { return strings.Join(few(e.Subjects, "more"), ", ") }

// weights say how much the events of a lane tell the reader of a report, from 1 to
// 9. What Kubernetes' own events say is in other lanes as well.
var weights = map[view.Lane]int{
	view.LaneOperator: 9, view.LaneNode: 9, view.LaneLink: 9, view.LanePower: 4, view.LaneLoad: 8, view.LaneDeployment: 7,
	view.LaneHeartbeat: 7, view.LaneEndpoints: 7, view.LaneTaint: 3, view.LaneEvent: 2,
}

// weight is the importance of an event.
func weight(e view.Event) int {
	switch {
	case e.Lane == view.LanePower && (e.From != "" || e.To != "" || e.Level >= view.Warning):
		return 9
	case e.Lane == view.LaneDeployment && e.Level != view.Info:
		return 8
	case e.Code == view.CodePodStatus && (e.Is == cluster.HealthChanging || e.From == "") || e.Lane == view.LanePod && e.Level == view.Bad,
		e.Lane == view.LaneTaint && strings.HasSuffix(e.From+e.To, ":NoExecute"):
		return 6
	}
	return cmp.Or(weights[e.Lane], 5)
}

// marksOf chooses the events that tell most, as many as fit, and puts those that
// are close together on a of the picture under one number.
func marksOf(r *record.Record, a axis) []mark {
	for least := 5; ; least++ {
		marks := marksFrom(r, a, least)
		fit, entries := len(marks), 0
		for i, m := range marks {
			if entries += len(m.Entries); entries > entriesMost {
				fit = min(fit, i)
			}
		}
		if fit == len(marks) || least == 9 { // even the weightiest may be too many
			return marks[:fit]
		}
	}
}

func marksFrom(r *record.Record, a axis, least int) (marks []mark) {
	var chosen []view.Event
	for _, e := range r.Events {
		if weight(e) >= least {
			chosen = append(chosen, e)
		}
	}
	at := func(e view.Event) float64 { return happened(e).Sub(base(r)).Seconds() }
	slices.SortStableFunc(chosen, func(x, y view.Event) int { return cmp.Compare(at(x), at(y)) })
	subjects := view.SubjectsOf(chosen)
	for _, e := range chosen {
		t := at(e)
		if len(marks) == 0 || a.x(t)-a.x(marks[len(marks)-1].At) >= markGap {
			marks = append(marks, mark{Number: len(marks) + 1, At: t})
		}
		e.Subject = subjects.Name(e)
		marks[len(marks)-1].add(e, t)
	}
	return marks
}

// happened is when an event happened. A source's time that lies after the event
// was seen is a date that the source has set for later (a pod's
// deletionTimestamp), so it is not taken for one.
func happened(e view.Event) time.Time {
	if e.At.After(e.Seen) && !e.Seen.IsZero() {
		return e.Seen
	}
	return e.At
}

// add puts an event into the mark: it goes on with an entry of the same subject
// that ended where it begins (16 → 15, 15 → 13), joins one that tells the same of
// other subjects, or is an entry of its own. Different subjects have different names.
func (m *mark) add(e view.Event, at float64) {
	subject, text := clean(e.Subject), clean(e.Text)
	from, to := clean(e.From), clean(e.To)
	chained := (e.Change == cluster.ChangeEndpoints || e.Change == cluster.ChangeReplicas) && from != "" && to != ""
	for i := range m.Entries {
		o := &m.Entries[i]
		if o.Lane != e.Lane {
			continue
		}
		if chained && len(o.Subjects) == 1 && o.Subjects[0] == subject && o.to == from && o.from != "" {
			e.From = o.from
			o.Text = clean(e.Sentence())
			o.to, o.Level = to, max(o.Level, e.Level)
			return
		}
		if o.Text == text {
			if !slices.Contains(o.Subjects, subject) {
				o.Subjects = append(o.Subjects, subject)
			}
			o.Level = max(o.Level, e.Level)
			return
		}
	}
	n := entry{At: at, Lane: view.Lane(clean(string(e.Lane))), Subjects: []string{subject}, Text: text, Level: e.Level}
	if chained {
		n.from, n.to = from, to
	}
	m.Entries = append(m.Entries, n)
}

var tones = map[view.Level]tone{view.Good: good, view.Warning: warning, view.Bad: bad}

// timelineOf is the key to the picture's marks.
func timelineOf(r *record.Record) section {
	t := section{ID: "timeline", Title: "Timeline", Nothing: cell{Text: "No event was recorded."}}
	marks := marksOf(r, axisOf(r))
	t.say(plain, fmt.Sprintf("The events that tell most, by the time of their source where it gives one; those close together share a number. All %d are in %s.",
		len(r.Events), record.EventsFile))
	t.figures("mark", "time")
	t.columns("lane", "subject", "what")
	for _, m := range marks {
		for i, e := range m.Entries {
			number := ""
			if i == 0 {
				number = itoa(m.Number)
			}
			t.row(number, offset(e.At), string(e.Lane), e.who(), cell{e.Text, tones[e.Level]})
		}
	}
	return t
}

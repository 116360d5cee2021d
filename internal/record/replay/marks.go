package replay

import (
	"slices"
	"strings"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/view"
)

const (
	// together is how close things of one sort must come to share a mark.
	together = 3 * time.Second
	// namesMost bounds the names in a mark.
	namesMost = 3
)

// mark is a mark in the making. What happened to several subjects at about the same time is
// one.
type mark struct {
	at       time.Time
	latest   time.Time // of those that share it
	seq      int       // the newest event of those; 0: none
	what     string
	subjects []string
}

// marksOf finds the moments worth jumping to, in order.
func marksOf(r *record.Record) []view.Bookmark {
	m := marker{open: map[string]int{}}
	if !r.Zero.IsZero() {
		m.add(mark{at: r.Zero, what: "zero"})
	}
	for i := range r.Events {
		m.event(&r.Events[i])
	}
	if at := r.FirstFailure(); !at.IsZero() {
		m.add(mark{at: at, what: "first failure"})
	}
	m.verdict(r)
	out := make([]view.Bookmark, 0, len(m.marks))
	for _, k := range m.marks {
		// Where all that the mark names can be seen.
		at := k.at
		if k.latest.Sub(at) <= together {
			at = k.latest
		}
		out = append(out, view.Bookmark{At: r.Within(r.Shown(at, k.seq)), Text: k.text()})
	}
	slices.SortStableFunc(out, func(a, b view.Bookmark) int { return a.At.Compare(b.At) })
	return out
}

type marker struct {
	marks []mark
	open  map[string]int // the index of the last mark of each sort
}

// add takes a mark, or adds its subject to one of its sort that has just been.
func (m *marker) add(k mark) {
	if i, ok := m.open[k.what]; ok && k.at.Sub(m.marks[i].latest) <= together {
		m.marks[i].latest, m.marks[i].seq = k.at, max(m.marks[i].seq, k.seq)
		for _, s := range k.subjects {
			if !slices.Contains(m.marks[i].subjects, s) {
				m.marks[i].subjects = append(m.marks[i].subjects, s)
			}
		}
		return
	}
	m.open[k.what] = len(m.marks)
	k.latest = k.at
	m.marks = append(m.marks, k)
}

// event marks notable events.
func (m *marker) event(e *view.Event) {
	what, subject, ok := record.Moment(e)
	if !ok {
		return
	}
	k := mark{at: e.Seen, seq: e.Seq, what: what}
	if subject != "" {
		k.subjects = []string{subject}
	}
	m.add(k)
}

// verdict marks the first appearance of a verdict on the screen, else the end of the
// trial in the summary.
func (m *marker) verdict(r *record.Record) {
	said := view.Verdict("")
	for i := range r.Samples {
		if t := r.Samples[i].Trial; t != nil {
			if t.Verdict != "" && t.Verdict != said {
				m.add(mark{at: r.Samples[i].At, what: "verdict: " + string(t.Verdict)})
			}
			said = t.Verdict
		}
	}
	if s := r.Summary; s != nil && said == "" && !s.Ended.IsZero() {
		what := "verdict: " + string(s.Verdict)
		if s.Unplanned != nil {
			what = "outage over: " + string(s.Unplanned.Severity)
		}
		m.add(mark{at: s.Ended, what: what})
	}
}

func (k *mark) text() string {
	switch n := len(k.subjects); {
	case n == 0:
		return k.what
	case n > namesMost:
		return strings.Join(k.subjects[:namesMost-1], ", ") + " and others " + k.what
	}
	return strings.Join(k.subjects, ", ") + " " + k.what
}

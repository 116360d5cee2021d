package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lightsout/internal/record"
	"lightsout/loadgen"

	"lightsout/internal/text"
)

func loadOf(s *record.Summary) section {
	t := section{ID: "load", Title: "Load", Nothing: cell{Text: "No load was sent."}}.columns("step", "#from", "#to", "#sent", "#ok", "#failed", "of these", "else", "#peak served", "#peak queued", "#peak streaming", "basis", "#error window", "#failed later", "#failed, sent after detection", "#hung")
	for _, l := range s.Load {
		served, queued := itoa(l.PeakServed), itoa(l.PeakQueued)
		if l.PeakServed+l.PeakQueued == 0 && l.OK > 0 { // nobody counted them
			served, queued = none, none
		}
		t.row(l.Step, offsetOrNone(l.Started), offsetOrNone(l.Ended), l.Sent, l.OK, alarm(itoa(l.Failed), l.Failed > 0), classes(l.FailedByClass),
			orNone(loadgen.Counts{Cancelled: l.Cancelled, InFlight: l.InFlight, Unsent: l.Unsent}.Ends()), served, queued, some(l.PeakStreaming), orNone(l.Basis),
			windows(l.ErrorWindows), given(l.LaterFailures, func(s *record.Span) string { return fmt.Sprintf("%d in %s", s.Failed, window(s.From, s.To)) }), given(l.FailedAfterDetection, func(n *[2]int) string { return text.Range(*n) }), some(l.HungUntilEnded()))
	}
	if s.Unplanned != nil {
		t.say(plain, "The requests sent since zero, of a load that had begun before too.")
	}
	return t
}

// windows formats error windows, separated by commas.
func windows(all []record.Span) string {
	return orNone(strings.Join(text.Each(all, func(w record.Span) string { return window(w.From, w.To) }), ", "))
}

// window writes the span between two moments.
func window(from, to float64) string {
	if offset(from) == offset(to) {
		return offset(from)
	}
	return offset(from) + " – " + offset(to)
}

func orNone(s string) string { return cmp.Or(s, none) }

// classes writes counts by class, the most frequent first.
func classes(by map[loadgen.Class]int) string {
	count := func(c loadgen.Class) string { return fmt.Sprintf("%d × %s", by[c], className(c)) }
	return orNone(strings.Join(text.Each(byCount(by), count), ", "))
}

// className is a class as it is written; none of loadgen's is cut.
func className(c loadgen.Class) string { return text.Clean(string(c), 24) }

// byCount are the classes that occur, the most frequent first.
func byCount(by map[loadgen.Class]int) []loadgen.Class {
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(by)), func(c loadgen.Class) bool { return by[c] <= 0 })
	slices.SortStableFunc(keys, func(a, b loadgen.Class) int { return by[b] - by[a] })
	return keys
}

// equation writes the ledger out.
func equation(l record.Ledger) cell {
	switch text := l.Equation(); {
	case !l.Adds():
		return cell{fmt.Sprintf("%s: does NOT balance, the right side is %d", text, l.Sum()), bad}
	case !l.Balanced:
		return cell{text + ": does NOT balance, by the ledger", bad}
	default:
		return cell{text + ": balanced", good}
	}
}

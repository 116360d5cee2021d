package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"lightsout/internal/text"
	"lightsout/internal/view"
)

// textMost is the most characters kept of one text of a record.
const textMost = 400

// none stands in a table for a missing value.
const none = "–"

// given writes a value; the zero value is a dash.
func given[T comparable](value T, write func(T) string) string {
	if value == *new(T) {
		return none
	}
	return write(value)
}

// clean makes a text of a record harmless for a terminal and for every format
// here, and puts it on one line.
func clean(s string) string { return text.Clean(s, textMost) }

// brief cuts a name in its middle to so many cells; the namespace and the domain go first.
func brief(s string, most int) string {
	if _, name, ok := strings.Cut(s, "/"); ok && text.Width(s) > most {
		s = name
	}
	if host, _, ok := strings.Cut(s, "."); ok && host != "" && text.Width(s) > most {
		s = host
	}
	return text.Middle(s, most, "…")
}

// fewNames is how many names stand together.
const fewNames = 4

// few are names in order, each once; of many the first, and how many more there are.
func few(names []string, more string) []string {
	return text.Few(slices.Compact(slices.Sorted(slices.Values(names))), fewNames, more)
}

// offset writes seconds from zero as T+mm:ss.s, or T+h:mm:ss.s.
func offset(s float64) string {
	if !(math.Abs(s) < 1e9) {
		return none
	}
	return text.Offset(time.Duration(math.Round(s*10))*(time.Second/10), true)
}

func offsetOrNone(s *float64) string {
	return given(s, func(s *float64) string { return offset(*s) })
}

// between writes an interval of offsets.
func between(p *[2]float64) string {
	return given(p, func(p *[2]float64) string { return window(p[0], p[1]) })
}

// seconds writes a length of time: in seconds, with a tenth below 100, or from two minutes on in minutes.
func seconds(s float64) string {
	s = math.Round(s*10) / 10 // as offset
	switch {
	case s >= 120 && s < 1e9:
		return text.Span(time.Duration(math.Round(s)) * time.Second)
	case math.Abs(s) >= 100 || s == math.Trunc(s):
		return fmt.Sprintf("%.0f s", s)
	}
	return fmt.Sprintf("%.1f s", s)
}

// utc writes a wall-clock time in UTC.
func utc(t time.Time) string {
	return given(t, func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") })
}

// observed tells when a phase was seen; a span with its beginning.
func observed(p view.Phase) string {
	switch {
	case p.Observed == nil && p.Name == view.PhaseErrors && p.HiddenFrom == nil:
		return "none"
	case p.Observed == nil && p.Predicted == nil && p.Note != "":
		return "not expected" // the note has the reason
	case p.Observed == nil:
		return "not observed"
	case p.From != nil:
		return window(*p.From, *p.Observed)
	}
	return offset(*p.Observed)
}

package report

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/internal/view"
)

func TestOffsets(t *testing.T) {
	for in, want := range map[float64]string{
		0: "T+00:00.0", -0.04: "T+00:00.0", 59.96: "T+01:00.0", 83.4: "T+01:23.4", -12: "T-00:12.0", 3725.06: "T+1:02:05.1", math.Inf(1): none,
	} {
		if got := offset(in); got != want {
			t.Errorf("%v is %s, want %s", in, got, want)
		}
	}
}

// A report, a comparison and a picture show what the summary holds of a phase: nobody knows
// whether one that a blind span hid was in its forecast, and one of which only the source's time
// is known, in whole seconds, may have happened up to a second later.
func TestReportsFollowTheSummaryInWhatWasInside(t *testing.T) {
	for name, c := range map[string]struct {
		phase                      view.Phase
		inside, compared, pictured string
		tone                       tone
	}{
		"hidden":                          {view.Phase{Observed: p(62), HiddenFrom: p(50)}, "not observed", "62.0 not observed if in 47.5–58.0", "observed T+01:02.0 or before", warning},
		"hidden, and inside all the same": {view.Phase{Observed: p(57), HiddenFrom: p(50), Inside: yes(true)}, "yes", "57.0 in 47.5–58.0", "observed T+00:57.0, inside", good},
		"by its source":                   {view.Phase{Observed: p(47), Source: p(47), Inside: yes(true)}, "yes", "47.0 in 47.5–58.0", "observed T+00:47.0, inside", good},
		"late":                            {view.Phase{Observed: p(62), Source: p(61), Inside: yes(false)}, "no, 4.0 s late", "62.0 OUT 47.5–58.0", "observed T+01:02.0, 4.0 s late", bad},
	} {
		x := c.phase
		x.Name, x.Subject, x.Predicted = view.PhaseDetected, "k8s2", iv(47.5, 58)
		if got := inside(x); got != (cell{c.inside, c.tone}) {
			t.Errorf("%s: the table has %+v", name, got)
		}
		if got := phaseCell(x, nil); got != c.compared {
			t.Errorf("%s: the comparison has %q", name, got)
		}
		s := &record.Summary{Phases: []view.Phase{x}}
		if page := string(write(t, asHTML, &record.Record{Start: at(0), End: at(100), Zero: zero, Summary: s})); !strings.Contains(page, c.pictured) {
			t.Errorf("%s: the picture has no %q", name, c.pictured)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{evil, "", "plain", "\x1b[", "\x1b]", "\x1bP1\x1b\\", "|a|", "1. x", "__b__", "\xff\xfe"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := clean(s)
		harmlessText(t, "clean", got)
		if clean(got) != got {
			t.Errorf("%q is cleaned again to %q", got, clean(got))
		}
		if n := utf8.RuneCountInString(got); n > textMost+2 {
			t.Errorf("%d characters", n)
		}
		cell := md(got)
		for _, c := range "|<`[&*" {
			if unescaped(cell, c) > 0 {
				t.Errorf("%q leaves %q in %q", got, c, cell)
			}
		}
		if strings.HasSuffix(cell, `\`) && unescaped(cell+"|", '|') == 0 {
			t.Errorf("%q escapes what comes after it", cell)
		}
	})
}

// Names are shortened and set in columns by the cells that they take.
func TestWideNamesAreShortenedByTheirCells(t *testing.T) {
	for in, want := range map[string]string{"計算ノード二号機": "計算…号機", "研究/日本語の配備": "日本…配備", "ﾎﾟｯﾄﾞ-1": "ﾎﾟｯﾄﾞ-1", "か\u3099くしゅう用の機械": "か\u3099く…機械"} {
		if got := brief(in, 9); got != want || text.Width(got) > 9 {
			t.Errorf("brief(%q) is %q, want %q", in, got, want)
		}
	}
	s := section{Head: []column{{Name: "node"}, {Name: "n", Figures: true}}, Rows: [][]cell{{{Text: "計算ノード"}, {Text: "1"}}, {{Text: "kube-node3"}, {Text: "12"}}}}
	for _, l := range s.within(40)[1:] {
		if text.Width(l) != 14 {
			t.Errorf("%q is %d cells wide", l, text.Width(l))
		}
	}
}

package report

import (
	"encoding/xml"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

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

func TestInsideIsTheIntervalWithItsEdges(t *testing.T) {
	for _, c := range []struct {
		seen *float64
		want string
	}{{p(40), "yes"}, {p(50), "yes"}, {p(39.2), "no, 0.8 s early"}, {p(51.2), "no, 1.2 s late"}, {nil, none}} {
		if got, ok := inside(view.Phase{Predicted: iv(40, 50), Observed: c.seen}); got != c.want || ok != (c.want[0] != 'n') {
			t.Errorf("%v: %s", c.seen, got)
		}
	}
}

func TestCleanTakesWholeEscapeSequencesOut(t *testing.T) {
	for in, want := range map[string]string{
		"a\x1b[31mred\x1b[0m": "ared", "\x1b]0;title\x07x": "x", "\x1b]8;;http://e/\x1b\\link\x1b]8;;\x1b\\": "link", "\u009b2Jx": "x",
		"two\r\n lines\t": "two lines", "\x1b]0;never ended": "", "\u202egnp.exe": "gnp.exe", "a\x00b\x7f": "ab", "é ü 長い": "é ü 長い", "\x1b": "",
	} {
		if got := clean(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
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
		b, err := xml.Marshal(junitProperty{got, got})
		var back junitProperty
		if err == nil {
			err = xml.Unmarshal(b, &back)
		}
		if err != nil || back.Value != got {
			t.Errorf("XML gives %q for %q: %v", back.Value, got, err)
		}
	})
}

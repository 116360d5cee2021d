package tui

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

func TestCleanMakesTextHarmless(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain text", "plain text"},
		{"\x1b[31mred\x1b[m", " [31mred [m"},
		{"two\r\nlines\tand", "two  lines and"},
		{"a\u202eb\u200bc\u2066d\ufeff", "abcd"},
		{"e\u0301\u0301\u0301\u0301", "e\u0301\u0301"},
		{"\u0301x", "x"},
		{"\xff\xfe", "\ufffd\ufffd"},
		{"東京 ノード", "東京 ノード"},
		{"go 🚀", "go \ufffd"},
		{"\u009b2J", " 2J"},
	} {
		if got := clean(c.in); got != c.want {
			t.Errorf("clean(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestShorteningKeepsWhatTellsApart(t *testing.T) {
	for _, c := range []struct {
		in   string
		w    int
		want string
	}{
		{"llm-jp-31-13b-00001-deployment-7c9b7f6c9-2xk4q", 12, "llm-j…-2xk4q"},
		{"short", 12, "short"},
		{"averyveryverylongname", 9, "aver…name"},
		{"計算ノード二号機", 9, "計算…号機"},
	} {
		if got := middle(c.in, c.w, "…"); got != c.want {
			t.Errorf("middle(%q, %d) = %q, want %q", c.in, c.w, got, c.want)
		}
	}
	if got := fit("a sentence of words", 10, "…"); got != "a sentenc…" {
		t.Errorf("fit gives %q", got)
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "node-1", "\x1b[2J\x07", "計算ノード", "ne\u0301ud\u202e", "👩‍👩‍👧 🇯🇵", "क्ष ไทย ำ", "\xc3\x28", "각가"} {
		f.Add(s, 7)
	}
	f.Fuzz(func(t *testing.T, s string, w int) {
		c := clean(s)
		if !utf8.ValidString(c) {
			t.Fatalf("clean(%q) is not UTF-8: %q", s, c)
		}
		for _, r := range c {
			if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
				t.Fatalf("clean(%q) leaves %U", s, r)
			}
		}
		if a, b := ansi.StringWidth(c), ansi.StringWidthWc(c); a != b || a != width(c) {
			t.Fatalf("the width of %q is %d, %d or %d", c, width(c), a, b)
		}
		if clean(c) != c {
			t.Fatalf("clean changes its own %q to %q", c, clean(c))
		}
		w = (w%300 + 300) % 300
		for _, short := range []string{fit(c, w, "…"), middle(c, w, "…"), cutRight(c, w)} {
			if width(short) > w {
				t.Fatalf("%q is wider than %d", short, w)
			}
		}
		for _, l := range wrap(c, w) {
			if width(l) > w {
				t.Fatalf("wrap(%q, %d) has %q", c, w, l)
			}
		}
		if n := width(stripped(newRow(w).put("\x1b[1m", c).String())); n != w {
			t.Fatalf("a row of %d is %d wide", w, n)
		}
		if a := onlyASCII(c); strings.ContainsFunc(a, func(r rune) bool { return r > '~' }) {
			t.Fatalf("onlyASCII leaves %q", a)
		}
	})
}

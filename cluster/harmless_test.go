package cluster

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestHarmlessTakesAwayWhatATerminalWouldObey(t *testing.T) {
	for in, want := range map[string]string{
		"":                               "",
		"Kubelet stopped posting.":       "Kubelet stopped posting.",
		"\x1b[31mred\x1b[0m":             "[31mred [0m",
		"\x1b]52;c;cm0gLXJm\x07":         "]52;c;cm0gLXJm",
		"two\r\nlines\tand   a tab":      "two lines and a tab",
		"c1 \u009b31m csi":               "c1 31m csi",
		"abc\u202edcba":                  "abcdcba",
		"\u2066iso\u2069late":            "isolate",
		"zero\u200bwidth":                "zerowidth",
		"line\u2028separator":            "line separator",
		"日本語 ノード":                        "日本語 ノード",
		"bad \xff utf8":                  "bad \ufffd utf8",
		"  ends  ":                       "ends",
		"no\u00a0break":                  "no break",
		strings.Repeat("x", textMax+100): strings.Repeat("x", textMax-len("…")) + "…",
	} {
		if got := harmless(in); got != want {
			t.Errorf("harmless(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzHarmless(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b[2J", "\u202e", "日本\xffx", strings.Repeat("é ", 900), "\x9b", " a  b "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := harmless(s)
		if !utf8.ValidString(got) || len(got) > textMax {
			t.Fatalf("harmless(%q) is %d bytes, valid %v", s, len(got), utf8.ValidString(got))
		}
		for _, r := range got {
			if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
				t.Fatalf("harmless(%q) keeps %U", s, r)
			}
		}
		if again := harmless(got); again != got {
			t.Fatalf("harmless is not settled after one turn: %q then %q", got, again)
		}
	})
}

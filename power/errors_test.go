package power

import (
	"strings"
	"testing"
	"unicode"
)

func TestCleanTakesTheHarmOutAndLeavesTheWords(t *testing.T) {
	for in, want := range map[string]string{
		"PowerOFF":                                 "PowerOFF",
		"sudo:  a password\n\tis required\r\n":     "sudo: a password is required",
		"\x1b[31mred\x1b[0m and \x1b]0;title\aok":  "red and ok",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link",
		"a\u202eb\u2066c\u200b":                    "abc",
		"スポット仮想マシン":                                "スポット仮想マシン",
		"\u009b31mred":                             "31mred",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
	if got := []rune(Clean(strings.Repeat("長", 1000))); len(got) != cleanLimit+1 {
		t.Errorf("a long text has %d characters left", len(got))
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[31mred\x1b")
	f.Add("\x1bP\x1b\\\u009d\u009c")
	f.Add(" a \u2028 b \u202e")
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		for _, r := range got {
			if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
				t.Errorf("Clean(%q) = %q has %U", s, got, r)
			}
		}
		if n := len([]rune(got)); n > cleanLimit+2 {
			t.Errorf("%d characters are left", n)
		}
	})
}

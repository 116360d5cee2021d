package text

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

func TestCleanMakesTextHarmless(t *testing.T) {
	long := strings.Repeat("x", 50)
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"Kubelet stopped posting.", "Kubelet stopped posting."},
		{"\x1b[31mred\x1b[0m", "red"},
		{"\x1b[38;2;1;2;3mred\x1b[K!", "red!"},
		{"c1 \u009b31m csi", "c1 31m csi"},
		{"\x1b]52;c;cm0gLXJm\x07after", "after"},
		{"\x1b]0;title\x1b\\after", "after"},
		{"\x1bPq#0;2;0;0;0\x1b\\after\x1b_x\x1b\\ \x1b^x\x1b\\ \x1bXx\x1b\\.", "after ."},
		{"\x1b]0;never ended\nnext line", "next line"},
		{"\x1b]0;given up\x1b[1mbold", "bold"},
		{"\x1b(0qqq\x1b(B\x1b7\x1bc\x1b=x", "qqqx"},
		{"\x1b", ""},
		{"\x1b[", ""},
		{"bell\x07 back\x08space \x00nul\x7f", "bell backspace nul"},
		{"two\r\nlines\tand   a tab", "two lines and a tab"},
		{"abc\u202edcba \u2066iso\u2069late", "abcdcba isolate"},
		{"zero\u200bwid\u200dth\ufeff \u00adsoft\u034f\u3164\ufe0f", "zerowidth soft"},
		{"line\u2028separator no\u00a0break", "line separator no break"},
		{"e\u0301\u0301\u0301\u0301 \u0301x", "e\u0301\u0301 x"},
		{"日本語 ノード", "日本語 ノード"},
		{"bad \xff utf8 \ufffe", "bad \ufffd utf8 \ufffd"},
		{"  ends  ", "ends"},
		{"private \ue000", "private"},
		{long, long[:40] + "…"},
		{long[:39] + "  yz", long[:39] + "…"},
		{strings.Repeat("é", 41), strings.Repeat("é", 40) + "…"},
	} {
		if got := Clean(c.in, 40); got != c.want {
			t.Errorf("Clean(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestCellsKeepsBlanksAndAgreedWidths(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"  plain  text", "  plain  text"},
		{"\x1b[31mred\x1b[m", "red"},
		{"two\r\nlines\tand", "two  lines and"},
		{"a\u202eb\u200bc\u2066d\ufeff", "abcd"},
		{"e\u0301\u0301\u0301\u0301", "e\u0301\u0301"},
		{"\u0301x", "x"},
		{"\xff\xfe", "\ufffd\ufffd"},
		{"東京 ノード", "東京 ノード"},
		{"go 🚀", "go \ufffd"},
		{"ﾎﾟｯﾄﾞ ｶﾅ", "ポｯド ｶﾅ"},
		{"か\u3099 𠮷 ①", "か\u3099 𠮷 ①"},
		{"\u009b2J", "2J"},
	} {
		if got := Cells(c.in); got != c.want {
			t.Errorf("Cells(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

var hostile = []string{
	"", "plain", "node-1", " a  b ", "\x1b[2J\x07", "\x1b]0;x", "\x1b]0;x\x07y\x1bPz\x1b\\", "\x1b[31;1mred\x1b[0m", "\u009b2J\u009d0;t\u009c", "\x9b2J",
	"\u202e", "ne\u0301ud\u202e", "日本\xffx", "計算ノード", "👩‍👩‍👧 🇯🇵", "क्ष ไทย ำ", "\xc3\x28", "각가", "\x1b(B\x1b#8", "\u2028\u2029\u0085\v\f",
	"\ufffe\U0001fffe\ufdd0", "\U000e0041\U000f0000\ue000", "a" + strings.Repeat("\u0301", 100), strings.Repeat("é ", 900), "\x18\x1a", "\u115f\u3164\u2800",
}

// What Clean leaves is harmless by the rule of each package that shows or keeps it.
func FuzzCleanIsHarmlessByEachRule(f *testing.F) {
	for _, s := range hostile {
		f.Add(s, 40)
	}
	f.Fuzz(func(t *testing.T, s string, most int) {
		most = (most%2000 + 2000) % 2000
		got := Clean(s, most)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > most+1 {
			t.Fatalf("Clean(%q, %d) is %d characters, valid %v", s, most, utf8.RuneCountInString(got), utf8.ValidString(got))
		}
		if again := Clean(got, most); again != got {
			t.Fatalf("Clean is not settled after one turn: %q then %q", got, again)
		}
		plain := strings.ReplaceAll(got, "\ufffd", "x") // which stand for what was there
		plain = strings.ReplaceAll(plain, "…", "x")
		for name, rule := range map[string]func(string) string{
			"cluster": clusterRule, "loadgen": loadgenRule, "power": powerRule, "report": reportRule,
		} {
			if again := rule(plain); again != plain {
				t.Fatalf("Clean(%q) leaves %q, of which the rule of %s leaves %q", s, plain, name, again)
			}
		}
		if cells := Cells(got); strings.ContainsFunc(cells, unicode.IsControl) || Cells(cells) != cells {
			t.Fatalf("Cells(%q) = %q", got, cells)
		}
	})
}

func FuzzCells(f *testing.F) {
	for _, s := range hostile {
		f.Add(s, 7)
	}
	f.Fuzz(func(t *testing.T, s string, w int) {
		c := Cells(s)
		if !utf8.ValidString(c) {
			t.Fatalf("Cells(%q) is not UTF-8: %q", s, c)
		}
		if again := screenRule(c); again != c {
			t.Fatalf("Cells(%q) = %q, of which the screen's rule leaves %q", s, c, again)
		}
		if a, b := ansi.StringWidth(c), ansi.StringWidthWc(c); a != b || a != Width(c) {
			t.Fatalf("the width of %q is %d, %d or %d", c, Width(c), a, b)
		}
		if Cells(c) != c {
			t.Fatalf("Cells changes its own %q to %q", c, Cells(c))
		}
		w = (w%300 + 300) % 300
		for _, short := range []string{Fit(c, w, "…"), Middle(c, w, "…"), CutRight(c, w)} {
			if Width(short) > w {
				t.Fatalf("%q is wider than %d", short, w)
			}
		}
		for _, l := range Wrap(c, w) {
			if Width(l) > w {
				t.Fatalf("Wrap(%q, %d) has %q", c, w, l)
			}
		}
		if got := strings.Fields(strings.Join(Hang(c, w), " ")); !slices.Equal(got, strings.Fields(c)) {
			t.Fatalf("Hang(%q, %d) has %q", c, w, got)
		}
		for _, l := range Hang(c, w) {
			if w > 0 && Width(l) > w && strings.Contains(strings.TrimLeft(l, " "), " ") {
				t.Fatalf("Hang(%q, %d) has %q", c, w, l)
			}
		}
		if a := ASCII(c); strings.ContainsFunc(a, func(r rune) bool { return r > '~' }) {
			t.Fatalf("ASCII leaves %q", a)
		}
	})
}

func TestShorteningKeepsWhatTellsApart(t *testing.T) {
	for _, c := range []struct {
		in   string
		w    int
		want string
	}{
		{"llm-jp-31-13b-00001-deployment-7c9b7f6c9-2xk4q", 12, "llm-j…-2xk4q"},
		{"llm-jp-31-13b-00001-deployment", 16, "llm-jp-31-13b-0…"},
		{"short", 12, "short"},
		{"averyveryverylongname", 9, "aver…name"},
		{"計算ノード二号機", 9, "計算…号機"},
	} {
		if got := Middle(c.in, c.w, "…"); got != c.want {
			t.Errorf("Middle(%q, %d) = %q, want %q", c.in, c.w, got, c.want)
		}
	}
	wide := Columns([][]string{{"NODE", "MACHINE", "STATE"}, {"計算ノード", "ﾎﾟｯﾄﾞ", "on"}, {"か\u3099", "a", "off"}, {"alone"}})
	for i, want := range []string{"NODE        MACHINE  STATE", "計算ノード  ﾎﾟｯﾄﾞ    on", "か\u3099          a        off", "alone"} {
		if wide[i] != want {
			t.Errorf("the columns are %q, want %q", wide[i], want)
		}
	}
	if got := Fit("a sentence of words", 10, "…"); got != "a sentenc…" {
		t.Errorf("Fit gives %q", got)
	}
}

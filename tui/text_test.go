package tui

import "testing"

func FuzzRow(f *testing.F) {
	for _, s := range []string{"", "node-1", "\x1b[2J\x07", "計算ノード", "ne\u0301ud\u202e", "👩‍👩‍👧 🇯🇵", "क्ष ไทย ำ", "\xc3\x28", "각가"} {
		f.Add(s, 7)
	}
	f.Fuzz(func(t *testing.T, s string, w int) {
		c := clean(s)
		w = (w%300 + 300) % 300
		if n := width(stripped(newRow(w).put("\x1b[1m", c).String())); n != w {
			t.Fatalf("a row of %d is %d wide", w, n)
		}
	})
}

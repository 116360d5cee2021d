package text

import (
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func TestWesternCharactersTakeOneCellAndStay(t *testing.T) {
	for r := rune(0); r < 0x3000; r++ {
		if !western(r) {
			continue
		}
		if got := ansi.StringWidthWc(string(r)); got != 1 {
			t.Errorf("%U is %d cells wide", r, got)
		}
		for _, pair := range []string{"a" + string(r), string(r) + "ä"} {
			if got := ansi.StringWidth(pair); got != 2 {
				t.Errorf("%q is %d cells wide with graphemes", pair, got)
			}
		}
		if got, kind, _ := next(string(r)); r != ' ' && (got != r || kind != visible) {
			t.Errorf("%U becomes %U, kind %d", r, got, kind)
		}
	}
}

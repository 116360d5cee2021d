package export

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"
)

// The bars of a chart consist of eighths of cells, and its lines lie at the ends of
// bars. In pixels, a block covers exactly its eighths, and a line covers the topmost
// pixels of the layer below it.
func TestBlocksEndWhereTheirEighthsAre(t *testing.T) {
	covered := func(r rune, h int) (rows []int) {
		for j := range h {
			if drawn[r](0.25, (float64(j)+0.5)/float64(h), 9, float64(h)) > 0.5 {
				rows = append(rows, j)
			}
		}
		return rows
	}
	for h := 10; h <= 48; h++ {
		for k := 1; k <= 8; k++ {
			rows := covered(rune(0x2580+k), h)
			if d := 8*len(rows) - k*h; d < -4 || d > 4 || len(rows) > 0 && (rows[0] != h-len(rows) || rows[len(rows)-1] != h-1) {
				t.Errorf("%d of 8 eighths of %d pixels are the rows %v", k, h, rows)
			}
		}
		for r, at := range map[rune]float64{'▔': 8, '⎻': 6, '━': 4.5, '⎼': 3, '▁': 1} {
			rows := covered(r, h)
			if len(rows) == 0 || len(rows) > h/4 {
				t.Fatalf("%c covers the rows %v of %d", r, rows, h)
			}
			if top := float64(h-rows[0]) * 8 / float64(h); top < at-0.9 || top > at+0.9 {
				t.Errorf("%c of %d pixels ends at %.1f eighths", r, h, top)
			}
		}
	}
}

// A browser shows an SVG at any size: areas and lines must neither leave gaps nor
// vanish, and an eighth is a whole number of its units.
func TestAnSVGHasNoGaps(t *testing.T) {
	c := &Cast{Width: 12, Height: 3, Events: []Event{{Code: "o", Data: "├─ ┤\x1b[32m█▄\x1b[43m▄\x1b[36m▔\x1b[m│\r\n│  │\x1b[41m  \x1b[m▔▁━\r\n╰──╯"}}}
	frames, err := Film(context.Background(), c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := SVG(&out, frames, Options{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "path{shape-rendering:crispEdges}.l{fill:none;vector-effect:non-scaling-stroke}") {
		t.Error("areas may leave gaps, and lines may vanish")
	}
	paths := regexp.MustCompile(`<path class="([a-z0-9 ]+)" d="([^"]*)"/>`).FindAllStringSubmatch(out.String(), -1)
	if len(paths) < 6 {
		t.Fatalf("%d paths:\n%s", len(paths), out.String())
	}
	verticals := 0
	for _, p := range paths {
		if strings.Contains(p[1], " l") {
			verticals += strings.Count(p[2], "v16")
		} else if strings.Contains(p[2], ".") {
			t.Errorf("%q ends between units", p[2])
		}
	}
	if verticals != 5 { // ├ ┤ │ │ │
		t.Errorf("%d whole vertical lines:\n%s", verticals, out.String())
	}
}

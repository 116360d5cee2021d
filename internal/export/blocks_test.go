package export

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"
)

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

package report

import (
	"fmt"
	"strings"

	"lightsout/loadgen"
)

// classPattern is the id of the pattern of a class.
func classPattern(c loadgen.Class) string {
	t := c.Traits()
	return "f-" + t.Colour + "-" + t.Texture
}

// textures are the paths over a pattern's ground, on a tile of 6 × 6.
var textures = map[string]string{
	"rising":   "M-1 7L7 -1M-1 1L1 -1M5 7L7 5",
	"falling":  "M-1 -1L7 7M5 -1L7 1M-1 5L1 7",
	"level":    "M0 1.5H6M0 4.5H6",
	"vertical": "M1.5 0V6M4.5 0V6",
	"cross":    "M0 3H6M3 0V6",
	"dots":     "M0.8 1.5h1.6M3.8 4.5h1.6",
}

// definitions are the patterns of the picture; of the failures, those that the
// classes need.
func definitions(classes []loadgen.Class) string {
	var b strings.Builder
	pattern := func(id, ground, texture, over string) {
		fmt.Fprintf(&b, `<pattern id="%s" width="6" height="6" patternUnits="userSpaceOnUse"><rect class="%s" width="6" height="6"/>`, id, ground)
		if path := textures[texture]; path != "" {
			fmt.Fprintf(&b, `<path class="%s" d="%s"/>`, over, path)
		}
		b.WriteString("</pattern>")
	}
	b.WriteString("<defs>")
	pattern("p-queued", "queued", "rising", "over")
	pattern("p-stalled", "stalled", "cross", "over")
	pattern("p-ondead", "ondead", "falling", "over")
	pattern("p-unknown", "queued", "dots", "over")
	pattern("p-silent", "ground", "rising", "ink-line")
	pattern("p-notready", "ground", "dots", "bad-line")
	pattern("p-blind", "veil", "falling", "veil-line")
	done := map[string]bool{}
	for _, c := range classes {
		id, t := classPattern(c), c.Traits()
		if !done[id] {
			pattern(id, t.Colour, t.Texture, "over")
		}
		done[id] = true
	}
	b.WriteString("</defs>")
	return b.String()
}

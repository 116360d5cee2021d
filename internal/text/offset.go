package text

import (
	"fmt"
	"time"
)

// Offset writes a time on the trial's clock, from its zero, as T+mm:ss: with
// tenths of a second if asked for, and with hours when there are any.
func Offset(d time.Duration, tenths bool) string {
	d = d.Round(map[bool]time.Duration{true: 100 * time.Millisecond}[tenths])
	sign := '+'
	if d < 0 {
		sign, d = '-', max(-d, 0)
	}
	seconds := int64(d / time.Second)
	out := fmt.Sprintf("T%c%02d:%02d", sign, seconds/60, seconds%60)
	if seconds >= 3600 {
		out = fmt.Sprintf("T%c%d:%02d:%02d", sign, seconds/3600, seconds/60%60, seconds%60)
	}
	if tenths {
		out += fmt.Sprintf(".%d", d%time.Second/(100*time.Millisecond))
	}
	return out
}

package text

import (
	"fmt"
	"time"
)

// Offset writes a time on the trial's clock, from its zero, as T+mm:ss: with
// tenths of a second if asked for, and with hours when there are any.
func Offset(d time.Duration, tenths bool) string {
	sign := "+"
	if d < 0 {
		sign, d = "-", max(-d, 0)
	}
	sec := int64(d / time.Second)
	out := fmt.Sprintf("T%s%02d:%02d", sign, sec/60, sec%60)
	if sec >= 3600 {
		out = fmt.Sprintf("T%s%d:%02d:%02d", sign, sec/3600, sec/60%60, sec%60)
	}
	if tenths {
		out += fmt.Sprintf(".%d", d%time.Second/(100*time.Millisecond))
	}
	return out
}

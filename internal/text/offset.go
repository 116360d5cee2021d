package text

import (
	"strconv"
	"time"
)

// Offset writes a time on the trial's clock, from its zero, as T+mm:ss: with
// tenths of a second if asked for, and with hours when there are any.
func Offset(d time.Duration, tenths bool) string {
	out := append(make([]byte, 0, 16), "T+"...)
	if d < 0 {
		out[1], d = '-', max(-d, 0)
	}
	seconds := int64(d / time.Second)
	minutes := seconds / 60
	if minutes >= 60 {
		out = append(strconv.AppendInt(out, minutes/60, 10), ':')
		minutes %= 60
	}
	out = append(twoDigits(out, minutes), ':')
	out = twoDigits(out, seconds%60)
	if tenths {
		out = append(out, '.', '0'+byte(d%time.Second/(100*time.Millisecond)))
	}
	return string(out)
}

func twoDigits(out []byte, n int64) []byte { return append(out, '0'+byte(n/10), '0'+byte(n%10)) }

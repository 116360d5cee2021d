package testenv

import (
	"time"
	"unsafe"
)

// Shifted is t with its wall clock moved by whole seconds and its monotonic clock as it
// was, as after a suspend. Package time has no function for this, so Shifted relies on
// the layout of time.Time: a word with the flag hasMonotonic, 33 bits of seconds since
// 1885 and 30 bits of nanoseconds. t must come from time.Now.
func Shifted(t time.Time, d time.Duration) time.Time {
	wall := (*uint64)(unsafe.Pointer(&t))
	*wall += uint64(int64(d/time.Second)) << 30
	return t
}

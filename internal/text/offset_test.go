package text

import (
	"testing"
	"time"
)

func TestOffsetsAreSigned(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "T+00:00.0", -1500 * time.Millisecond: "T-00:01.5", 83400 * time.Millisecond: "T+01:23.4",
		2*time.Hour + 3*time.Second: "T+2:00:03.0",
	} {
		if got := Offset(d, true); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

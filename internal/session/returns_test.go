package session

import (
	"strings"
	"testing"
	"time"
)

// A machine whose power-on failed is not on its way back, also while the request waits for others.
func TestAMachineThatFailedToPowerOnIsNotAwaited(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	r := &returns{loop: &loop{now: func() time.Time { return now }}}
	r.poweredOn([]string{"n1", "n2"})
	for _, n := range []string{"n1", "n2"} {
		r.sent(n, now)
	}
	now = now.Add(6 * time.Second)
	r.failed("n2")
	if next := strings.Join(r.next(), ""); next != "n1 Ready again (powered on 6s ago)" {
		t.Errorf("%q", next)
	}
	r.sent("n2", now) // once more
	if next := strings.Join(r.next(), ""); !strings.Contains(next, "n2") {
		t.Errorf("%q", next)
	}
}

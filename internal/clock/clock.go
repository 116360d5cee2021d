// Package clock measures ages on machines that sleep and whose clocks are set.
package clock

import "time"

// Age returns how long before now t was, by the wall clock or by the monotonic clock,
// whichever shows the longer time. The monotonic clock stops while the machine is
// suspended (CLOCK_MONOTONIC in clock_gettime(2), mach_absolute_time), and somebody may
// set the wall clock. The result may be negative if t is in the future.
func Age(now, t time.Time) time.Duration {
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// Since returns Age(time.Now(), t).
func Since(t time.Time) time.Duration { return Age(time.Now(), t) }

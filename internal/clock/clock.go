// Package clock measures ages on machines that sleep and whose clocks are set, and compares times of
// which one may be unknown.
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

// pauseLeast is the least time between two looks, normally a second, that counts as a pause.
const pauseLeast = 10 * time.Second

// Pause returns for how long the program stood still between two looks at the clock; 0 if it did not, or if
// last is zero. A stopped process, a suspended machine or a starved host is the cause.
func Pause(now, last time.Time) time.Duration {
	if age := Age(now, last); !last.IsZero() && age >= pauseLeast {
		return age
	}
	return 0
}

// Earliest returns the earlier of two times. A zero time is unknown, and the other one is returned.
func Earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Latest returns the later of two times. A zero time is unknown, and the other one is returned.
func Latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

package clock

import (
	"lightsout/internal/testenv"
	"testing"
	"time"
)

// at returns a time whose wall clock is ahead of its monotonic clock.
func at(now time.Time, mono, wall time.Duration) time.Time {
	return testenv.Shifted(now.Add(mono), wall)
}

func TestAgeIsTheLargerOfBothClocks(t *testing.T) {
	then := time.Now()
	for name, c := range map[string]struct {
		mono, wall, want time.Duration
	}{
		"awake":               {3 * time.Second, 0, 3 * time.Second},
		"suspended meanwhile": {3 * time.Second, time.Hour, time.Hour + 3*time.Second},
		"clock set back":      {3 * time.Second, -time.Hour, 3 * time.Second},
	} {
		if got := Age(at(then, c.mono, c.wall), then); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, c := range []struct {
		last time.Time
		want time.Duration
	}{
		{time.Time{}, 0}, // there was no look before
		{now.Add(-time.Second), 0},
		{now.Add(-time.Minute), time.Minute},
	} {
		if got := Pause(now, c.last); got != c.want {
			t.Errorf("a pause of %s, not %s", got, c.want)
		}
	}
}

func TestAZeroTimeYieldsToAKnownOne(t *testing.T) {
	t.Parallel()
	now, zero := time.Now(), time.Time{}
	for _, c := range []struct{ a, b, earlier, later time.Time }{
		{now, now.Add(time.Second), now, now.Add(time.Second)},
		{now.Add(time.Second), now, now, now.Add(time.Second)},
		{zero, now, now, now},
		{now, zero, now, now},
		{zero, zero, zero, zero},
	} {
		if e, l := Earliest(c.a, c.b), Latest(c.a, c.b); !e.Equal(c.earlier) || !l.Equal(c.later) {
			t.Errorf("of %v and %v, %v is earlier and %v later", c.a, c.b, e, l)
		}
	}
}

package replay

import (
	"errors"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/view"
)

// Each shows, in order, the screen at the beginning of the record, after each step, and
// at its end. It fails if the record is empty or show fails.
func Each(r *record.Record, step time.Duration, show func(*view.Frame) error) error {
	if r.Start.IsZero() {
		return errors.New("there is nothing to show: the record is empty")
	}
	f := newFrames(r)
	for t := r.Start; ; t = t.Add(step) {
		last := !t.Before(r.End)
		if last {
			t = r.End
		}
		if err := show(f.frame(t)); err != nil || last {
			return err
		}
	}
}

package replay

import (
	"errors"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/view"
)

// Each shows, in order, what was on the screen when the record began, after
// each step, and when it ended. It fails when the record is empty or show does.
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

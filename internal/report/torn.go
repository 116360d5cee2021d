package report

import (
	"cmp"
	"time"

	"lightsout/internal/record"
)

// base is the moment that offsets count from: zero, or the record's start when
// there is no zero.
func base(r *record.Record) time.Time {
	if !r.Zero.IsZero() {
		return r.Zero
	}
	return r.Start
}

// secondsAfter is so many seconds after the record's base.
func secondsAfter(r *record.Record, s float64) time.Time {
	return base(r).Add(time.Duration(s * float64(time.Second)))
}

// summaryOf is the summary of a record, an empty one where there is none.
func summaryOf(r *record.Record) *record.Summary { return cmp.Or(r.Summary, &record.Summary{}) }

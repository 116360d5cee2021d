package recorder

import (
	"maps"
	"time"

	"lightsout/internal/record"
	"lightsout/loadgen"
)

// Record keeps a request that has ended. It is safe for concurrent use.
func (r *Recorder) Record(q loadgen.Record) bool {
	r.ended.Record(q)
	return false // observe takes it: thousands a second must not each take a turn
}

// spill begins the files of a record in dir, and returns exactly the requests in them that have
// ended since zero.
func (r *Recorder) spill(dir string, zero time.Time) (past record.Past, err error) {
	r.follow(r.ended.Change(func() func(loadgen.Record) {
		err = r.rolling.Spill(dir, zero)
		past = r.rolling.Past(zero)
		return r.rolling.Request
	}))
	return past, err
}

// rest ends the files of the record, and follows exactly the requests in them: those that end
// later are in flight.
func (r *Recorder) rest() (err error) {
	r.follow(r.ended.Change(func() func(loadgen.Record) {
		err = r.rolling.Rest()
		if r.opt.Load != nil {
			r.incident.open = record.InFlight(r.opt.Load, maps.Keys(r.specs))
		}
		return r.rolling.Request
	}))
	return err
}

// follow follows requests that have ended.
func (r *Recorder) follow(ended []loadgen.Record) {
	for _, q := range ended {
		if r.requests.note(&q) {
			r.opt.Print("requests answered: failures are noticed from now on")
		}
		if r.incident != nil {
			r.incident.tracker.Request(q)
		}
	}
}

// loadStarted follows a load of the operator.
func (r *Recorder) loadStarted(number int, spec loadgen.Spec) {
	r.specs[number] = spec
	if r.incident != nil {
		r.incident.tracker.FailsWithin(r.opt.Load.FailsWithin(spec))
	}
}

package recorder

import (
	"time"

	"lightsout/internal/record"
	"lightsout/loadgen"
)

// Record keeps a request that has ended. It is safe for concurrent use.
func (r *Recorder) Record(q loadgen.Record) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rolling.Request(q)
	r.ended = append(r.ended, q)
	return false // Observe takes it: thousands a second must not each take a turn
}

// ends follows the requests that have ended.
func (r *Recorder) ends(now time.Time) {
	r.mu.Lock()
	ended := r.take()
	r.mu.Unlock()
	r.follow(ended, now)
}

// take returns the requests that have ended since the last call. The caller holds mu.
func (r *Recorder) take() (ended []loadgen.Record) {
	ended, r.ended = r.ended, nil
	return ended
}

// spill begins the files of a record in dir, and returns exactly the requests in them that have
// ended since zero.
func (r *Recorder) spill(dir string, zero, now time.Time) (record.Past, error) {
	r.mu.Lock()
	err := r.rolling.Spill(dir, zero)
	past, ended := r.rolling.Past(zero), r.take()
	r.mu.Unlock()
	r.follow(ended, now)
	return past, err
}

// rest ends the files of the record, and follows exactly the requests in them: those that end
// later are in flight.
func (r *Recorder) rest(now time.Time) error {
	r.mu.Lock()
	err := r.rolling.Rest()
	ended := r.take()
	r.incident.open = r.incident.inFlight()
	r.mu.Unlock()
	r.follow(ended, now)
	return err
}

func (r *Recorder) follow(ended []loadgen.Record, now time.Time) {
	for _, q := range ended {
		if r.requests.note(&q, now) {
			r.opt.Print("requests answered: failures are noticed from now on")
		}
		if r.incident != nil {
			r.incident.request(q)
		}
	}
}

// LoadStarted follows a load of the operator.
func (r *Recorder) LoadStarted(number int, spec loadgen.Spec, _ time.Time) {
	r.specs[number] = spec
	if r.incident != nil {
		r.incident.tracker.FailsWithin(r.opt.Load.FailsWithin(spec))
	}
}

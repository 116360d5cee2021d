package loadgen

import (
	"time"

	"lightsout/internal/clock"
)

// Service is what requests show of the service. Error windows and spells follow from the seconds in which they were
// sent; the recorder's sign and its severity, which follow what clients notice as it happens, from those in which they
// ended.
type Service int

// States of a service, the worst last.
const (
	ServiceUnasked  Service = iota // no request succeeded or failed
	ServiceUp                      // requests succeeded, and none failed
	ServiceDegraded                // requests succeeded, and others failed
	ServiceDown                    // requests failed, and none succeeded
)

// answers reports whether requests succeeded.
func (s Service) answers() bool { return s == ServiceUp || s == ServiceDegraded }

// fails reports whether requests failed.
func (s Service) fails() bool { return s == ServiceDegraded || s == ServiceDown }

// service is what the requests show that were sent in the second.
func (x *Row) service() Service {
	switch failed := x.span.N > 0; {
	case failed && x.OK > 0:
		return ServiceDegraded
	case failed:
		return ServiceDown
	case x.OK > 0:
		return ServiceUp
	}
	return ServiceUnasked
}

// down are the spans in which the service was down: maximal runs of seconds.
func (s *Series) down() (out []Failures) {
	up := true
	for _, x := range s.rows {
		switch service := x.service(); {
		case service.answers():
			up = true
		case service.fails():
			if up {
				up, out = false, append(out, Failures{})
			}
			out[len(out)-1].join(x.span)
		}
	}
	return out
}

// downLeast is how many requests fail at least in seconds in which the service is down, and downLength how long
// those last, for all of the requests to show that it was: a few fail while it is degraded, too, and many in a
// second of many requests.
const (
	downLeast  = 3
	downLength = 3 * time.Second
)

// Service is what all requests show: by their ends, down if three or more failed while none succeeded for at least
// three seconds, or since.
func (s *Series) Service() (worst Service) {
	var since Failures // the last second in which one succeeded
	down := false
	for _, x := range s.rows {
		worst = max(worst, min(x.service(), ServiceDegraded))
		if !x.answered {
			since.join(x.ended)
			continue
		}
		down = down || since.N >= downLeast && x.At.Sub(since.First.Truncate(time.Second)) >= downLength
		since = Failures{}
	}
	if down || since.N >= downLeast {
		return ServiceDown
	}
	return worst
}

const (
	// failingLeast requests fail within failingWithin, or within failingIntervals between two requests
	// if that is longer, while the service fails.
	failingLeast     = 2
	failingWithin    = 10 * time.Second
	failingIntervals = 3
)

// FailingWithin is the time over which Failing looks at requests with that interval between them.
func FailingWithin(every time.Duration) time.Duration {
	return max(failingWithin, failingIntervals*every)
}

// Failing reports whether several requests have failed from a time on, whenever they were sent, and
// since when the service does not answer: the last good answer, or when the first of them began to wait
// in vain if that is earlier. A request that hangs fails long after the service stopped to answer.
func (s *Series) Failing(from time.Time) (since time.Time, failing bool) {
	n := 0
	since = s.good
	for _, x := range s.rows[s.from(from):] {
		n += x.FailedIn().Sum()
		since = clock.Earliest(since, x.vain)
	}
	return since, n >= failingLeast
}

// silentSince is when the request was sent, or got its last byte.
func (r *Record) silentSince() time.Time { return clock.Latest(r.CountedAt(), r.LastByte) }

// inVainSince is since when a failed request waited in vain: since it got nothing more if a time limit
// ended it, else from its end.
func (r *Record) inVainSince() time.Time {
	if r.Class.TimeLimit() || r.Class == ClassConnectTimeout {
		return r.silentSince()
	}
	return r.End
}

package recorder

import (
	"maps"
	"time"
)

// row counts the requests of an outage by the second in which they were sent: a request that hangs
// fails among later ones that are ok.
type row map[int64]sentIn

// sentIn is the requests that were sent in one second: how many failed, and whether others were ok.
type sentIn struct {
	failed int
	ok     bool
}

const (
	// downLeast is how many requests in a row fail while the service is down.
	downLeast = 3
	// rowKept is for how long a row keeps a second, and rowGap the longest time without requests
	// within a row: those that are rarer end in the order in which they were sent.
	rowKept = time.Hour
	rowGap  = time.Minute
)

// add adds a request. It returns how many failed in a row around the second in which it was sent, at
// most downLeast; 0 if it did not fail.
func (r row) add(at time.Time, failed bool) (inRow int) {
	second := at.Unix()
	x := r[second]
	if failed {
		x.failed++
	}
	x.ok = x.ok || !failed
	r[second] = x
	if len(r) > 2*int(rowKept/time.Second) {
		maps.DeleteFunc(r, func(s int64, _ sentIn) bool { return second-s > int64(rowKept/time.Second) })
	}
	if !failed || x.ok {
		return 0
	}
	return min(downLeast, x.failed+r.beside(second, -1)+r.beside(second, 1))
}

// beside counts the requests that failed in the seconds before (step -1) or after (1) a second, until
// one was ok.
func (r row) beside(second, step int64) (failed int) {
	for empty := int64(0); failed < downLeast && empty < int64(rowGap/time.Second); {
		second += step
		switch x, sent := r[second]; {
		case !sent:
			empty++
		case x.ok:
			return failed
		default:
			failed, empty = failed+x.failed, 0
		}
	}
	return failed
}

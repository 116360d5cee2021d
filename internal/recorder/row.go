package recorder

import (
	"slices"
	"time"
)

// row holds the newest requests in the order in which they were sent.
type row struct{ sent []sentRequest }

// sentRequest is a request that was ok or failed.
type sentRequest struct {
	at     time.Time
	failed bool
}

// rowKept bounds the requests of a row.
const rowKept = 4096

// add adds a request. It returns how many in a row failed around it, by the time at which they were
// sent; 0 if it did not fail. A request that hangs fails among later ones that are ok.
func (r *row) add(at time.Time, failed bool) (inRow int) {
	if len(r.sent) == rowKept {
		r.sent = slices.Delete(r.sent, 0, 1)
	}
	i, _ := slices.BinarySearchFunc(r.sent, at, func(x sentRequest, at time.Time) int { return x.at.Compare(at) })
	r.sent = slices.Insert(r.sent, i, sentRequest{at, failed})
	if !failed {
		return 0
	}
	from, to := i, i
	for from > 0 && r.sent[from-1].failed {
		from--
	}
	for to < len(r.sent) && r.sent[to].failed {
		to++
	}
	return to - from
}

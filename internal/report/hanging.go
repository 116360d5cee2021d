package report

import (
	"time"

	"lightsout/internal/record"
	"lightsout/internal/text"
)

// unansweredLeast is for how long a request must have been in flight when the record ended
// for the opening to mention it.
const unansweredLeast = 10 * time.Second

// waiting counts requests that got no answer: hung until lightsout ended them, or open when
// the record ended.
type waiting struct{ hung, open int }

func (w waiting) String() string {
	switch {
	case w.hung > 0:
		return text.Count(w.hung, "request", "requests") + " hung until lightsout ended " + text.Noun(w.hung, "it", "them")
	case w.open > 0:
		return text.Count(w.open, "request", "requests") + " had not ended when the record did"
	}
	return ""
}

// unanswered describes the requests of outage number i, or of the whole record for -1, that
// hung, and those that had not ended when the record did.
func unanswered(r *record.Record, all []outage, i int) string {
	each, _ := waitingIn(r, all)
	return each[max(i, 0)].String()
}

// unansweredElse describes the requests without an answer that lightsout can assign to no outage.
func unansweredElse(r *record.Record, all []outage) string {
	_, rest := waitingIn(r, all)
	if rest == (waiting{}) {
		return ""
	}
	return rest.String() + "; which outage caused that, if any, is unknown"
}

// mayHang reports whether requests got no answer that clients may have sent in outage number i.
func mayHang(r *record.Record, all []outage, i int) bool {
	each, rest := waitingIn(r, all)
	for j := range max(i, 0) {
		if each[j] != (waiting{}) {
			return true
		}
	}
	return rest != (waiting{})
}

// waitingIn counts the requests without an answer by outage (in a record without an outage, all
// of them), and as rest those that lightsout can assign to no outage.
func waitingIn(r *record.Record, all []outage) (each []waiting, rest waiting) {
	cancelled, unresolved := make([]int, len(all)+1), make([]int, len(all)+1)
	for j := range r.Seconds {
		x := &r.Seconds[j]
		at := flightOf(r, all, x.At)
		cancelled[at] += x.Cancelled
		if !x.At.Add(unansweredLeast).After(r.End) {
			unresolved[at] += x.Unresolved
		}
	}
	hung, open := 0, 0
	for _, l := range summaryOf(r).Load {
		if l.Hung != nil {
			hung += l.Hung.Cancelled
		}
		if severityUnknown(r) {
			open += l.InFlight
		}
	}
	each = make([]waiting, max(len(all), 1))
	opens := unresolved
	if open > 0 { // the recorder has counted them
		hung = 0
		opens, rest.open = share(open, unresolved)
	}
	var hangs []int
	hangs, rest.hung = share(hung, cancelled)
	for i := range each {
		each[i] = waiting{hung: hangs[i], open: opens[i]}
	}
	return each, rest
}

// flightOf is the first outage that a request met that was sent at that time and did not end;
// len(all) for none.
func flightOf(r *record.Record, all []outage, sent time.Time) int {
	for i := range all {
		if sent.Before(all[i].end(r)) {
			return i
		}
	}
	return len(all)
}

// share divides n requests among outages. of counts the requests of each outage that may be
// among them; its last are those of no outage. rest are these, or all that may be of several.
func share(n int, of []int) (each []int, rest int) {
	sum, last := 0, len(of)-1
	for _, k := range of {
		sum += k
	}
	each = make([]int, len(of))
	switch {
	case last <= 1:
		each[0] = n
	case sum == n:
		copy(each, of)
		rest = of[last]
	default:
		for i, k := range of[:last] {
			if k == sum && k > 0 {
				each[i] = n
				return each, 0
			}
		}
		return each, n
	}
	return each, rest
}

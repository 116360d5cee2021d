package loadgen

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lightsout/internal/text"
)

// Totals accounts for every request of a run, or of several. At any moment
//
//	Scheduled = OK + sum(Failed) + Cancelled + InFlight + Unsent
//
// and InFlight = Dialing + Sent + Streaming. Stalled requests are counted in
// Streaming as well.
type Totals struct {
	Scheduled int     `json:"scheduled,omitzero"`
	OK        int     `json:"ok,omitzero"`
	Failed    ByClass `json:"failed,omitzero"`
	Cancelled int     `json:"cancelled,omitzero"`
	Unsent    int     `json:"unsent,omitzero"`
	Dialing   int     `json:"dialing,omitzero"`   // no connection yet
	Sent      int     `json:"sent,omitzero"`      // request written, no byte back
	Streaming int     `json:"streaming,omitzero"` // bytes are coming
	Stalled   int     `json:"stalled,omitzero"`   // of Streaming: no byte for longer than the stall limit
}

// FailedSum is the number of failed requests of all classes.
func (t Totals) FailedSum() int { return t.Failed.Sum() }

// InFlight is the number of requests that have been started and have not ended.
func (t Totals) InFlight() int { return t.Dialing + t.Sent + t.Streaming }

// Balanced reports whether the equation of Totals holds.
func (t Totals) Balanced() bool { return t.Counts().Adds() }

// Count adds an ended request to the totals.
func (t *Totals) Count(r Record) {
	t.Scheduled += r.Requests()
	t.end(r.Class, r.Requests())
}

// end counts n scheduled requests that have ended.
func (t *Totals) end(c Class, n int) {
	switch {
	case c == ClassOK:
		t.OK += n
	case c == ClassUnsent:
		t.Unsent += n
	case c.Failed():
		t.Failed.add(c, n)
	default:
		t.Cancelled += n
	}
}

// add adds the totals of another run, without its requests in flight.
func (t *Totals) add(o *Totals) {
	t.Scheduled += o.Scheduled
	t.OK += o.OK
	t.Cancelled += o.Cancelled
	t.Unsent += o.Unsent
	t.Failed.addAll(o.Failed, 1)
}

// Counts are Totals in the form of summaries: the number of requests by outcome.
type Counts struct {
	Scheduled     int     `json:"scheduled"`
	OK            int     `json:"ok"`
	Failed        int     `json:"failed"`
	Cancelled     int     `json:"cancelled"`
	InFlight      int     `json:"in_flight"`
	Unsent        int     `json:"unsent"`
	FailedByClass ByClass `json:"failed_by_class,omitzero"`
}

// Counts are the totals for a summary.
func (t Totals) Counts() Counts {
	return Counts{
		Scheduled: t.Scheduled, OK: t.OK, Failed: t.FailedSum(), FailedByClass: t.Failed,
		Cancelled: t.Cancelled, InFlight: t.InFlight(), Unsent: t.Unsent,
	}
}

// Sum is the right side of the equation.
func (c Counts) Sum() int { return c.OK + c.Failed + c.Cancelled + c.InFlight + c.Unsent }

// Adds reports whether the equation holds.
func (c Counts) Adds() bool { return c.Scheduled == c.Sum() }

// unsentShare: more unsent requests than one in so many are many. A few may have been due when
// the load was stopped.
const unsentShare = 20

// NotSent counts the requests that were due and never got to the service: those that lightsout shed, and
// those that it could not send (ClassLocal).
func (c Counts) NotSent() int { return c.Unsent + c.FailedByClass[ClassLocal] }

// ManyUnsent reports whether so many requests were not sent that nobody knows what clients
// would have seen.
func (c Counts) ManyUnsent() bool { return c.NotSent()*unsentShare > c.Scheduled }

// Equation writes the equation out, without saying whether it holds.
func (c Counts) Equation() string {
	return fmt.Sprintf("%d scheduled = %d ok + %d failed + %d cancelled + %d in flight + %d unsent",
		c.Scheduled, c.OK, c.Failed, c.Cancelled, c.InFlight, c.Unsent)
}

// Ends describes how requests ended, without the counts that are 0: "8 ok, 8 failed (8
// truncated)".
func (c Counts) Ends() string {
	var parts []string
	byCode := slices.SortedFunc(maps.Keys(c.FailedByClass), func(a, b Class) int { return a.Code() - b.Code() })
	classes := text.Each(byCode, func(class Class) string { return fmt.Sprintf("%d %s", c.FailedByClass[class], class) })
	failed := "failed"
	if len(classes) > 0 {
		failed += " (" + strings.Join(classes, ", ") + ")"
	}
	for _, x := range []struct {
		n    int
		what string
	}{{c.OK, "ok"}, {c.Failed, failed}, {c.Cancelled, "cancelled"}, {c.InFlight, "in flight"}, {c.Unsent, "unsent"}} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	return strings.Join(parts, ", ")
}

// Add adds other counts.
func (c *Counts) Add(o Counts) {
	c.Scheduled += o.Scheduled
	c.OK += o.OK
	c.Failed += o.Failed
	c.Cancelled += o.Cancelled
	c.InFlight += o.InFlight
	c.Unsent += o.Unsent
	c.FailedByClass.addAll(o.FailedByClass, 1)
}

// ByClass counts failed requests by class.
type ByClass map[Class]int

// Sum is their number.
func (b ByClass) Sum() (sum int) {
	for _, n := range b {
		sum += n
	}
	return sum
}

func (b *ByClass) add(c Class, n int) {
	if *b == nil {
		*b = ByClass{}
	}
	(*b)[c] += n
}

// addAll adds others so many times.
func (b *ByClass) addAll(o ByClass, times int) {
	for c, n := range o {
		b.add(c, times*n)
	}
}

package outage

import (
	"slices"
	"time"
)

// ReasonKind is a kind of reasons.
type ReasonKind int

// Kinds of reasons. An outage begins by one that is Requested or Noticed.
const (
	Unexplained ReasonKind = iota
	Requested              // this program was asked to take the node down
	Noticed                // a sign by which the recorder noticed it
	ByAnother              // another operator switched the machine off
	Unanswered             // the node was only silent while the API server answered nobody
)

// Reason is what explains that a node is down.
type Reason struct {
	Kind ReasonKind
	// At is when it was requested or done; of a sign, when all was well last.
	At time.Time
	// Until is when it ended: the request was given up, or nodes can be heard again; zero if it did not.
	Until time.Time
	// Event is the index, among the events of the reader, of the one that says more.
	Event int
}

// Down is one time that a node was down. It has no spans if its machine was asked to go off and was not
// seen to go.
type Down struct {
	Node   string
	Reason Reason
	// From is when it was asked for, or when all was well last by its sign, else when the node was first
	// seen down. To is when it was back: Ready, if the control plane had found it not Ready; zero: it was not.
	From, To time.Time
	// Spans are what was seen of it, in the order in which they began.
	Spans []Span
}

const (
	// gap is the longest time between two spans that count as one time down: a node boots before it
	// is heard.
	gap = 5 * time.Second
	// early is how much earlier than its reason a node can be seen down: a poll can find its machine off
	// before its last heartbeat arrives.
	early = time.Second
	// brief is the length up to which a node that nothing explains has been down for a moment.
	brief = 2 * time.Second
)

// Downs joins all spans of a node into the times that it was down, in their order, each with its reason.
func Downs(node string, spans []Span, reasons []Reason) (out []Down) {
	reasons = slices.SortedStableFunc(slices.Values(reasons), func(a, b Reason) int { return a.At.Compare(b.At) })
	var last *Down
	for _, s := range slices.SortedStableFunc(slices.Values(spans), func(a, b Span) int { return a.From.Compare(b.From) }) {
		why := explains(reasons, s.From, last)
		switch {
		case last != nil && (last.lastsAt(s.From) || why.Kind == Unexplained && !s.From.After(last.To.Add(gap))):
			last.add(s)
		case s.Kind != SpanGone || why.Kind != Unexplained: // else its object was deleted while it was well
			out = append(out, Down{Node: node, Reason: why, From: s.From, To: s.To, Spans: []Span{s}})
			last = &out[len(out)-1]
		}
	}
	for i := range out {
		out[i].explain(reasons)
	}
	if n := len(reasons); n > 0 && (last == nil || !last.To.IsZero()) {
		if r := explains(reasons, reasons[n-1].At, last); r.Kind == Requested { // it was not seen to go
			out = append(out, Down{Node: node, Reason: r, From: r.At, To: r.At})
		}
	}
	return out
}

// explains returns the newest request or sign by which a node that was last down before went down then.
func explains(reasons []Reason, went time.Time, before *Down) (why Reason) {
	for _, r := range reasons {
		again := before == nil || !r.At.Before(before.To.Add(-early)) && r.At.After(before.Spans[0].From.Add(early))
		if r.Begins() && again && !r.At.After(went.Add(early)) && (r.Until.IsZero() || !r.Until.Before(went)) {
			why = r
		}
	}
	return why
}

// Begins reports whether it is a request or a sign, by which an outage begins.
func (r Reason) Begins() bool { return r.Kind == Requested || r.Kind == Noticed }

// lastsAt reports whether the node is still down then.
func (d *Down) lastsAt(at time.Time) bool { return d.To.IsZero() || at.Before(d.To) }

// add takes another span in.
func (d *Down) add(s Span) {
	d.Spans = append(d.Spans, s)
	if s.To.IsZero() || d.To.IsZero() {
		d.To = time.Time{}
	} else {
		d.To = latest(d.To, s.To)
	}
}

// explain finds the reason of an outage that began without one: a sign while it lasts, an API server
// that answered nobody, or another operator.
func (d *Down) explain(reasons []Reason) {
	from, to := d.From, d.To
	for _, r := range reasons {
		before := !to.IsZero() && !r.Until.IsZero() && !to.After(r.Until)
		switch {
		case d.Reason.Kind != Unexplained:
		case r.Kind == Noticed && r.At.After(from) && d.lastsAt(r.At),
			r.Kind == Unanswered && before && !from.Before(r.At) && d.First(SpanOff) == nil,
			r.Kind == ByAnother && !r.At.Before(from.Add(-gap)) && (to.IsZero() || !r.At.After(to.Add(gap))):
			d.Reason = r
		}
	}
	if d.Reason.Begins() {
		d.From = d.Reason.At
	}
	if at := d.Ready(); !d.To.IsZero() && d.Spans[len(d.Spans)-1].From.Before(at) { // its heartbeat or its machine may be read later
		d.To = at
	}
}

// First is the first span of a kind; nil if there is none.
func (d *Down) First(k SpanKind) *Span {
	if i := slices.IndexFunc(d.Spans, func(s Span) bool { return s.Kind == k }); i >= 0 {
		return &d.Spans[i]
	}
	return nil
}

// Since is when a span of a kind began; zero if none did, or nobody knows. Before a request to go off, the
// machine was on.
func (d *Down) Since(k SpanKind) time.Time {
	if s := d.First(k); s != nil && (!s.After.IsZero() || d.Reason.Kind == Requested) {
		return s.From
	}
	return time.Time{}
}

// NotReady are the times in which the control plane found the node not Ready, but not one that ended with its object.
func (d *Down) NotReady() []Span {
	gone := d.First(SpanGone)
	return slices.DeleteFunc(slices.Clone(d.Spans), func(s Span) bool {
		return s.Kind != SpanNotReady || gone != nil && s.To.Equal(gone.From)
	})
}

// Ready is when the control plane found the node Ready again; zero if it did not.
func (d *Down) Ready() (at time.Time) {
	for _, s := range d.NotReady() {
		at = latest(at, s.To)
	}
	return at
}

// Off reports whether the machine is still off.
func (d *Down) Off() bool {
	return slices.ContainsFunc(d.Spans, func(s Span) bool { return s.Kind == SpanOff && s.To.IsZero() })
}

// On is when the machine was found on again; zero: it is off, or was not seen off.
func (d *Down) On() (at time.Time) {
	for _, s := range d.Spans {
		if s.Kind == SpanOff {
			at = s.To
		}
	}
	return at
}

// Brief reports whether the node was down for a moment only.
func (d *Down) Brief() bool { return !d.To.IsZero() && d.To.Sub(d.From) < brief }

// Began is the earliest time at which it may have begun: without a request or a sign, lightsout sees a
// node go down only later.
func (d *Down) Began() time.Time {
	if d.Reason.Begins() {
		return d.From
	}
	return d.From.Add(-gap)
}

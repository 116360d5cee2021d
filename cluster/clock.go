package cluster

import (
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// clocksDiffer is the smallest reported difference between the server's clock and
	// this machine's: a smaller one is invisible in ages and evictions.
	clocksDiffer = 5 * time.Second
	// clockNoise is the error of a comparison: an answer's Date has whole seconds.
	clockNoise = 2 * time.Second
	// nodeClock is how far ahead a node's clock may be for its times to be used.
	nodeClock = time.Minute
)

// since returns when a condition took its state, after it had another one since earlier.
// A kubelet dates conditions by its machine's clock, which is often wrong after a boot:
// instead of a time that can't be, since returns earlier if the state is the same, else seen. It is
// not for times of the control plane, whose clock is compared with this machine's.
func since(dated, earlier, seen time.Time, same bool) time.Time {
	switch {
	case dated.IsZero() || !dated.Before(earlier.Truncate(time.Second)) && !dated.After(seen.Add(nodeClock)):
		return dated
	case same:
		return earlier
	}
	return seen
}

// serverClock compares the server's clock with this machine's by the Date of its
// answers. Between answers it goes by the monotonic clock, so that it also finds
// when this machine's clock is set. Safe for concurrent use.
type serverClock struct {
	base   time.Time
	beyond atomic.Pointer[time.Duration] // the server's clock less base and the time since; nil if unknown
}

// compare takes an answer to a request that was sent at began.
func (c *serverClock) compare(h http.Header, began time.Time) {
	took := time.Since(began)
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil || took > clockNoise {
		return
	}
	beyond := date.Add(time.Second / 2).Sub(c.base.Round(0).Add(began.Add(took / 2).Sub(c.base)))
	if old := c.beyond.Load(); old == nil || (beyond-*old).Abs() > clockNoise {
		c.beyond.Store(&beyond)
	}
}

// Ahead is how far the server's clock is ahead of this machine's. It is 0 when the
// difference is small or unknown, for example before the server's first answer.
func (c *Client) Ahead() time.Duration { return c.traffic.ahead() }

// ahead is how far the server's clock is ahead of this machine's now; 0 if the
// difference is small or unknown.
func (c *serverClock) ahead() time.Duration {
	beyond := c.beyond.Load()
	if beyond == nil {
		return 0
	}
	server := c.base.Round(0).Add(time.Since(c.base)).Add(*beyond)
	if d := server.Sub(time.Now().Round(0)).Round(time.Second); d.Abs() >= clocksDiffer {
		return d
	}
	return 0
}

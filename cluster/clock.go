package cluster

import (
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// clocksDiffer is from when on the server's clock and this machine's are said
	// to differ: less does not show in ages and evictions.
	clocksDiffer = 5 * time.Second
	// clockNoise is what a comparison may be wrong by: an answer's Date has whole
	// seconds.
	clockNoise = 2 * time.Second
)

// clock compares the server's clock with this machine's by the Date of its
// answers. Between answers it goes by the monotonic clock, so that it also finds
// when this machine's clock is set. Safe for concurrent use.
type clock struct {
	base   time.Time
	beyond atomic.Pointer[time.Duration] // the server's clock less base and what has passed since; nil: not known
}

// compare takes an answer to a request that was sent at began.
func (c *clock) compare(h http.Header, began time.Time) {
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

// ahead is how much the server's clock is ahead of this machine's as of this
// moment; 0 when that is little or not known.
func (c *clock) ahead() time.Duration {
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

package trial

import (
	"fmt"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
)

// compareEvery is the interval at which a trial compares what its watches have delivered
// with what the API server has.
const compareEvery = 10 * time.Second

// comparison compares the watches of a trial with the API server. A trial whose watch was
// stuck saw changes late, so its verdict is "not observed".
type comparison struct {
	r       *run
	begun   time.Time // when the newest one began
	running bool
}

// beginIfDue begins a comparison when it is due, from the first power-off on.
func (c *comparison) beginIfDue() {
	if !c.r.zero.IsZero() && !c.running && c.r.now().Sub(c.begun) >= compareEvery {
		c.begin()
	}
}

func (c *comparison) begin() {
	c.begun = c.r.now()
	c.running = c.r.s.Stale(c.r.deployment.Namespace, func(stale []cluster.Kind) {
		c.running = false
		for _, kind := range stale {
			why := fmt.Sprintf("the watch of the %ss was stuck: lightsout saw their changes late", kind)
			if !slices.Contains(c.r.unsteady, why) {
				c.r.unsteady = append(c.r.unsteady, why)
				c.r.s.Warn(view.LaneLink, "API server", why)
			}
		}
	})
}

// once returns a poll that ends when one more comparison is over.
func (c *comparison) once() poll {
	begun := false
	return func(time.Time) (bool, string, error) {
		if !begun && !c.running {
			begun = true
			c.begin()
		}
		return begun && !c.running, "comparing what the watches delivered with the API server", nil
	}
}

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

// compareNowAndThen compares from the first power-off on, while the trial lasts.
func (r *run) compareNowAndThen() {
	if !r.zero.IsZero() && !r.comparing && r.now().Sub(r.compared) >= compareEvery {
		r.compare()
	}
}

// compare begins a comparison. A trial whose watch was stuck saw changes late, so its
// verdict is "not observed".
func (r *run) compare() {
	r.compared = r.now()
	r.comparing = r.s.Stale(r.deployment.Namespace, func(stale []cluster.Kind) {
		r.comparing = false
		for _, kind := range stale {
			why := fmt.Sprintf("the watch of the %ss was stuck: lightsout saw their changes late", kind)
			if !slices.Contains(r.unsteady, why) {
				r.unsteady = append(r.unsteady, why)
				r.s.Warn(view.LaneLink, "API server", why)
			}
		}
	})
}

// compareOnce returns a poll that ends when one more comparison is over.
func compareOnce(r *run) poll {
	begun := false
	return func(time.Time) (bool, string, error) {
		if !begun && !r.comparing {
			begun = true
			r.compare()
		}
		return begun && !r.comparing, "comparing what the watches delivered with the API server", nil
	}
}

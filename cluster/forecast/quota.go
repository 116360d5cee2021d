package forecast

import (
	"fmt"
	"time"

	"lightsout/cluster/place"
)

const (
	// quotaResync is the control plane's period between two counts of a quota of which nothing
	// reports a change (--resource-quota-sync-period), by default.
	quotaResync = 5 * time.Minute
	// firstRetry is how long a controller waits before it tries again to create a pod; it waits
	// twice as long each time (DefaultTypedControllerRateLimiter of client-go).
	firstRetry = 5 * time.Millisecond
)

// Late states how many pods a quota keeps from being created, and until when after the eviction;
// it is empty if there are none. A pod that hangs counts for its grace period twice: once up to
// its deletionTimestamp, once more after it (QuotaV1Pod of pkg/quota/v1/evaluator/core).
func Late(o *place.Outcome) string {
	if o.Late.High == 0 {
		return ""
	}
	counts := 2 * o.Grace
	last := firstRetry
	for try := firstRetry; last < counts+quotaResync; try *= 2 {
		last += try
	}
	minutes := func(d time.Duration) time.Duration { return (d + time.Minute - 1) / time.Minute }
	return fmt.Sprintf("a quota keeps %s from being created until about %d–%d min after the eviction (it counts a pod that hangs for twice its grace period, and is recounted every %d min by default)",
		ranged(o.Late), minutes(counts), minutes(last), minutes(quotaResync))
}

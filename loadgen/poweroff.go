package loadgen

import (
	"slices"
	"time"
)

// PowerOffs are the power-off requests of a record by their time, as its owner knows them when it asks
// a Window. The first one is zero.
type PowerOffs []PowerOff

// PowerOff is the power-off request of one node. On is the first power-on request of that node
// after it, or the zero time. Detected is when the control plane marked the node NotReady after
// Off, and Returned when all nodes that were off then were Ready again and the deployment had all
// its pods, or the zero time.
type PowerOff struct {
	Off      time.Time `json:"off"`
	Detected time.Time `json:"detected,omitzero"`
	On       time.Time `json:"on,omitzero"`
	Returned time.Time `json:"returned,omitzero"`
}

// through reports whether a silence lasts from the first half of an outage until after its power-on.
func (o PowerOffs) through(x silence) bool {
	return slices.ContainsFunc(o, func(o PowerOff) bool {
		half := o.Off.Add(o.On.Sub(o.Off) / 2)
		return !o.On.IsZero() && x.since <= half.Unix() && x.until > o.On.Unix()
	})
}

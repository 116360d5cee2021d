package loadgen

import (
	"slices"
	"time"
)

// PowerOffs are the power-off requests of a trial in order, with the times that error
// windows depend on. The first one is zero.
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

	node string // empty until it is known
}

// SwitchedOff adds the power-off request of a node, or names the node of the first one.
func (o *PowerOffs) SwitchedOff(node string, at time.Time) {
	n := len(*o)
	if n == 1 && (*o)[0].node == "" && node != "" {
		(*o)[0].node = node
		return
	}
	if n > 0 && at.Before((*o)[n-1].Off) {
		at = (*o)[n-1].Off
	}
	*o = append(*o, PowerOff{Off: at, node: node})
}

// SwitchedOn adds a power-on request of a node.
func (o PowerOffs) SwitchedOn(node string, at time.Time) {
	for i := range o {
		if o[i].node == node && o[i].On.IsZero() {
			o[i].On = at
		}
	}
}

// MarkedNotReady records when the control plane marked a node NotReady after its last power-off.
func (o PowerOffs) MarkedNotReady(node string, at time.Time) {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].node == node {
			o[i].Detected = at
			return
		}
	}
}

// FirstOn is the first power-on request of any node, or the zero time.
func (o PowerOffs) FirstOn() (first time.Time) {
	for _, x := range o {
		if first.IsZero() || !x.On.IsZero() && x.On.Before(first) {
			first = x.On
		}
	}
	return first
}

// through reports whether a silence lasts from the first half of an outage until after its power-on.
func (o PowerOffs) through(x silence) bool {
	return slices.ContainsFunc(o, func(o PowerOff) bool {
		half := o.Off.Add(o.On.Sub(o.Off) / 2)
		return !o.On.IsZero() && x.since <= half.Unix() && x.until > o.On.Unix()
	})
}

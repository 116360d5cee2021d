package session

import (
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/power"
)

// outages keeps the spans in which nodes were off or not Ready.
type outages struct {
	view.Outages
	seen *cluster.Snapshot // whose nodes were looked at last
}

// power follows a look at a node's machine. Unknown tells nothing.
func (o *outages) power(node string, r power.Reading) {
	switch r.State {
	case power.Off:
		o.Set(node, view.OutageOff, true, r.At)
	case power.On:
		o.Set(node, view.OutageOff, false, r.At)
	}
}

// look follows the nodes' conditions.
func (o *outages) look(s *cluster.Snapshot, now time.Time) {
	if o.seen != nil && s.SameNodes(o.seen) {
		return
	}
	o.seen = s
	for _, n := range s.Nodes() {
		if n.Gone.IsZero() {
			o.Set(n.Name, view.OutageNotReady, n.Ready != cluster.TriTrue, now)
		}
	}
}

package session

import (
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/power"
)

// outages keeps the spans in which nodes were off or not Ready. It belongs to
// the engine's loop; the slice handed out is never changed.
type outages struct{ spans []view.Outage }

// set begins or ends the span of that kind for a node.
func (o *outages) set(node string, kind view.OutageKind, down bool, at time.Time) {
	for i := len(o.spans) - 1; i >= 0; i-- {
		s := o.spans[i]
		if s.Node != node || s.Kind != kind {
			continue
		}
		if s.To.IsZero() == down {
			return // as it was
		}
		if !down {
			spans := append([]view.Outage(nil), o.spans...)
			spans[i].To = at
			o.spans = spans
			return
		}
		break
	}
	if down {
		o.spans = append(o.spans[:len(o.spans):len(o.spans)], view.Outage{Node: node, Kind: kind, From: at})
	}
}

// power follows a look at a node's machine. Unknown tells nothing.
func (o *outages) power(node string, r power.Reading) {
	switch r.State {
	case power.Off:
		o.set(node, view.OutageOff, true, r.At)
	case power.On:
		o.set(node, view.OutageOff, false, r.At)
	}
}

// look follows the nodes' conditions.
func (o *outages) look(s *cluster.Snapshot, now time.Time) {
	for _, n := range s.Nodes() {
		if n.Gone.IsZero() {
			o.set(n.Name, view.OutageNotReady, n.Ready != cluster.TriTrue, now)
		}
	}
}

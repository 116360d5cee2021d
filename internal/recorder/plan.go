package recorder

import (
	"cmp"
	"time"

	"lightsout/internal/planned"
)

const (
	// plannedSettles is how long after its node went down a planned switch-off explains failures that begin:
	// Kubernetes takes 50 s to mark the node, waits for the tolerations, 300 s by default, and starts pods.
	plannedSettles = 8 * time.Minute
	// plannedReturn is how long after its return the node explains them.
	plannedReturn = time.Minute
)

// beside are the mutes of what may fail beside the node: with its switch-off, for as long as that goes on,
// and with its return, from the first heartbeat on.
func beside(p *planned.Off) mutes {
	until := p.Until()
	goes := mute{why: besidePlan, from: p.Since, stage: muted}
	comes := goes
	if !p.Went.IsZero() {
		goes.takes = p.Went.Add(plannedSettles)
	}
	comes.from = cmp.Or(p.Heard, until)
	comes.to = comes.from.Add(planned.ReturnsWithin)
	if !until.IsZero() {
		goes.to = until.Add(plannedReturn)
		comes.to = goes.to
	}
	if comes.from.IsZero() {
		return mutes{goes}
	}
	return mutes{goes, comes}
}

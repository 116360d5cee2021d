package phase

import (
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// Outages returns the power-off requests so far, each with its detection and return.
func (t *Tracker) Outages() loadgen.PowerOffs {
	for _, name := range t.names {
		t.noteDetection(name)
	}
	t.noteReturn()
	return slices.Clone(t.failures.outages)
}

// noteDetection records when a node was detected: its row shows only its last outage.
func (t *Tracker) noteDetection(name string) {
	if at, seen := t.Observed(view.PhaseDetected, name); seen {
		t.failures.outages.MarkedNotReady(name, at)
	}
}

// noteReturn records when the present outage was over: the rows show only the last one.
func (t *Tracker) noteReturn() {
	at := t.returnedAt()
	for i := range t.failures.outages[t.failures.earlier:] {
		t.failures.outages[t.failures.earlier+i].Returned = at
	}
}

// returnedAt is when all nodes of the present outage were Ready again and the deployment had all
// its pods; zero before.
func (t *Tracker) returnedAt() (last time.Time) {
	for _, name := range t.down() {
		at, seen := t.Observed(view.PhaseReady, name)
		if !seen {
			return time.Time{}
		}
		if at.After(last) {
			last = at
		}
	}
	if t.deployment == (cluster.Key{}) {
		return last
	}
	at, seen := t.Observed(view.PhaseRestored, t.deployment.String())
	switch {
	case !seen && t.rows[rowKey{view.PhaseRestored, t.deployment.String()}] != nil:
		return time.Time{}
	case at.After(last):
		return at
	}
	return last
}

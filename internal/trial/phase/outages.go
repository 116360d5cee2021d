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

// noteReturn records when the outages were over: the rows show only the last one. An earlier outage
// that was not over when the next one began ends with that one.
func (t *Tracker) noteReturn() {
	at := t.returnedAt()
	for i := range t.failures.outages {
		if o := &t.failures.outages[i]; i >= t.failures.earlier || o.Returned.IsZero() {
			o.Returned = at
		}
	}
}

// returnedAt is when all nodes were Ready again and the deployment had all its pods; zero before.
func (t *Tracker) returnedAt() (last time.Time) {
	for _, name := range t.names {
		at, seen := t.Observed(view.PhaseReady, name)
		if !seen && (isDown(t, name) || !t.nodes[name].up()) {
			return time.Time{}
		}
		if at.After(last) {
			last = at
		}
	}
	restored := t.rows[rowKey{view.PhaseRestored, t.deployment.String()}]
	if t.deployment == (cluster.Key{}) || restored == nil {
		return last
	}
	if !restored.seen() {
		return time.Time{}
	}
	if restored.when.By.After(last) {
		return restored.when.By
	}
	return last
}

package session

import (
	"slices"

	"lightsout/cluster"
)

// historyLen is how many seconds of available replicas are kept.
const historyLen = 120

// historyMost bounds the deployments that a history is kept for, so that a
// cluster of thousands costs nothing; the first ones in order are kept.
const historyMost = 200

// history is the available replicas of deployments, once a second. It is not
// changed any more: frames that were handed out hold it.
type history map[cluster.Key][]int

// with returns the history extended by a snapshot.
func (h history) with(s *cluster.Snapshot) history {
	next := make(history, len(h))
	for i, d := range s.Deployments() {
		if i >= historyMost {
			break
		}
		old := h[d.Key]
		if len(old) >= historyLen {
			old = old[len(old)-historyLen+1:]
		}
		next[d.Key] = append(slices.Clone(old), d.Available)
	}
	return next
}

package session

import (
	"maps"
	"time"

	"lightsout/cluster"
)

// historyLen is how many seconds of available replicas are kept.
const historyLen = 120

// historyMost bounds the deployments that a history is kept for, so that a
// cluster of thousands costs nothing; the first ones in order are kept.
const historyMost = 200

// history keeps the available replicas of deployments, once a second. It
// belongs to the session's loop.
type history struct {
	series map[cluster.Key][]int
	last   time.Time
}

func (h *history) sample(s *cluster.Snapshot, now time.Time) {
	if now.Sub(h.last) < beat/2 {
		return
	}
	h.last = now
	next := make(map[cluster.Key][]int, len(h.series))
	for i, d := range s.Deployments() {
		if i >= historyMost {
			break
		}
		old := h.series[d.Key]
		if len(old) >= historyLen {
			old = old[len(old)-historyLen+1:]
		}
		// A copy: frames that were handed out hold the old one.
		next[d.Key] = append(append(make([]int, 0, len(old)+1), old...), d.Available)
	}
	h.series = next
}

func (h *history) shown() map[cluster.Key][]int { return maps.Clone(h.series) }

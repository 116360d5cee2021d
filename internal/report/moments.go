package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// moment is how the cluster was at one time of the trial.
type moment struct {
	name  string
	at    time.Time
	frame *view.Frame
	racks []rack
}

// rack is a node with its pods; the one without a name has the pods of no node.
type rack struct {
	name  string
	word  string // as kubectl would say it
	look  rackLook
	tiles []tile
}

// count is how many tiles of a sort it has.
func (k rack) count(sort tile) (n int) {
	for _, x := range k.tiles {
		if x == sort {
			n++
		}
	}
	return n
}

// rackLook is how a node's rack is drawn.
type rackLook string

const (
	rackReady    rackLook = "ready"
	rackNotReady rackLook = "not ready"
	rackOff      rackLook = "off" // its machine is off, or presumed so
	rackNone     rackLook = "no node"
)

// tile is a pod.
type tile string

// Kinds of tiles, in the order in which they are drawn.
const (
	tileReady   tile = "ready"
	tileWaiting tile = "not ready"
	tileEnding  tile = "terminating"
	tileLost    tile = "lost"
)

var tileOrder = []tile{tileReady, tileWaiting, tileEnding, tileLost}

// together is how close moments must come to be told as one.
const together = time.Second

// momentsOf finds the moments that matter and how the cluster was then: at
// zero, when the nodes were detected, their pods evicted and replaced, when the
// nodes were Ready again and all was restored, and the end. Without samples
// there are none.
func momentsOf(r *record.Record) []moment {
	if len(r.Samples) == 0 || r.Zero.IsZero() {
		return nil
	}
	chosen := []moment{{name: "at zero", at: r.Zero}}
	for _, p := range []struct{ phase, name string }{
		{view.PhaseDetected, "detected"}, {view.PhaseEvicted, "evicted"}, {view.PhaseReplaced, "replaced"},
		{view.PhaseReady, "nodes Ready again"}, {view.PhaseRestored, "restored"},
	} {
		at := lastSeen(summaryOf(r), p.phase)
		if at == nil || unseenAt(r, secondsAfter(r, *at)) {
			continue // the samples show the cluster as it was before
		}
		chosen = append(chosen, moment{name: p.name, at: secondsAfter(r, *at)})
	}
	chosen = append(chosen, moment{name: "at the end", at: r.End})
	slices.SortStableFunc(chosen, func(a, b moment) int { return a.at.Compare(b.at) })
	var out []moment
	for _, m := range chosen {
		if n := len(out); n > 0 && m.at.Sub(out[n-1].at) < together {
			out[n-1].name, out[n-1].at = out[n-1].name+", "+m.name, m.at
			continue
		}
		out = append(out, m)
	}
	cursor := record.Cursor{Record: r}
	for i := range out {
		m := &out[i]
		shown := m.at
		if i > 0 {
			shown = r.Shown(m.at, 0)
		}
		m.frame = cursor.To(shown).Frame(shown)
		m.racks = racksOf(m.frame)
	}
	return slices.DeleteFunc(out, func(m moment) bool { return len(m.racks) == 0 })
}

// lastSeen is when a phase was seen of the last of its subjects.
func lastSeen(s *record.Summary, phase string) (at *float64) {
	for _, p := range s.Phases {
		if p.Name == phase && !p.Before && p.Observed != nil && (at == nil || *p.Observed > *at) {
			at = p.Observed
		}
	}
	return at
}

// racksOf are the nodes of a moment, with those at the end whose pods have none.
func racksOf(f *view.Frame) []rack {
	s, now := f.Snapshot, f.Now
	if s == nil {
		return nil
	}
	byNode := map[string][]tile{}
	for _, p := range s.Pods() {
		if k, here := tileOf(s, p, now); here {
			byNode[p.Node] = append(byNode[p.Node], k)
		}
	}
	var out []rack
	add := func(r rack) {
		slices.SortStableFunc(r.tiles, func(a, b tile) int { return cmp.Compare(slices.Index(tileOrder, a), slices.Index(tileOrder, b)) })
		out = append(out, r)
	}
	for _, n := range s.Nodes() {
		if !n.Gone.IsZero() {
			continue
		}
		r := rack{name: n.Name, word: s.NodeWord(n, now), look: rackReady, tiles: byNode[n.Name]}
		switch {
		case f.Power[n.Name].Reading.State == power.Off:
			r.look = rackOff
		case n.Ready != cluster.TriTrue:
			r.look = rackNotReady
		}
		add(r)
	}
	if none := byNode[""]; len(none) > 0 && len(out) > 0 {
		add(rack{word: "of no node", look: rackNone, tiles: none})
	}
	return out
}

// tileOf tells how a pod is drawn, and whether it is.
func tileOf(s *cluster.Snapshot, p *cluster.Pod, now time.Time) (tile, bool) {
	switch {
	case !p.Gone.IsZero() || p.Phase == "Succeeded" || p.Phase == "Failed":
		return "", false
	case !p.Deleting.IsZero():
		return tileEnding, true
	case s.PodLost(p, now):
		return tileLost, true
	case p.Ready:
		return tileReady, true
	}
	return tileWaiting, true
}

// momentsSection is the cluster at the moments that matter: drawn in HTML, and
// as numbers everywhere.
func momentsSection(r *record.Record) section {
	t := section{ID: "moments", Title: "The cluster at the moments that matter"}
	all := momentsOf(r)
	if len(all) == 0 {
		return t
	}
	t.columns("moment")
	t.figures("time", "nodes Ready", "machines off", "pods ready", "available", "served", "queued")
	for _, m := range all {
		ready, off, pods, podsReady := 0, 0, 0, 0
		machines := none // without power drivers nobody read them
		for _, k := range m.racks {
			if k.look == rackReady {
				ready++
			}
			pods += len(k.tiles)
			podsReady += k.count(tileReady)
		}
		for _, x := range m.frame.Power { // also of deleted nodes
			if x.Reading.State == power.Off {
				off++
			}
		}
		if len(m.frame.Power) > 0 {
			machines = itoa(off)
		}
		nodes := len(m.racks)
		if m.racks[nodes-1].look == rackNone {
			nodes--
		}
		available := none
		if d := m.frame.Snapshot.Deployment(r.Deployment()); d != nil {
			available = fmt.Sprintf("%d/%d", d.Available, d.Replicas)
		}
		g := m.frame.Load.Gauge
		at := offset(m.at.Sub(base(r)).Seconds())
		t.row(m.name, at, fmt.Sprintf("%d/%d", ready, nodes), machines, fmt.Sprintf("%d/%d", podsReady, pods), available, g.Served, g.Queued)
		t.Pictures = append(t.Pictures, drawn{Title: clean(at + " " + m.name), SVG: template.HTML(drawRacks(m))})
	}
	return t
}

// describeRacks describes the drawn racks in words.
func describeRacks(m moment) string {
	var parts []string
	for _, k := range m.racks {
		var pods []string
		for _, x := range tileOrder {
			if n := k.count(x); n > 0 {
				pods = append(pods, fmt.Sprintf("%d %s", n, x))
			}
		}
		word := k.word
		if k.look == rackOff {
			word += ", machine off"
		}
		parts = append(parts, cmp.Or(k.name, "no node")+" ("+word+"): "+orNone(strings.Join(pods, ", ")))
	}
	return text.Clean(strings.Join(parts, "; "), 1000)
}

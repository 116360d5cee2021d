package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/internal/view"
)

// life is a pod as it was shown last, with its first deletion: its end may be another. It had ended at ended if it
// did before anybody deleted it. It had no node from waits until placed; zero: it never waited, or still does. It was gone
// by gone; zero: it is there.
type life struct {
	*cluster.Pod
	deleted, ended, waits, placed, gone time.Time
}

// shown is the pod as it is shown at a time.
func (l life) shown(p *cluster.Pod, at time.Time) life {
	l.Pod, l.deleted, l.gone = p, cmp.Or(l.deleted, p.Deleting), p.Gone
	if p.Finished() && l.deleted.IsZero() {
		l.ended = cmp.Or(l.ended, at)
	}
	if waiting(p) {
		l.waits, l.placed = cmp.Or(l.waits, at), time.Time{}
	}
	return l
}

// waiting reports whether a pod has no node, and nobody deletes it.
func waiting(p *cluster.Pod) bool {
	return p.Node == "" && p.Phase == "Pending" && p.Gone.IsZero() && p.Deleting.IsZero()
}

// pods are the pods of workloads in a record's samples, by idOf, and for each workload the readings that
// they give.
type pods struct {
	lives    map[string]life
	owners   map[cluster.Key]cluster.Ref // the workload of each pod and of each ReplicaSet
	readings map[cluster.Ref][]reading
}

// workloadOf is the deployment or StatefulSet that a pod belongs to; of others it has no kind.
func workloadOf(p *cluster.Pod) cluster.Ref {
	if w := p.Workload(); w.Kind == cluster.KindDeployment || w.Kind == cluster.KindStatefulSet {
		return w
	}
	return cluster.Ref{}
}

// idOf tells a pod from a later one of its name.
func idOf(p *cluster.Pod) string { return p.Key.String() + " " + p.UID }

// tally counts pods of a workload.
type tally struct{ all, serving, waiting int }

func (t *tally) add(p *cluster.Pod, n int) {
	if !p.Finished() && p.Gone.IsZero() {
		t.all += n
	}
	if p.Serving() {
		t.serving += n
	}
	if waiting(p) {
		t.waiting += n
	}
}

// podsIn follows the pods of a record. It looks at each change of a pod once.
func podsIn(r *record.Record) *pods {
	all := &pods{map[string]life{}, map[cluster.Key]cluster.Ref{}, map[cluster.Ref][]reading{}}
	now, counts, told := map[cluster.Key]*cluster.Pod{}, map[cluster.Ref]*tally{}, map[cluster.Ref]tally{}
	drop := func(k cluster.Key, at time.Time) {
		if p := now[k]; p != nil {
			counts[workloadOf(p)].add(p, -1)
			delete(now, k)
			x := all.lives[idOf(p)]
			x.placed, x.gone = cmp.Or(x.placed, at), cmp.Or(x.gone, at)
			all.lives[idOf(p)] = x
		}
	}
	for i := range r.Samples {
		x := &r.Samples[i]
		if x.Key {
			for k := range now {
				drop(k, x.At)
			}
		}
		if x.Cluster != nil {
			for _, k := range x.Cluster.GonePods {
				drop(k, x.At)
			}
			for _, p := range x.Cluster.Pods {
				if p == nil || workloadOf(p).Kind == "" {
					continue
				}
				drop(p.Key, x.At)
				w := workloadOf(p)
				counts[w] = cmp.Or(counts[w], &tally{})
				counts[w].add(p, 1)
				now[p.Key], all.lives[idOf(p)] = p, all.lives[idOf(p)].shown(p, x.At)
				all.owners[p.Key], all.owners[cluster.Key{Namespace: p.Namespace, Name: p.OwnerName}] = w, w
			}
		}
		if x.More {
			continue
		}
		for w, t := range counts {
			last, known := told[w]
			if known && last == *t {
				continue
			}
			told[w] = *t
			available, replicas := -1, -1
			if w.Kind == cluster.KindStatefulSet { // of a deployment, Kubernetes counts them
				available = t.serving
				if !known { // some may lack already
					replicas = t.all
				}
			}
			all.readings[w] = append(all.readings[w], reading{x.At, available, replicas, t.waiting})
		}
	}
	all.marked(r)
	return all
}

// marked sets when Kubernetes reports to have deleted pods that no sample shows as Terminating.
func (all *pods) marked(r *record.Record) {
	evictions := map[cluster.Key]time.Time{}
	for i := range r.Events {
		if e := &r.Events[i]; e.To == "TaintManagerEviction" && strings.HasPrefix(e.Why, "Marking for deletion") {
			evictions[cluster.Key{Namespace: e.Namespace, Name: e.Subject}] = e.When().By
		}
	}
	for id, p := range all.lives {
		if at := evictions[p.Key]; p.deleted.IsZero() && !p.Created.After(at) && (p.gone.IsZero() || !at.After(p.gone)) {
			p.deleted = at
			all.lives[id] = p
		}
	}
}

// placed is when the last pod of a workload that waited for a node did so no more; zero: one still did, or none had
// begun to since the zero of the record.
func (all *pods) placed(r *record.Record) (last time.Time) {
	for _, p := range all.lives {
		if p.waits.IsZero() || past(r, p.waits) {
			continue
		}
		if p.placed.IsZero() {
			return p.placed
		}
		last = latest(last, p.placed)
	}
	return last
}

// evict sets when the first pod on each node was deleted while that was down, unless that is known.
func (all *pods) evict(r *record.Record, nodes []NodeFacts) {
	marked := map[cluster.Key]time.Time{} // a kubelet that is back sets the deletion anew
	for i := range r.Events {
		if e := &r.Events[i]; e.Code == view.CodePodStatus && e.To == "Terminating" {
			marked[cluster.Key{Namespace: e.Namespace, Name: e.Subject}] = e.When().By
		}
	}
	for i := range nodes {
		n, seen := &nodes[i], nodes[i].Evicted.IsZero()
		for _, p := range all.lives {
			at := cmp.Or(marked[p.Key], p.deleted)
			if seen && p.Node == n.Node && n.holds(at) && (n.To.IsZero() || at.Before(n.To)) && (n.Evicted.IsZero() || at.Before(n.Evicted)) {
				n.Evicted = at
			}
		}
	}
}

// lostBy are the pods of a workload that were on nodes of an outage when those went down, or were drained, each with
// its node; of nodes that were unheard, those that were deleted meanwhile.
func (all *pods) lostBy(f *Facts, w cluster.Ref) (lost []life, nodes []NodeFacts) {
	away := slices.Concat(f.Nodes, f.unheard)
	for _, p := range all.lives {
		if workloadOf(p.Pod) != w {
			continue
		}
		i := slices.IndexFunc(away, func(n NodeFacts) bool {
			at := n.drained.Truncate(time.Second) // as a pod's times
			there := !p.Created.After(at) && (p.gone.IsZero() || p.gone.After(n.drained))
			there = there && (n.Reason.Kind != outage.Unanswered || n.holds(p.deleted))
			return n.Node == p.Node && there && (p.deleted.IsZero() || !p.deleted.Before(at))
		})
		if i >= 0 {
			lost, nodes = append(lost, p), append(nodes, away[i])
		}
	}
	return lost, nodes
}

// attachFailed is the reason of the attach/detach controller's events about a volume that it cannot
// attach, and multiAttach is in their message if the volume is still attached to another node.
const (
	attachFailed = "FailedAttachVolume"
	multiAttach  = "Multi-Attach error for volume "
)

// notPlaced are the reasons of Kubernetes' events about pods that are not created, placed or started.
var notPlaced = []string{"FailedScheduling", "FailedCreate", attachFailed}

// told are Kubernetes' events about pods of a workload in a time that have one of the reasons.
func (all *pods) told(r *record.Record, of cluster.Ref, from, to time.Time, reasons ...string) (out []*view.Event) {
	for i := range r.Events {
		e := &r.Events[i]
		owner, known := all.owners[cluster.Key{Namespace: e.Namespace, Name: e.Subject}]
		mine := known && owner == of || !known && e.Namespace == of.Namespace && (e.Subject == of.Name || strings.HasPrefix(e.Subject, of.Name+"-"))
		if mine && e.Change == cluster.ChangeEvent && slices.Contains(reasons, e.To) && !e.When().By.Before(from) && !e.Seen.After(to) {
			out = append(out, e)
		}
	}
	return out
}

// reported is what Kubernetes reported for longest in a time about pods of a workload that did not start, when it began to, and for how long.
func (all *pods) reported(r *record.Record, of cluster.Ref, from, to time.Time) (why string, began time.Time, long time.Duration) {
	lasted, events := map[string]time.Duration{}, all.told(r, of, from, to, notPlaced...)
	for i, e := range events {
		until := to
		began = cmp.Or(began, e.Seen)
		if i+1 < len(events) {
			until = events[i+1].Seen
		}
		said := e.To + ": " + cluster.Unpreempted(e.Why)
		lasted[said] += until.Sub(e.Seen)
		if lasted[said] >= lasted[why] {
			why = said
		}
	}
	return why, began, lasted[why]
}

// preempted is how many pods of a workload Kubernetes preempted in an outage, and for which workloads if the record
// shows those.
func (all *pods) preempted(r *record.Record, of cluster.Ref, f *Facts) string {
	victims, by := map[string]bool{}, map[string]bool{}
	for _, e := range all.told(r, of, f.From, f.over, "Preempted") {
		victims[e.Subject] = true
		for _, p := range all.lives {
			if p.UID != "" && strings.Contains(e.Why, p.UID) {
				by[clean(workloadOf(p.Pod).Key.String())] = true
			}
		}
	}
	if len(victims) == 0 {
		return ""
	}
	return strings.TrimSuffix(itoa(len(victims))+" preempted by "+text.List(slices.Sorted(maps.Keys(by))), " by ")
}

// because is why pods of a workload lacked for so long, by what became of those that were on the nodes.
func (w *Workload) because(r *record.Record, f *Facts, all *pods) string {
	lost, nodes := all.lostBy(f, w.Ref)
	reported, began, long := all.reported(r, w.Ref, f.drained, cmp.Or(w.To, f.over))
	w.reported = reported
	if long < time.Second { // each pod waits for the scheduler
		reported = ""
	}
	if message, found := strings.CutPrefix(reported, "FailedScheduling: "); found {
		reported = "the scheduler found no node: " + cluster.Short(message)
	}
	preempted := all.preempted(r, w.Ref, f)
	if w.lost() > len(lost) && len(f.unheard) > 0 {
		preempted = joined(text.Noun(len(lost)+1, "pods", "others")+" on nodes that Kubernetes marked NotReady while the API server gave no answer", preempted)
	}
	if len(lost) == 0 || w.lost() == 0 {
		return joined(preempted, reported)
	}
	w.on = nodes
	back := slices.ContainsFunc(nodes, func(n NodeFacts) bool { at := cmp.Or(n.Booted, n.To); return !at.IsZero() && !began.Before(at) })
	fate := w.fate(lost, nodes, cluster.Pinned(w.reported) && !back)
	reported = map[bool]string{true: "then "}[fate != stays && fate != "" && reported != ""] + reported
	return joined(fate, preempted, reported)
}

// where is on which nodes lost pods were, by the node of each; empty if that is unknown.
func where(on []NodeFacts) string {
	if len(on) == 0 {
		return ""
	}
	return text.Count(len(on), "pod", "pods") + " on " + named(on)
}

// Fates of pods on nodes that were down: of those of a StatefulSet that were deleted, of those that were not, and of
// those that no other node may have.
const (
	hangs  = "a StatefulSet makes a new pod only when the old one has ended: on a silent node it stays Terminating until the node is back"
	kept   = "not deleted: back with their node, which was Ready again"
	awaits = "not deleted when the record ended"
	stays  = "kept there by a volume that other nodes cannot reach"
)

// fate is what became of the lost pods of a workload while their nodes were down; empty: unknown. pinned: the scheduler
// reported meanwhile that their volumes keep them there.
func (w *Workload) fate(lost []life, nodes []NodeFacts, pinned bool) string {
	ended, drained, deleted := 0, 0, false
	for i, p := range lost {
		n := nodes[i]
		if !p.deleted.IsZero() && p.deleted.Before(n.From.Truncate(time.Second)) {
			drained++
		}
		if n.Cause == causeShutdown && !p.ended.IsZero() && (n.To.IsZero() || p.ended.Before(n.To)) {
			ended++
		}
		deleted = deleted || !p.deleted.IsZero() && (n.To.IsZero() || p.deleted.Before(n.To.Truncate(time.Second)))
	}
	switch {
	case drained > 0:
		return strings.TrimPrefix(itoa(drained)+" ", itoa(len(lost))+" ") + "evicted by the drain"
	case ended == len(lost):
		return "ended with the shutdown"
	case pinned:
		return stays
	case deleted && w.Kind == cluster.KindStatefulSet:
		return hangs
	case deleted:
		return "deleted" + tolerated(lost, " after ")
	case w.Hidden: // perhaps nobody saw it
		return ""
	case slices.ContainsFunc(nodes, func(n NodeFacts) bool { return n.To.IsZero() }):
		return awaits + tolerated(lost, ": ")
	}
	return kept + tolerated(lost, " within ")
}

// tolerated is how long pods tolerate a node that is unreachable, if all do alike, after a word.
func tolerated(lost []life, after string) string {
	d := lost[0].UnreachableFor
	switch {
	case d == 0, slices.ContainsFunc(lost, func(p life) bool { return p.UnreachableFor != d }):
		return ""
	case d < 0:
		return ": tolerated for ever"
	}
	return after + strings.TrimSuffix(tolerationOf, " of ") + " " + text.Span(d)
}

package record

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// difference returns the changes of f since old; a nil old is empty. It reports whether
// there is something new: heartbeats, the time of readings and contact, and seconds
// without events are written, but do not count as new.
func difference(old, f *view.Frame) (x Sample, news bool) {
	old = cmp.Or(old, &view.Frame{})
	x = Sample{At: f.Now, Seq: newestEvent(f)}
	news = x.Seq != newestEvent(old)
	note := func(changed bool) { news = news || changed }
	note(setIfChanged(&x.Title, old.Title, f.Title, equal))
	note(setIfChanged(&x.Zero, old.Zero, f.Zero, time.Time.Equal))
	note(setIfChanged(&x.NoLoad, old.NoLoad, f.NoLoad, equal))
	note(setIfChanged(&x.Focus, old.Focus, f.Focus, equal))
	note(setIfChanged(&x.Next, old.Next, append([]string{}, f.Next...), slices.Equal))
	note(setIfChanged(&x.Outages, old.Outages, append([]outage.Span{}, f.Outages...), slices.Equal))
	note(setIfChanged(&x.Notice, old.Notice, f.Notice, func(a, b view.Notice) bool { return a.Text == b.Text && a.At.Equal(b.At) }))
	if f.Question != old.Question {
		note(setIfChanged(&x.Question, orZero(old.Question), orZero(f.Question), deepEqual))
	}
	if f.Trial != old.Trial {
		is, was := orZero(f.Trial), orZero(old.Trial)
		note(setIfChanged(&x.Doing, was.Doing, is.Doing, equal))
		was.Doing, was.Dir = is.Doing, is.Dir
		note(setIfChanged(&x.Trial, was, is, deepEqual))
	}
	note(machinesInto(&x, old.Power, f.Power))
	note(loadInto(&x, &old.Load, &f.Load))
	note(clusterInto(&x, old.Snapshot, f.Snapshot))
	return x, news
}

// setIfChanged sets to to the new value if that differs from the old one, and reports
// whether it does.
func setIfChanged[T any](to **T, was, is T, same func(a, b T) bool) bool {
	if same(was, is) {
		return false
	}
	*to = new(is)
	return true
}

func equal[T comparable](a, b T) bool { return a == b }

func deepEqual[T any](a, b T) bool { return reflect.DeepEqual(a, b) }

// orZero is what p points at; the zero value if that is nothing.
func orZero[T any](p *T) T { return *cmp.Or(p, new(T)) }

func machinesInto(x *Sample, old, now map[string]view.MachineView) (news bool) {
	x.Machines, x.Reads = map[string]*view.MachineView{}, map[string]time.Time{}
	for name, v := range now {
		was, known := old[name]
		read := was.Reading.Arrived
		was.Reading.RequestedAt, was.Reading.Arrived = v.Reading.RequestedAt, v.Reading.Arrived
		switch {
		case !known || was != v:
			x.Machines[name] = &v
		case !v.Reading.Arrived.Equal(read):
			x.Reads[name] = v.Reading.Arrived
		}
	}
	for name := range old {
		if _, ok := now[name]; !ok {
			x.Machines[name] = nil
		}
	}
	return len(x.Machines) > 0
}

func loadInto(x *Sample, old, now *loadgen.Run) (news bool) {
	bare := func(r *loadgen.Run) loadgen.Run {
		b := *r
		b.Seconds, b.Gauge.At = nil, time.Time{}
		return b
	}
	var l LoadSample
	if !reflect.DeepEqual(bare(old), bare(now)) {
		run := *now
		run.Seconds = nil
		l.Run = &run
		news = true
	}
	if n := len(now.Seconds); n > 0 {
		l.From, l.To = now.Seconds[0].At.Unix(), now.Seconds[n-1].At.Unix()
		first := int64(0)
		if len(old.Seconds) > 0 {
			first = old.Seconds[0].At.Unix()
		}
		for i := range now.Seconds {
			w, was := &now.Seconds[i], loadgen.Second{}
			if at := w.At.Unix() - first; at >= 0 && at < int64(len(old.Seconds)) {
				was = old.Seconds[at]
			}
			if !sameSecond(w, &was) {
				l.Windows = append(l.Windows, w)
				news = true
			}
		}
	}
	if news || l.From != 0 && (len(old.Seconds) == 0 || !now.Seconds[len(now.Seconds)-1].At.Equal(old.Seconds[len(old.Seconds)-1].At)) {
		x.Load = &l
	}
	return news
}

// sameSecond compares all but the time. Its cost counts: a sample compares 20 minutes.
func sameSecond(a, b *loadgen.Second) bool {
	figures := func(s *loadgen.Second) [11]int {
		return [...]int{s.Sent, s.OK, s.Cancelled, s.Unresolved, s.Served, s.Queued, s.Stalled, s.OnDead, s.Unknown, s.Capacity, s.Target}
	}
	return figures(a) == figures(b) && a.Sampled == b.Sampled &&
		maps.Equal(a.Failed, b.Failed) && maps.Equal(a.Later, b.Later) && maps.Equal(a.Earlier, b.Earlier)
}

// clusterInto compares objects by their pointers: snapshots share unchanged objects.
func clusterInto(x *Sample, old, now *cluster.Snapshot) (news bool) {
	if old == now {
		return false
	}
	if now == nil {
		x.Cluster = &Cluster{None: true}
		return true
	}
	var before, c cluster.Contents
	if old != nil {
		before = old.Contents()
	}
	c = now.Contents()
	part := &Cluster{Version: c.Version, At: c.At, Link: &c.Link}
	note := func(changed bool) { news = news || changed }
	note(old == nil)
	server := func(c *cluster.Contents) Server { return Server{c.Context, c.Server, c.ServerVersion} }
	note(setIfChanged(&part.Server, server(&before), server(&c), equal))
	link := c.Link
	link.LastContact = before.Link.LastContact
	note(link != before.Link)
	if !maps.Equal(c.Access, before.Access) {
		part.Access, news = c.Access, true
	}
	note(setIfChanged(&part.Settings, before.Settings, c.Settings, equal))
	note(setIfChanged(&part.HeartbeatsSince, before.HeartbeatsSince, c.HeartbeatsSince, time.Time.Equal))
	note(setIfChanged(&part.HeartbeatsUntil, before.HeartbeatsUntil, c.HeartbeatsUntil, time.Time.Equal))
	note(part.objects(&before, &c))
	x.Cluster = part
	return news
}

// objects takes the objects that have changed, and reports whether there are
// any but heartbeats, which are written beside.
func (part *Cluster) objects(before, c *cluster.Contents) bool {
	part.Nodes, part.GoneNodes = compare(before.Nodes, c.Nodes, func(n *cluster.Node) string { return n.Name }, cmp.Compare[string], onlyBeat)
	part.Deployments, part.GoneDeployments = compare(before.Deployments, c.Deployments, func(d *cluster.Deployment) cluster.Key { return d.Key }, cluster.Key.Compare, nil)
	part.Pods, part.GonePods = compare(before.Pods, c.Pods, func(p *cluster.Pod) cluster.Key { return p.Key }, cluster.Key.Compare, nil)
	part.Endpoints, part.GoneEndpoints = compare(before.Endpoints, c.Endpoints, func(e *cluster.Endpoints) cluster.Key { return e.Service }, cluster.Key.Compare, nil)
	return len(part.Nodes)+len(part.Deployments)+len(part.Pods)+len(part.Endpoints)+
		len(part.GoneNodes)+len(part.GoneDeployments)+len(part.GonePods)+len(part.GoneEndpoints) > 0
}

// compare walks two sorted lists, and returns the objects that are new or have changed, and the keys of
// those that are gone. Objects for which same is true count as unchanged; it may be nil.
func compare[T, K any](old, now []*T, key func(*T) K, order func(a, b K) int, same func(was, is *T) bool) (changed []*T, gone []K) {
	if len(old) == len(now) && (len(old) == 0 || &old[0] == &now[0]) {
		return nil, nil // the same list
	}
	for _, is := range now {
		for len(old) > 0 && old[0] != is && order(key(old[0]), key(is)) < 0 {
			gone, old = append(gone, key(old[0])), old[1:]
		}
		var was *T
		if len(old) > 0 && (old[0] == is || order(key(old[0]), key(is)) == 0) {
			was, old = old[0], old[1:]
		}
		if was != is && (was == nil || same == nil || !same(was, is)) {
			changed = append(changed, is)
		}
	}
	return changed, append(gone, text.Each(old, key)...)
}

// onlyBeat reports whether a node differs in its heartbeat alone.
func onlyBeat(was, is *cluster.Node) bool {
	x := *is
	x.Renewed, x.RenewSeen = was.Renewed, was.RenewSeen
	return reflect.DeepEqual(&x, was)
}

// objectsInLine bounds the objects in a line, which keeps lines to a few
// megabytes.
const objectsInLine = 5000

// split cuts a sample with many objects into lines of the same moment.
func split(x Sample) []Sample {
	c := x.Cluster
	if c == nil || len(c.Pods)+len(c.Nodes) <= objectsInLine {
		return []Sample{x}
	}
	head := *c
	head.Pods, head.Nodes = nil, nil
	x.Cluster = &head
	end := x.End
	x.End = false
	lines := []Sample{x}
	more := func(part Cluster) {
		lines[len(lines)-1].More = true
		part.Version, part.At = c.Version, c.At
		lines = append(lines, Sample{At: x.At, Seq: x.Seq, Cluster: &part})
	}
	for part := range slices.Chunk(c.Nodes, objectsInLine) {
		more(Cluster{Nodes: part})
	}
	for part := range slices.Chunk(c.Pods, objectsInLine) {
		more(Cluster{Pods: part})
	}
	lines[len(lines)-1].End = end
	return lines
}

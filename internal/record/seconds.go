package record

import (
	"time"

	"lightsout/cluster"
	"lightsout/loadgen"
)

// fillSeconds works out the load second by second: the gauge from the samples,
// the requests from their records.
func (r *Record) fillSeconds(requests *requestSums) {
	from, to := r.Start, r.End
	if n := len(r.Samples); n > 0 {
		from, to = r.Samples[0].At, r.Samples[n-1].At
	}
	if from.IsZero() {
		return
	}
	first := from.Unix()
	r.Seconds = make([]Second, to.Unix()-first+1)
	for i := range r.Seconds {
		r.Seconds[i] = Second{Second: loadgen.Second{At: time.Unix(first+int64(i), 0)}, Available: -1}
	}
	at := func(t time.Time) *Second {
		if i := t.Unix() - first; !t.IsZero() && i >= 0 && i < int64(len(r.Seconds)) {
			return &r.Seconds[i]
		}
		return nil
	}
	windows := r.gauge(at)
	for unix, x := range requests.seconds {
		if s := at(time.Unix(unix, 0)); s != nil {
			s.Add(*x)
		}
	}
	schema := SampleSchema
	if len(r.Samples) > 0 {
		schema = r.Samples[0].Schema
	}
	// Of the windows only what never ended is taken: it has no record.
	for unix, w := range windows {
		s := at(time.Unix(unix, 0))
		if n := min(w.Unresolved, w.Sent-requests.ended(unix, schema)); s != nil && n > 0 {
			s.Unresolved += n
			s.Sent += n
		}
	}
}

// gauge fills what the samples say and gives all windows of the load as they
// were told last.
func (r *Record) gauge(at func(time.Time) *Second) map[int64]loadgen.Second {
	windows := map[int64]loadgen.Second{}
	var dep deployment
	known := -1 // the second up to which Available is filled
	for i := range r.Samples {
		x := &r.Samples[i]
		before := dep.available()
		dep.apply(x)
		if x.Load != nil {
			for _, w := range x.Load.Windows {
				if w != nil {
					windows[w.At.Unix()] = *w
				}
			}
			if x.Load.Run != nil {
				if g := x.Load.Run.Gauge; g.Basis != "" && g.Basis != loadgen.BasisIdle {
					if s := at(g.At); s != nil {
						s.Sample(g)
					}
				}
			}
		}
		if x.More {
			continue
		}
		now := int(x.At.Unix() - r.Seconds[0].At.Unix())
		for known++; known < now; known++ { // nothing has changed in these
			r.Seconds[known].Available = before
		}
		known = now
		r.Seconds[now].Available = dep.available()
	}
	for unix, w := range windows {
		if s := at(time.Unix(unix, 0)); s != nil && w.Sampled {
			s.Sample(w.Gauge())
		}
	}
	return windows
}

// deployment follows the samples as to the deployment in focus.
type deployment struct {
	focus cluster.Key
	all   map[cluster.Key]*cluster.Deployment
}

func (d *deployment) apply(x *Sample) {
	if x.Key {
		*d = deployment{}
	}
	if d.all == nil {
		d.all = map[cluster.Key]*cluster.Deployment{}
	}
	take(&d.focus, x.Focus)
	if x.Cluster == nil {
		return
	}
	for _, k := range x.Cluster.GoneDeployments {
		delete(d.all, k)
	}
	for _, one := range x.Cluster.Deployments {
		if one != nil {
			d.all[one.Key] = one
		}
	}
}

// available gives the available replicas; -1: not known.
func (d *deployment) available() int {
	if one := d.all[d.focus]; one != nil && one.Gone.IsZero() {
		return one.Available
	}
	return -1
}

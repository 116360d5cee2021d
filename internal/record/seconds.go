package record

import (
	"time"

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
	first, about := from.Unix(), r.Deployment()
	r.Seconds = make([]Second, to.Unix()-first+1)
	for i := range r.Seconds {
		second := time.Unix(first+int64(i), 0)
		r.Seconds[i] = Second{Second: loadgen.Second{At: second}, Available: r.history.available(about, second.Add(time.Second-1))}
	}
	at := func(t time.Time) *Second {
		if i := t.Unix() - first; !t.IsZero() && i >= 0 && i < int64(len(r.Seconds)) {
			return &r.Seconds[i]
		}
		return nil
	}
	for _, x := range requests.series.Rows() {
		if s := at(x.At); s != nil {
			s.Add(x.Second)
		}
	}
	windows := map[int64]*loadgen.Second{} // as the newest samples have them
	for i := range r.Samples {
		if x := r.Samples[i].Load; x != nil {
			for _, w := range x.Windows {
				if w != nil {
					windows[w.At.Unix()] = w
				}
			}
		}
	}
	for _, w := range windows {
		s := at(w.At)
		if s == nil {
			continue
		}
		if w.Sampled {
			s.Sample(w.Gauge())
		}
		// Of the requests only those that never ended are taken: they have no record.
		if n := min(w.Unresolved, w.Sent-s.Sent); n > 0 {
			s.Unresolved += n
			s.Sent += n
		}
	}
}

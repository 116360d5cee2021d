package replay

import (
	"os"
	"slices"
	"sort"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/view"
)

// eventsShown bounds the events handed out with a frame, as a session does.
const eventsShown = 500

// frames returns the frame of any moment of a record. It remembers its position, so
// that the next moments only cost their changes. One goroutine may use it; its frames
// are immutable.
type frames struct {
	rec   *record.Record
	marks []view.Bookmark
	// seen is, for each event, the latest time at which it or an earlier one was seen:
	// events are numbered in the order of their arrival.
	seen []time.Time
	// report is the path of the report, if there is one.
	report string

	cursor record.Cursor
}

func newFrames(r *record.Record) *frames {
	f := &frames{rec: r, cursor: record.Cursor{Record: r}, marks: marksOf(r)}
	path := record.ReportPath(r.Dir)
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		f.report = path
	}
	var newest time.Time
	for i := range r.Events {
		newest = slices.MaxFunc([]time.Time{newest, r.Events[i].Seen}, time.Time.Compare)
		f.seen = append(f.seen, newest)
	}
	return f
}

// frame returns the screen at t, without Replay.
func (f *frames) frame(t time.Time) *view.Frame {
	s := f.cursor.To(f.sampled(t))
	out := s.Frame(t)
	out.History, out.Events = f.rec.History(t), f.events(s, t)
	if trial := out.Trial; trial != nil {
		trial.Dir = f.rec.Dir
		if trial.Verdict != "" {
			trial.Report = f.report
		}
	}
	if len(f.rec.Samples) == 0 {
		f.fromEvents(out)
	}
	return out
}

// sampled is the moment whose sample the screen shows at t: a record begins with an event, a moment before its first one.
func (f *frames) sampled(t time.Time) time.Time {
	if all := f.rec.Samples; len(all) > 0 && all[0].At.After(t) && all[0].At.Sub(t) < time.Second {
		return all[0].At
	}
	return t
}

// fromEvents fills in the facts that need no samples.
func (f *frames) fromEvents(out *view.Frame) {
	if s := f.rec.Summary; s != nil {
		out.Cluster, out.Pace = s.Cluster, s.Pace
	}
	if z := f.rec.Zero; !z.IsZero() && !out.Now.Before(z) {
		out.Zero = z
	}
}

// events gives the newest events of the moment: those that the sample before
// it knew and those seen since, but none that the sample after it does not know.
func (f *frames) events(s *record.State, t time.Time) []view.Event {
	all := f.rec.Events
	n := sort.Search(len(all), func(i int) bool { return f.seen[i].After(t) })
	upTo := func(seq int) int { return sort.Search(len(all), func(i int) bool { return all[i].Seq > seq }) }
	n = max(n, upTo(s.Seq))
	for _, x := range f.cursor.Ahead() {
		if x.Seq > 0 {
			n = min(n, upTo(x.Seq))
			break
		}
	}
	return slices.Clip(all[max(0, n-eventsShown):n])
}

package replay

import (
	"maps"
	"os"
	"slices"
	"sort"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/view"
)

// eventsShown bounds the events handed out with a frame, as a session does.
const eventsShown = 500

// frames gives the frame of any moment of a record. It remembers where it was,
// so that the next moments cost only what has changed. It belongs to one
// goroutine; the frames it gives are immutable.
type frames struct {
	rec   *record.Record
	marks []view.ReplayMark
	// seen is, for each event, the newest time at which it or one before it
	// was seen: events are numbered by the order in which they came.
	seen []time.Time
	// report is the path of the report, if there is one.
	report string

	cursor record.Cursor
}

func newFrames(r *record.Record) *frames {
	f := &frames{rec: r, cursor: record.Cursor{Record: r}, marks: marksOf(r)}
	if path := record.ReportPath(r.Dir); isFile(path) {
		f.report = path
	}
	var newest time.Time
	for i := range r.Events {
		if r.Events[i].Seen.After(newest) {
			newest = r.Events[i].Seen
		}
		f.seen = append(f.seen, newest)
	}
	return f
}

// frame gives what was on the screen at t, without Replay.
func (f *frames) frame(t time.Time) *view.Frame {
	s := f.cursor.To(t)
	out := &view.Frame{
		Title: s.Title, Now: t, Zero: s.Zero,
		Snapshot: s.Snapshot(), Power: maps.Clone(s.Machines), History: f.rec.History(t),
		Load: s.Load, LoadReady: s.LoadReady, Focus: s.Focus,
		Events: f.events(s, t), Next: s.Next,
		Trial: f.trial(s), Outages: s.Outages, Question: s.Question, Notice: s.Notice,
	}
	out.Load.Seconds = s.Windows(t)
	if len(f.rec.Samples) == 0 {
		f.fromEvents(out)
	}
	return out
}

// fromEvents fills in what is known without samples.
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

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// trial is the trial as it was shown.
func (f *frames) trial(s *record.State) *view.TrialView {
	if s.Trial == nil {
		return nil
	}
	v := *s.Trial
	v.Dir, v.Doing = f.rec.Dir, s.Doing
	if v.Verdict != "" {
		v.Report = f.report
	}
	return &v
}

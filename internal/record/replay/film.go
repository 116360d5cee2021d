package replay

import (
	"maps"
	"slices"
	"sort"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/view"
)

// eventsShown bounds the events handed out with a frame, as the engine does.
const eventsShown = 500

// film gives the frame of any moment of a record. It remembers where it was,
// so that the next moments cost only what has changed. It belongs to one
// goroutine; the frames it gives are immutable.
type film struct {
	rec     *record.Record
	history history
	marks   []view.ReplayMark
	// seen is, for each event, the newest time at which it or one before it
	// was seen: events are numbered by the order in which they came.
	seen []time.Time

	state record.State
	next  int // the first sample that is not in state
}

func newFilm(r *record.Record) *film {
	f := &film{rec: r, history: newHistory(r.Samples), marks: marksOf(r)}
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
func (f *film) frame(t time.Time) *view.Frame {
	f.wind(t)
	s := &f.state
	out := &view.Frame{
		Title: s.Title, Now: t, Zero: s.Zero,
		Snapshot: s.Snapshot(), Power: maps.Clone(s.Machines), History: f.history.at(t),
		Load: s.Load, LoadReady: s.LoadReady, Focus: s.Focus,
		Events: f.events(t), Next: s.Next,
		Trial: trialView(s, f.rec.Dir), Outages: s.Outages, Question: s.Question, Notice: s.Notice,
	}
	out.Load.Seconds = s.Windows(t)
	if len(f.rec.Samples) == 0 {
		f.fromEvents(out)
	}
	return out
}

// fromEvents fills in what is known without samples.
func (f *film) fromEvents(out *view.Frame) {
	if s := f.rec.Summary; s != nil {
		out.Cluster, out.Pace = s.Cluster, s.Pace
	}
	if z := f.rec.Zero; !z.IsZero() && !out.Now.Before(z) {
		out.Zero = z
	}
}

// wind brings state to t: from where it is, or from the last keyframe.
func (f *film) wind(t time.Time) {
	samples := f.rec.Samples
	// The samples up to t, and all lines of the last one's moment.
	end := sort.Search(len(samples), func(i int) bool { return samples[i].At.After(t) })
	key := end - 1
	for key >= 0 && !samples[key].Key {
		key--
	}
	if end < f.next || key >= f.next {
		f.next = max(key, 0)
		f.state = record.State{}
	}
	for ; f.next < end; f.next++ {
		f.state.Apply(&samples[f.next])
	}
}

// events gives the newest events of the moment: those that the sample before
// it knew and those seen since, but none that the sample after it does not know.
func (f *film) events(t time.Time) []view.Event {
	all := f.rec.Events
	n := sort.Search(len(all), func(i int) bool { return f.seen[i].After(t) })
	upTo := func(seq int) int { return sort.Search(len(all), func(i int) bool { return all[i].Seq > seq }) }
	if f.next > 0 {
		n = max(n, upTo(f.state.Seq))
	}
	for i := f.next; i < len(f.rec.Samples); i++ {
		if seq := f.rec.Samples[i].Seq; seq > 0 {
			n = min(n, upTo(seq))
			break
		}
	}
	return slices.Clip(all[max(0, n-eventsShown):n])
}

// trialView is the trial as it was shown.
func trialView(s *record.State, dir string) *view.TrialView {
	if s.Trial == nil {
		return nil
	}
	v := *s.Trial
	v.Dir, v.Doing = dir, s.Doing
	return &v
}

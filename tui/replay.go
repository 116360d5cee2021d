package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/internal/view"
)

// How far the keys of a replay go.
const (
	seekNear = 5 * time.Second
	seekFar  = 30 * time.Second
)

// seek moves a replay.
func seek(by time.Duration) func(*Model) { return send(view.ReplaySeek{By: by}) }

func seekStart(m *Model) { m.opts.Send(view.ReplaySeek{At: m.s.f.Replay.Start}) }
func seekEnd(m *Model)   { m.opts.Send(view.ReplaySeek{At: m.s.f.Replay.End}) }

// replayPause pauses or continues; at the end it starts again.
func replayPause(m *Model) {
	r := m.s.f.Replay
	if r.Paused && !m.s.now.Before(r.End) && r.End.After(r.Start) {
		m.say("from the start again")
		seekStart(m)
	}
	m.opts.Send(view.ReplayPause{})
}

// seekMark goes to the mark before or after this moment.
func seekMark(after bool) func(*Model) {
	return func(m *Model) {
		r := m.s.f.Replay
		mark, ok := neighbour(r, m.s.now, after)
		if !ok {
			m.say("the record has no " + map[bool]string{true: "later", false: "earlier"}[after] + " marker")
			return
		}
		m.say(strings.TrimSpace(offset(mark.At, replayZero(m.s.f)) + " " + m.s.t.text(mark.Text)))
		m.opts.Send(view.ReplaySeek{At: mark.At})
	}
}

// nearMark is how close behind now a mark is still the one we stand on: going
// back while it plays must not lead to the same mark again.
const nearMark = time.Second

// neighbour is the mark before or after a moment.
func neighbour(r *view.ReplayView, now time.Time, after bool) (mark view.Bookmark, ok bool) {
	if !r.Paused && !after {
		now = now.Add(-nearMark)
	}
	for _, m := range r.Marks {
		switch {
		case m.At.Before(now) && !after:
			mark, ok = m, true
		case m.At.After(now) && after:
			return m, true
		}
	}
	return mark, ok
}

// reached is the newest mark of a replay, by its text; empty before the first.
func reached(r *view.ReplayView, now time.Time) string {
	for _, mark := range slices.Backward(r.Marks) {
		if !mark.At.After(now) {
			return mark.Text
		}
	}
	return ""
}

// scrubber is the line that shows the screen's position in the record.
func scrubber(s *scene, w int) string {
	t, rp := s.t, s.f.Replay
	state, word, st := t.playing, "playing", t.good
	if rp.Paused {
		state, word, st = t.paused, "paused", t.warn
	}
	r := newRow(w).space(1).put(st, state+" ").cell(t, st, word, 8).cell(t, t.strong, fmt.Sprintf("%.2gx", rp.Speed), 6)
	zero := replayZero(s.f)
	from, _, _ := strings.Cut(offset(rp.Start, zero), ".")
	to, _, _ := strings.Cut(offset(rp.End, zero), ".")
	r.put(t.strong, offset(s.now, zero)).space(2).put(t.dim, from).space(1)
	n := r.left - width(to) - 2
	if n < 8 {
		return r.String()
	}
	return r.track(t, rp, s.now, n).space(1).put(t.dim, to).String()
}

// track draws the record's time in n cells, with its marks and the position.
func (r *row) track(t *theme, rp *view.ReplayView, now time.Time, n int) *row {
	all := rp.End.Sub(rp.Start)
	at := func(x time.Time) int {
		if all <= 0 {
			return 0
		}
		return min(max(int(float64(x.Sub(rp.Start))/float64(all)*float64(n-1)+0.5), 0), n-1)
	}
	marked := make([]bool, n)
	for _, mark := range rp.Marks {
		marked[at(mark.At)] = true
	}
	here := at(now)
	for x := range n {
		g, st := t.ahead, t.dim
		switch {
		case x == here:
			g, st = t.up, t.fresh
		case marked[x] && x < here:
			g, st = t.markPast, t.accent
		case marked[x]:
			g, st = t.markAhead, ""
		case x < here:
			g, st = t.past, t.accent
		}
		r.put(st, g)
	}
	return r
}

// replayZero is the zero of a replay's clock, which is known beforehand.
func replayZero(f *view.Frame) time.Time {
	if f.Replay != nil && !f.Replay.Zero.IsZero() {
		return f.Replay.Zero
	}
	return f.Zero
}

package tui

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"lightsout/cluster"
)

// header names the cluster, the way to it, the link, the trial's clock and the
// modes.
func header(m *Model, w int) string {
	t, f := m.s.t, m.s.f
	state := linkState(m)
	right := badges(m, w)
	rightWidth := 1 + spansWidth(right)
	r := newRow(w).space(1).put(t.strong, "lightsout").space(2)
	name, via := t.text(f.Cluster), after("via ", strings.TrimPrefix(t.text(f.Via), "via "), "")
	if shown := cmp.Or(m.s.only.text, f.Namespaces); shown != "" {
		name += " /" + t.text(shown)
	}
	room := r.left - rightWidth - width(state.s) - 3
	cut := fit(via, max(0, room-width(name)-2), t.ellipsis)
	r.put(t.accent, fit(name, max(0, room), t.ellipsis))
	if cut != "" && (cut == via || width(cut) >= 8) {
		r.space(2).put(t.dim, cut)
	}
	if m.any || name != "" {
		r.space(3)
	}
	r.put(state.st, state.s).space(r.left - rightWidth)
	for _, p := range right {
		r.put(p.st, p.s)
	}
	return r.String()
}

// linkState is how the cluster is being watched, or that a record is shown.
func linkState(m *Model) (state span) {
	t, f, snap := m.s.t, m.s.f, m.s.snap
	missing, _, _ := unwatched(m)
	switch {
	case f.Replay != nil && f.Replay.Paused:
		return span{t.fresh, t.paused + " replay"}
	case f.Replay != nil, m.picture:
		return span{t.fresh, t.playing + " replay"}
	case snap.Link.State == cluster.LinkLive && missing > 0:
		return span{t.warn, t.warnSign + " in part"}
	case snap.Link.State == cluster.LinkLive && snap.Unread(cluster.KindNode, cluster.KindDeployment, cluster.KindPod):
		return span{t.warn, t.connecting + " reading"}
	case snap.Link.State == cluster.LinkLive:
		state = span{t.good, t.live + " live"}
		if old := m.s.now.Sub(snap.Contact()); !snap.Contact().IsZero() && old >= 10*time.Second {
			state.s += " (" + coarseAge(old) + " ago)"
		}
		return state
	case snap.Link.State == cluster.LinkDisconnected:
		return span{t.bad, t.badSign + " disconnected"}
	}
	return span{t.warn, t.connecting + " connecting"}
}

// headerTrial is the width from which the header names the trial.
const headerTrial = 100

// badges are the texts at the right of the header: the trial's clock and name, the mode
// of the session, whether it is recorded.
func badges(m *Model, w int) (right []span) {
	t, f := m.s.t, m.s.f
	add := func(st style, s string) { right = append(right, span{"", "   "}, span{st, s}) }
	// Once a trial is judged nothing is waited for, and its clock is at rest.
	if judged := f.Trial != nil && f.Trial.Verdict != ""; !f.Zero.IsZero() && (f.Replay != nil || !judged) {
		add(t.strong, signed(m.s.now.Sub(f.Zero), false))
	}
	if text := trialWord(t, f.Trial); text != "" && w >= headerTrial {
		add("", text)
	}
	for _, mode := range []struct {
		is   bool
		st   style
		text string
	}{{f.Pace != "" && f.Pace != "real", t.warn, "pace " + t.text(f.Pace)}, {f.ReadOnly, t.warn, "read-only"},
		{f.DryRun, t.warn, "dry run"}, {len(f.LeavesAfter) > 0, t.warn, "leaving"}, {f.Production, t.bad, "PRODUCTION"}} {
		if mode.is {
			add(mode.st, mode.text)
		}
	}
	switch {
	case f.Replay != nil && f.Replay.Torn != "":
		add(t.warn, t.warnSign+" cut short")
	case m.rec:
		add(t.bad, t.rec+" rec")
	case f.Replay != nil:
	case f.RecordErr != "":
		add(t.bad, t.badSign+" not recorded")
	case f.RecordsOutage:
		add(t.bad, t.rec+" rec outage")
	case f.Recording && f.Trial != nil && f.Trial.Verdict == "":
		add(t.bad, t.rec+" rec")
	}
	return right
}

// unwatchedFor is how long the screen ignores a broken watch: most resume at once.
const unwatchedFor = 2 * time.Second

// unwatched counts the kinds of which nothing new is heard though the server
// answers, and gives the one for longest and how that stands.
func unwatched(m *Model) (n int, longest cluster.Kind, how cluster.Access) {
	for _, k := range cluster.Kinds {
		a := m.s.snap.Access[k]
		if a.Until.IsZero() || m.s.now.Sub(a.Until) < unwatchedFor {
			continue
		}
		if n++; n == 1 || a.Until.Before(how.Until) {
			longest, how = k, a
		}
	}
	return n, longest, how
}

// banner is what must not be overlooked, in at most w cells; empty when all is
// well.
func banner(m *Model, w int) string {
	t, f, link := m.s.t, m.s.f, m.s.snap.Link
	before, why := "", ""
	missing, kind, a := unwatched(m)
	switch {
	case link.State == cluster.LinkDisconnected:
		before, why = "STALE", cmp.Or(t.text(link.Err), "the API server does not answer")
		if !link.LastContact.IsZero() {
			before += " " + age(m.s.now.Sub(link.LastContact))
		}
		if left := link.NextTry.Sub(m.s.now); left > 0 {
			before += fmt.Sprintf(", next try in %d s", int64((left+time.Second-1)/time.Second))
		} else if !link.NextTry.IsZero() {
			before += ", trying now"
		}
	case link.State == cluster.LinkLive && missing > 0:
		before, why = "STALE "+string(kind)+"s", t.text(a.Err)
		if kind == cluster.KindLease {
			before = "STALE heartbeats"
		}
		if missing > 1 {
			before += fmt.Sprintf(" and %d more", missing-1)
		}
		before += " " + age(m.s.now.Sub(a.Until))
	case f.RecordErr != "":
		before, why = "NOT RECORDED", t.text(f.RecordErr)
	case m.s.snap.Ahead() != 0:
		before, why = "CLOCKS", fmt.Sprintf("the API server's is %s %s this machine's: ages and evictions are wrong by that much",
			age(m.s.snap.Ahead().Abs()), map[bool]string{true: "behind", false: "ahead of"}[m.s.snap.Ahead() < 0])
	default:
		return ""
	}
	before += " " + t.dash + " "
	room := w - width(before)
	return before + fit(why, room, t.ellipsis)
}

// strip is the line below the header: the question at this moment of a record, or the
// trial in one line if it has no pane; empty otherwise.
func strip(m *Model, w int, pane bool) string {
	s := &m.s
	t, f := s.t, s.f
	switch {
	case f.Replay != nil && f.Question != nil:
		return newRow(w).space(1).put(t.fresh, "asked then: ").rest(t, t.strong, t.text(f.Question.Title)).String()
	case f.Trial == nil || pane:
		return ""
	}
	r := newRow(w).space(1)
	if w < headerTrial { // otherwise the header names it
		r.put(t.strong, fit(trialWord(t, f.Trial), w/3, t.ellipsis)).space(2)
	}
	return doing(r, s).String()
}

// mostCaption is how many lines a caption may take.
const mostCaption = 2

// captionLines are the caption's lines; none without one, or on a screen that
// has no room for it.
func captionLines(m *Model, w int) []string {
	caption := m.s.caption
	if r := m.s.f.Replay; r != nil {
		caption = cmp.Or(caption, reached(r, m.s.now))
	}
	if caption == "" || m.h < smallHeight {
		return nil
	}
	t := m.s.t
	lines := wrap(t.text(caption), w-4)
	if len(lines) > mostCaption {
		lines[mostCaption-1] = fit(lines[mostCaption-1]+" "+lines[mostCaption], w-4, t.ellipsis)
		lines = lines[:mostCaption]
	}
	sign := t.playing + " "
	for i, l := range lines {
		r := newRow(w).put(t.active, " "+sign+l)
		lines[i] = r.put(t.active, blank(r.left)).String()
		sign = blank(width(sign))
	}
	return lines
}

package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/loadgen"
)

var requestsSpec = &paneSpec{
	name: "Requests", place: placeLower,
	keys: []binding{
		bind(openObject(aspectDetails), "details", "enter d", "failures by class and endpoint, latency, single requests (enter: unless a trial step is waiting)", "enter", "d").onlyWhen(sentAny),
	},
	bar:  []string{"details", "burst", "hold", "rate", "stop sending", "how many", "span"},
	open: func() pane { return &requestsPane{} },
}

// sentAny reports whether there are requests to inspect.
func sentAny(m *Model) bool { return m.s.f.Load.Totals.Scheduled > 0 }

// requestsPane shows the gauge, a minute or more of it, and the ledger.
type requestsPane struct {
	unmoving
	chart chart
	ended []ended // once a second, oldest first
}

// lowHeight is the height of a screen below which shares alone leave the chart a row or
// two.
const lowHeight = 30

// want: while there is nothing to show, its lines go to the others.
func (p *requestsPane) want(s *scene, _ int) want {
	if s.f.Load.Totals.Scheduled == 0 && !s.f.Load.Active && len(s.f.Outages) == 0 {
		return want{least: 2, most: 2}
	}
	least := 4
	if s.h < lowHeight {
		least = 6 // three rows of bars are worth more than three of the timeline
	}
	return want{least: least, most: 26, share: 7}
}

func (p *requestsPane) draw(s *scene, w, h int, _ bool) drawing {
	load, run := "", s.f.Load
	switch {
	case run.Active, run.Spec.Shape == loadgen.Burst && run.Totals.InFlight() > 0:
		load = run.Spec.Short()
	case run.Totals.InFlight() > 0:
		load = run.Spec.Short() + " stopped, ending"
	}
	return drawing{"Requests", s.facts(load, basisText(s.t, run.Gauge)), p.lines(s, w, h)}
}

func number(f float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0") }

// basisText names the source of served and queued.
func basisText(t *theme, g loadgen.Gauge) string {
	src := t.text(g.Source)
	switch g.Basis {
	case loadgen.BasisMeasured:
		return "measured: " + src
	case loadgen.BasisPartial:
		var what []string
		if g.Servers > 0 {
			what = append(what, fmt.Sprintf("%d of %d asked", g.Asked, g.Servers))
		}
		if g.NoAnswer > 0 {
			what = append(what, fmt.Sprintf("%d without answer", g.NoAnswer))
		}
		if n := g.Served - g.Heard; n > 0 && len(what) == 0 {
			what = append(what, fmt.Sprintf("%d too new", n))
		}
		return fmt.Sprintf("partly measured: %s (%s)", src, strings.Join(what, ", "))
	case loadgen.BasisEstimated:
		return "estimated from " + src
	}
	return ""
}

func (p *requestsPane) lines(s *scene, w, h int) []string {
	p.chart.gather(s, w)
	p.chart.measure(&s.f.Load, s.span)
	out := []string{numbers(s, w, p.chart.scale.top, p.answerRate(s), p.chart.has())}
	// Where the servers and the ledger have differed for long.
	if text := s.t.text(s.f.Load.Gauge.Disagreement); text != "" && h >= 7 {
		out = append(out, textLine(s.t, w, 1, s.t.warn, s.t.warnSign+" "+text))
	}
	if h >= 7+len(out) {
		out = append(out, cause(s, w))
	}
	if text := p.answers(s); text != "" && h >= 9+len(out) {
		out = append(out, textLine(s.t, w, 1, s.t.dim, text))
	}
	rest := h - len(out) - 1
	if rest >= 2 {
		out = append(out, p.chart.draw(s, w, rest)...)
	}
	return fill(append(fill(out, w, h-1), ledger(s, w, p.chart.unread)), w, h)
}

// labels are the numbers above the chart, with their separators.
type labels struct {
	t     *theme
	parts [][]span
	width int // has room for two digits each, so that nothing moves as numbers grow
	gap   int
}

// add adds a number. Its swatch has the colour of its layer in the chart.
func (l *labels) add(of layer, st style, label, est string, n int) {
	if n == 0 {
		st = l.t.dim
	}
	parts := []span{{st, fmt.Sprintf("%s %s%d", label, est, n)}}
	if of != layerNone {
		parts = []span{l.t.legend(of), {st, " " + parts[0].s}}
	}
	l.parts = append(l.parts, parts)
	room := 0
	for _, p := range parts {
		room += width(p.s)
	}
	l.width += l.gap + room + btoi(n < 10)
}

// write appends the labels to a line: only complete ones.
func (l *labels) write(r *row) {
	for _, parts := range l.parts {
		need := l.gap
		for _, p := range parts {
			need += width(p.s)
		}
		if r.left < need {
			return
		}
		r.space(l.gap)
		for _, p := range parts {
			r.put(p.st, p.s)
		}
	}
}

// numbers draws the line with the gauge as a bar, of which top is the full length. The
// colours of its labels explain the bar and the chart. If the chart shows answered
// requests, so does the line; rate is their number per second. A layer in the chart has
// its label even while its number is 0.
func numbers(s *scene, w, top int, rate string, drawn [layers]bool) string {
	t, g, tot := s.t, s.f.Load.Gauge, s.f.Load.Totals
	l := labels{t: t, gap: 2}
	dead := "dead"
	if w >= 104 {
		l.gap, dead = 3, "sent to dead nodes"
	}
	est := estimated(&g)
	if perSecond(&s.f.Load) {
		return answered(s, l, w, rate, dead)
	}
	served := fmt.Sprintf(" serving %s%d", est, g.Served)
	if limited(&g) {
		served += fmt.Sprintf(" of %d", g.Capacity)
	}
	before := max(width(served), width(" serving 00 of 00"))
	l.add(layerQueued, t.warn, "queued", est, g.Queued)
	if w >= 70 || g.Stalled > 0 || drawn[layerStalled] {
		l.add(layerStalled, t.fresh, "stalled", "", g.Stalled)
	}
	if w >= 96 || g.OnDead > 0 || drawn[layerOnDead] {
		l.add(layerOnDead, t.bad, dead, "", g.OnDead)
	}
	if g.Unknown > 0 || drawn[layerUnknown] {
		l.add(layerUnknown, t.warn, "unknown", "", g.Unknown)
	}
	l.add(layerNone, t.bad, "failed", "", tot.FailedSum())
	if g.Target > 0 && w >= 130 {
		l.add(layerNone, t.dim, t.tickTarget+" target", "", g.Target)
	}
	r := newRow(w).space(1).put(t.fills[layerServed].look, t.fills[layerServed].full).cell(t, t.strong, served, before)
	if room := w - 2 - before - 2 - l.width - 1; room >= 8 && (g.Target+g.Capacity+g.Served+g.Queued > 0) {
		r.space(2)
		gaugeBar(t, r, g, top, min(room, 66))
	}
	l.write(r)
	return r.String()
}

// answered draws the line of numbers for a chart of answered requests.
func answered(s *scene, l labels, w int, rate, dead string) string {
	t, g, tot := s.t, s.f.Load.Gauge, s.f.Load.Totals
	rate = cmp.Or(rate, fmt.Sprint(tot.OK))
	r := newRow(w).space(1).put(t.fills[layerServed].look, t.fills[layerServed].full).cell(t, t.strong, " answered "+rate, width(" answered 000.0/s"))
	l.add(layerWaiting, "", "waiting", "", tot.InFlight())
	l.add(layerNone, t.bad, "failed", "", tot.FailedSum())
	if limited(&g) {
		l.add(layerNone, "", fmt.Sprintf("capacity %d: serving", g.Capacity), estimated(&g), g.Served)
		l.add(layerNone, t.warn, "queued", estimated(&g), g.Queued)
	}
	if g.OnDead > 0 {
		l.add(layerNone, t.bad, dead, "", g.OnDead)
	}
	if g.Unknown > 0 {
		l.add(layerNone, t.warn, "unknown", "", g.Unknown)
	}
	l.write(r)
	return r.String()
}

// limited reports whether the capacity is known.
func limited(g *loadgen.Gauge) bool { return g.Limited || g.Capacity > 0 || g.Target > 0 }

// estimated returns the sign in front of an estimated number.
func estimated(g *loadgen.Gauge) string {
	if g.Basis == loadgen.BasisEstimated {
		return "~"
	}
	return ""
}

// cause is the line about failures or obstacles, with the servers' own reports at its
// right if there is room.
func cause(s *scene, w int) string {
	t, run := s.t, s.f.Load
	told := toldText(t, run.Gauge)
	if run.Gauge.Disagreement != "" {
		told = "" // it has a line of its own
	}
	const gap, leastError = 3, 24
	failed, text, st, least := "", "", t.dim, leastError
	switch {
	case run.Totals.FailedSum() > 0:
		failed = "failed: " + classes(run.Totals.Failed, " "+t.bullet+" ")
		if run.LastError != "" {
			text = "   last: " + t.text(run.LastError)
		} else {
			least = 0
		}
	case s.f.NoLoad != "":
		text, st = t.warnSign+" "+t.text(s.f.NoLoad), t.warn
	case run.Gauge.OnDead > 0 && run.Gauge.Queued > 0 && run.Gauge.Served < run.Gauge.Capacity:
		text, st = fmt.Sprintf("unused capacity: dead nodes hold %d requests", run.Gauge.OnDead), t.warn
		least = width(text)
	case freeBesideQueue(&run.Gauge) > 0:
		text, st = fmt.Sprintf("%d wait beside %d free slots: perhaps sent to pods that are gone", run.Gauge.Queued+run.Gauge.Unknown, freeBesideQueue(&run.Gauge)), t.warn
		least = width(text)
	case run.URL != "":
		text = "to " + t.text(run.URL)
	}
	r := newRow(w).space(1).put(t.bad, failed)
	room := r.left - 1 - width(told) - gap
	if told == "" || text != "" && room < least || room < 0 {
		told, room = "", r.left-1
	}
	if failed == "" || room >= leastError {
		r.put(st, fit(text, room, t.ellipsis))
	}
	if told != "" {
		r.space(r.left-width(told)-1).put(t.dim, told)
	}
	return r.String()
}

// freeBesideQueue returns the number of slots that servers report as free while
// requests wait: Knative's activator may hold those for pods that no longer answer.
func freeBesideQueue(g *loadgen.Gauge) int {
	if g.Unknown == 0 && (g.Basis != loadgen.BasisMeasured || g.Queued == 0) {
		return 0
	}
	return max(g.Capacity-g.Served-g.Stalled-g.OnDead, 0)
}

// answers returns how many requests succeed a second, and how long they take; empty
// before the first.
func (p *requestsPane) answers(s *scene) string {
	run := s.f.Load
	sent, first := run.Latency.Sent, run.Latency.FirstToken
	if sent.Count == 0 {
		return ""
	}
	text := fmt.Sprintf("p50 %s %s p99 %s %s slowest %s", took(sent.P50), s.t.bullet, took(sent.P99), s.t.bullet, took(sent.Max))
	if rate := p.answerRate(s); rate != "" {
		text = fmt.Sprintf("ok %s %s ", rate, s.t.bullet) + text
	}
	if first.Count > 0 {
		text += fmt.Sprintf(" %s first token p50 %s", s.t.bullet, took(first.P50))
	}
	if each := run.Latency.PerToken.P50; each > 0 {
		text += fmt.Sprintf(" %s %s tokens a second each", s.t.bullet, number(float64(time.Second)/float64(each)))
	}
	return text
}

// rateSpan is how long a rate is taken over.
const rateSpan = 10 * time.Second

// ended is how many requests had ended well at a moment.
type ended struct {
	at time.Time
	n  int
}

// answerRate is okRate as text; empty while it is unknown, and if no more requests will
// be sent: a burst has no rate.
func (p *requestsPane) answerRate(s *scene) string {
	if len(p.ended) < 2 || !s.f.Load.Active {
		return ""
	}
	return number(p.okRate()) + "/s"
}

// okRate is how many requests end well a second, over the last rateSpan.
func (p *requestsPane) okRate() float64 {
	if len(p.ended) < 2 {
		return 0
	}
	first, last := p.ended[0], p.ended[len(p.ended)-1]
	return float64(last.n-first.n) / last.at.Sub(first.at).Seconds()
}

// settle notes once a second how many have ended well.
func (p *requestsPane) settle(s *scene) {
	now := ended{s.now, s.f.Load.Totals.OK}
	if n := len(p.ended); n > 0 {
		switch last := p.ended[n-1]; {
		case now.at.Before(last.at), now.n < last.n: // a replay that went back
			p.ended = nil
		case now.at.Sub(last.at) < time.Second:
			return
		}
	}
	p.ended = append(p.ended, now)
	for len(p.ended) > 2 && now.at.Sub(p.ended[0].at) > rateSpan {
		p.ended = p.ended[1:]
	}
}

// took writes how long a request took, in three digits or so.
func took(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%.2f ms", d.Seconds()*1000)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return age(d)
}

// toldText is what servers tell in their own numbers.
func toldText(t *theme, g loadgen.Gauge) string {
	var all []string
	for _, told := range g.Reported {
		text := t.text(told.Source) + ": "
		switch {
		case told.Served != nil && told.Queued != nil:
			text += fmt.Sprintf("%d seen, %d of them waiting", *told.Served+*told.Queued, *told.Queued)
		case told.Served != nil:
			text += fmt.Sprintf("serving %d", *told.Served)
		case told.Queued != nil:
			text += fmt.Sprintf("%d waiting", *told.Queued)
		case told.Held != nil:
			text += fmt.Sprintf("%d seen", *told.Held)
		default:
			text += "no answer"
		}
		if told.Answered > 0 && told.Answered < told.Asked {
			text += fmt.Sprintf(" (%d of %d answer)", told.Answered, told.Asked)
		}
		all = append(all, text)
	}
	return strings.Join(all, " "+t.bullet+" ")
}

// ledger is the account of all requests; it is red when it does not balance. unread: the
// chart has columns that need their explanation beside it.
func ledger(s *scene, w int, unread bool) string {
	t, tot := s.t, s.f.Load.Totals
	if tot.Scheduled == 0 {
		z := &s.sizes
		hint := fmt.Sprintf("nothing sent yet: b sends %s at once, h keeps %s in flight, R sends %s a second",
			z.number(loadgen.Burst), z.number(loadgen.Hold), z.number(loadgen.Rate))
		if s.f.Replay != nil {
			hint = "nothing had been sent yet"
		}
		return textLine(t, w, 1, t.dim, hint)
	}
	scheduled := fmt.Sprintf("%d scheduled", tot.Scheduled)
	if l := &s.f.Load; l.Spec.Shape == loadgen.Burst && tot.Scheduled > l.Spec.N {
		scheduled += " in all" // and not by the burst that is shown above
	}
	r := newRow(w).space(1).put(t.strong, scheduled)
	sign := " = "
	for _, p := range []struct {
		n    int
		name string
		st   style
		keep bool
	}{
		{tot.OK, "ok", t.good, true},
		{tot.FailedSum(), "failed", t.bad, true},
		{tot.Cancelled, "cancelled", "", false},
		{tot.InFlight(), "in flight", t.accent, true},
		{tot.Unsent, "unsent", t.warn, false},
	} {
		if p.n == 0 && !p.keep {
			continue
		}
		st := p.st
		if p.n == 0 {
			st = t.dim
		}
		r.put("", sign).put(st, fmt.Sprintf("%d %s", p.n, p.name))
		sign = " + "
	}
	if !tot.Balanced() {
		return newRow(w).space(1).put(t.bad, t.badSign+" does not balance: "+strings.TrimSpace(stripped(r.String()))).String()
	}
	var legend []span
	room := 1
	for i, l := range s.chartLegend(unread) {
		entry := []span{{"", blank(2 * min(i, 1))}, l[0], {t.dim, " " + l[1].s}}
		wide := width(entry[0].s) + width(entry[1].s) + width(entry[2].s)
		if room+wide+2 > r.left {
			break
		}
		legend, room = append(legend, entry...), room+wide
	}
	r.space(r.left - room)
	for _, l := range legend {
		r.put(l.st, l.s)
	}
	return r.String()
}

// chartLegend explains, with their signs, the parts of the chart that have no label
// above it. The most important ones come first, and stay when there is little room.
func (s *scene) chartLegend(unread bool) [][2]span {
	t := s.t
	column := [2]span{{t.dim, ""}, {t.dim, fmt.Sprintf("%d s a column", chartSpans[s.span])}}
	if perSecond(&s.f.Load) {
		return [][2]span{{{t.dim, "failures"}, {t.dim, "when they end"}}, column}
	}
	all := [][2]span{{{t.bars.capacity, t.rules[4]}, {t.dim, "capacity"}}, {{t.accent, t.open}, {t.dim, "not ended yet"}},
		{{t.dim, t.rules[4]}, {t.dim, "target"}}, column}
	if unread {
		all = slices.Insert(all, 1, [2]span{{t.dim, t.unread}, {t.dim, "nothing read"}})
	}
	return all
}

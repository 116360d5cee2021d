package tui

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"lightsout/loadgen"
)

var requestsSpec = &paneSpec{
	name: "Requests", names: []string{"load", "req", "request", "requests"}, place: placeLower,
	keys: []binding{
		bind(openObject(aspectDetails), "details", "enter d", "failures by class, latency (enter: unless a trial step is waiting)", "enter", "d").onlyWhen(sentAny),
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

// want: while there is no load to show, its lines go to the others.
func (p *requestsPane) want(s *scene, w int) want {
	if quiet(s, w) {
		n := quietLines(s, w)
		return want{least: n, most: n}
	}
	least := 4
	switch { // bars, nodes and times are worth more than lines of the timeline
	case s.h < wideHeight:
		least = 6
	case s.h < lowHeight:
		least = 7
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
	if h == 0 {
		load = strings.TrimSpace(stripped(ledger(s, w, nil)))
	}
	return drawing{"Requests", "", s.facts(load, basisText(s.t, run.Gauge)), "", p.lines(s, w, h)}
}

func number(f float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0") }

// basisText names the source of served and queued.
func basisText(t *theme, g loadgen.Gauge) string {
	src := t.text(g.Source)
	switch g.Basis {
	case loadgen.BasisMeasured:
		return "measured: " + src
	case loadgen.BasisPartial:
		unknown := cmp.Or(some(g.NoAnswer, "without answer"), some(g.Served-g.Heard, "too new"))
		return "partly measured: " + src + after(" (", unknown, ")")
	case loadgen.BasisEstimated:
		return "estimated from " + src
	}
	return ""
}

func (p *requestsPane) lines(s *scene, w, h int) []string {
	p.chart.gather(s, w)
	p.chart.measure(&s.f.Load, s.span)
	if quiet(s, w) && h <= quietLines(s, w) {
		return p.chart.quiet(s, w, h)
	}
	out := []string{numbers(s, w, p.chart.scale.top, p.answerRate(s), p.chart.has())}
	// Where the servers and the ledger have differed for long.
	differ := s.t.text(s.f.Load.Gauge.Disagreement)
	if differ != "" && h >= 7 {
		out = append(out, textLine(s.t, w, 1, s.t.warn, s.t.warnSign+" "+differ))
	}
	if h >= 7+len(out) {
		out = append(out, cause(s, w))
	}
	told := ""
	if differ == "" {
		told = toldText(s)
	}
	for _, text := range []string{told, p.answers(s)} {
		if text != "" && h >= 9+len(out) {
			out = append(out, textLine(s.t, w, 1, s.t.dim, text))
		}
	}
	rest := h - len(out) - 1
	if rest >= 2 {
		out = append(out, p.chart.draw(s, w, rest)...)
	}
	return fill(append(fill(out, w, h-1), ledger(s, w, s.chartLegend())), w, h)
}

// numberLine is the line of numbers above the chart.
type numberLine struct {
	*row
	t   *theme
	gap int
}

// begin starts the line with the layer at the axis, and a text of at least w cells.
func (l *numberLine) begin(text string, w int) {
	first := l.t.fills[layerServed]
	l.space(1).put(first.look, first.full).cell(l.t, l.t.strong, text, max(width(text), w))
}

// add adds a number, if it has room as a whole. Its swatch has the colour of its layer
// in the chart.
func (l *numberLine) add(of layer, st style, label, est string, n int) {
	if n == 0 {
		st = l.t.dim
	}
	text, swatch := fmt.Sprintf("%s %s%d", label, est, n), span{}
	if of != layerNone {
		swatch, text = l.t.swatch(of), " "+text
	}
	if l.left > l.gap+width(swatch.s)+width(text) {
		l.space(l.gap).put(swatch.st, swatch.s).put(st, text)
	}
}

// numbers draws the line with the numbers of the gauge, and the gauge as a bar, of which
// top is the full length. The colours of its labels explain the bar and the chart. If the
// chart shows answered requests, so does the line; rate is their number per second. A
// layer in the chart has its label even while its number is 0.
func numbers(s *scene, w, top int, rate string, drawn [layers]bool) string {
	t, g, tot := s.t, s.f.Load.Gauge, s.f.Load.Totals
	l := numberLine{newRow(w), t, 2}
	dead := "dead"
	if w >= 104 {
		l.gap, dead = 3, "sent to dead nodes"
	}
	est, known, answered := "", limited(&g), perSecond(&s.f.Load)
	if g.Basis == loadgen.BasisEstimated {
		est = "~"
	}
	if answered {
		l.begin(" answered "+cmp.Or(rate, fmt.Sprint(tot.OK)), width(" answered 000.0/s"))
		l.add(layerWaiting, "", "waiting", "", tot.InFlight())
		l.add(layerNone, t.bad, "failed", "", tot.FailedSum())
		if known {
			l.add(layerNone, "", fmt.Sprintf("capacity %d: serving", g.Capacity), est, g.Served)
			l.add(layerNone, t.warn, "queued", est, g.Queued)
		}
	} else {
		served := fmt.Sprintf(" serving %s%d", est, g.Served)
		if known {
			served += fmt.Sprintf(" of %d", g.Capacity)
		}
		l.begin(served, width(" serving 00 of 00"))
		l.add(layerQueued, t.warn, "queued", est, g.Queued)
	}
	if !answered && (w >= 70 || g.Stalled > 0 || drawn[layerStalled]) {
		l.add(layerStalled, t.fresh, "stalled", "", g.Stalled)
	}
	if g.OnDead > 0 || drawn[layerOnDead] || !answered && w >= 96 {
		l.add(layerOnDead, t.bad, dead, "", g.OnDead)
	}
	if g.Unknown > 0 || drawn[layerUnknown] {
		l.add(layerUnknown, t.warn, "unknown", "", g.Unknown)
	}
	if answered {
		return l.String()
	}
	l.add(layerNone, t.bad, "failed", "", tot.FailedSum())
	if g.Target > 0 && w >= 130 {
		l.add(layerNone, t.dim, t.tickTarget+" target", "", g.Target)
	}
	if room := l.left - l.gap - 1; room >= 8 && g.Target+g.Capacity+g.Served+g.Queued > 0 {
		wide := min(room, 66)
		gaugeBar(t, l.space(l.left-wide-1), g, top, wide)
	}
	return l.String()
}

// limited reports whether the capacity is known.
func limited(g *loadgen.Gauge) bool { return g.Limited || g.Capacity > 0 || g.Target > 0 }

// cause is the line about failures or obstacles.
func cause(s *scene, w int) string {
	t, run := s.t, &s.f.Load
	r := newRow(w).space(1)
	switch {
	case run.Totals.FailedSum() > 0:
		r.put(t.bad, "failed: "+classes(run.Totals.Failed, " "+t.bullet+" "))
		if run.LastError != "" {
			r.rest(t, t.dim, "   last: "+t.text(run.LastError))
		}
	case s.f.NoLoad != "":
		r.rest(t, t.warn, t.warnSign+" "+t.text(s.f.NoLoad))
	case run.Gauge.OnDead > 0 && run.Gauge.Queued > 0 && run.Gauge.Served < run.Gauge.Capacity:
		r.rest(t, t.warn, fmt.Sprintf("unused capacity: dead nodes hold %d requests", run.Gauge.OnDead))
	case run.Gauge.Unknown > 0:
		r.rest(t, t.warn, fmt.Sprintf("%d wait beside free slots: perhaps sent to pods that are gone", run.Gauge.Unknown))
	case run.URL != "":
		r.rest(t, t.dim, "to "+t.text(run.URL))
	}
	return r.String()
}

// answers returns how many requests succeed a second, and how long they take; empty
// before the first.
func (p *requestsPane) answers(s *scene) string {
	run := s.f.Load
	sent, first := run.Latency.Sent, run.Latency.FirstToken
	if sent.Count == 0 {
		return ""
	}
	token, tokens := "", ""
	if first.Count > 0 {
		token = "first token p50 " + took(first.P50)
	}
	if each := run.Latency.PerToken.P50; each > 0 {
		tokens = number(float64(time.Second)/float64(each)) + " tokens a second each"
	}
	return s.facts(after("ok ", p.answerRate(s), ""), "p50 "+took(sent.P50), "p99 "+took(sent.P99), "slowest "+took(sent.Max), token, tokens)
}

// rateSpan is how long a rate is taken over.
const rateSpan = 10 * time.Second

// ended is how many requests had ended well at a moment.
type ended struct {
	at time.Time
	n  int
}

// answerRate is how many requests end well a second, over the last rateSpan, as text;
// empty while it is unknown, and if no more requests will be sent: a burst has no rate.
func (p *requestsPane) answerRate(s *scene) string {
	if len(p.ended) < 2 || !s.f.Load.Active {
		return ""
	}
	first, last := p.ended[0], p.ended[len(p.ended)-1]
	return number(float64(last.n-first.n)/last.at.Sub(first.at).Seconds()) + "/s"
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

// toldText is what servers tell in their own numbers.
func toldText(s *scene) string {
	var all []string
	for _, told := range s.f.Load.Gauge.Reported {
		text := s.t.text(told.Source) + ": "
		switch {
		case told.Served != nil && told.Queued != nil:
			text += fmt.Sprintf("%d seen, %d of them waiting", *told.Served+*told.Queued, *told.Queued)
		case told.Served != nil:
			text += fmt.Sprintf("serving %d", *told.Served)
		case told.Queued != nil:
			text += fmt.Sprintf("%d waiting", *told.Queued)
		default:
			text += "no answer"
		}
		if told.Answered > 0 && told.Answered < told.Asked {
			text += fmt.Sprintf(" (%d of %d answer)", told.Answered, told.Asked)
		}
		all = append(all, text)
	}
	return s.facts(all...)
}

// ledger is the account of all requests, which is red when it does not balance, and what
// explains the chart.
func ledger(s *scene, w int, explained [][]span) string {
	t, tot := s.t, s.f.Load.Totals
	if tot.Scheduled == 0 {
		z := &s.sizes
		hint := fmt.Sprintf("nothing sent yet: b sends %s, h keeps %s in flight, R %s/s",
			z.number(loadgen.Burst), z.number(loadgen.Hold), z.number(loadgen.Rate))
		if s.f.Replay != nil {
			hint = "nothing had been sent yet"
		} else if s.f.NoLoad != "" {
			return textLine(t, w, 1, t.warn, t.text(s.f.NoLoad))
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
	for i, l := range explained {
		l = append([]span{{"", blank(2 * min(i, 1))}}, l...)
		if spansWidth(legend)+spansWidth(l)+3 > r.left {
			break
		}
		legend = append(legend, l...)
	}
	return r.space(r.left-1-spansWidth(legend)).spans(t, legend, r.left, fit).String()
}

// chartLegend explains, with their signs, the parts of the chart that have no label
// above it. The most important ones come first, and stay when there is little room.
func (s *scene) chartLegend() [][]span {
	t := s.t
	what := func(text string) span { return span{t.dim, " " + text} }
	column := []span{what(fmt.Sprintf("%d s a column", chartSpans[s.span]))}
	if perSecond(&s.f.Load) {
		return [][]span{{{t.dim, "failures"}, what("when they end")}, column}
	}
	return [][]span{{{t.accent, t.rules[4]}, what("capacity")}, {{t.accent, t.open}, what("not ended yet")},
		{{t.dim, t.rules[4]}, what("target")}, column}
}

package tui

import (
	"fmt"
	"strings"
	"time"

	"lightsout/loadgen"
)

var requestsSpec = &paneSpec{
	name: "Requests", place: placeLower,
	open: func() pane { return &requestsPane{} },
}

// requestsPane shows the gauge, a minute or more of it, and the ledger.
type requestsPane struct {
	unmoving
	chart chart
	ended []ended // once a second, oldest first
}

// want: while there is nothing to show, its lines go to the others.
func (p *requestsPane) want(s *scene, _ int) want {
	if s.f.Load.Totals.Scheduled == 0 && !s.f.Load.Active && len(s.f.Outages) == 0 {
		return want{least: 2, most: 2}
	}
	return want{least: 4, most: 26, share: 7}
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

// basisText says where served and queued come from.
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
		return fmt.Sprintf("partly measured: %s (%s)", src, strings.Join(what, ", "))
	case loadgen.BasisEstimated:
		if src == "in flight" {
			src = "requests in flight"
		}
		return "estimated from " + src
	}
	return ""
}

func (p *requestsPane) lines(s *scene, w, h int) []string {
	p.chart.gather(s, w)
	p.chart.measure(s.f.Load)
	out := []string{numbers(s, w, p.chart.scale.top)}
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
	return fill(append(fill(out, w, h-1), ledger(s, w)), w, h)
}

// numbers is the line with the gauge as a bar, of which top fills it. Its labels have
// the fills of the bar and the chart, which explains both.
func numbers(s *scene, w, top int) string {
	t, g, tot := s.t, s.f.Load.Gauge, s.f.Load.Totals
	est := ""
	if g.Basis == loadgen.BasisEstimated {
		est = "~"
	}
	served := fmt.Sprintf("%s served %s%d", t.full, est, g.Served)
	if g.Capacity > 0 || g.Target > 0 {
		served += fmt.Sprintf(" of %d", g.Capacity)
	}
	// There is room for two digits each, so that nothing moves while numbers
	// grow.
	gap, dead := 2, "dead"
	if w >= 104 {
		gap, dead = 3, "sent to dead nodes"
	}
	before := max(width(served), width("  served 00 of 00"))
	var parts []span
	after := 0
	add := func(st style, label, est string, n int) {
		if n == 0 {
			st = t.dim
		}
		text := fmt.Sprintf("%s %s%d", label, est, n)
		parts = append(parts, span{st, text})
		after += gap + max(width(label)+3, width(text))
	}
	add(t.warn, t.light+" queued", est, g.Queued)
	if w >= 70 || g.Stalled > 0 {
		add(t.fresh, t.stalled+" stalled", "", g.Stalled)
	}
	if w >= 96 || g.OnDead > 0 {
		add(t.bad, t.onDead+" "+dead, "", g.OnDead)
	}
	add(t.bad, "failed", "", tot.FailedSum())
	if g.Target > 0 && w >= 130 {
		add(t.dim, t.tickTarget+" target", "", g.Target)
	}
	r := newRow(w).space(1).cell(t, t.strong, served, before)
	if room := w - 1 - before - 2 - after - 1; room >= 8 && (g.Target+g.Capacity+g.Served+g.Queued > 0) {
		r.space(2)
		gaugeBar(t, r, g, top, min(room, 66))
	}
	for _, p := range parts {
		if r.left < width(p.s)+gap {
			break // whole numbers or none
		}
		r.space(gap).put(p.st, p.s)
	}
	return r.String()
}

// cause is the line on what failed, or on what stands in the way; on its right
// is what servers tell themselves, if there is room.
func cause(s *scene, w int) string {
	t, run := s.t, s.f.Load
	told := toldText(t, run.Gauge)
	if run.Gauge.Disagreement != "" {
		told = "" // it is in a line of its own
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
	case s.f.LoadReady != "":
		text, st = t.warnSign+" "+t.text(s.f.LoadReady), t.warn
	case run.Gauge.OnDead > 0 && run.Gauge.Queued > 0 && run.Gauge.Served < run.Gauge.Capacity:
		text, st = fmt.Sprintf("capacity not used: %d requests are held by dead nodes", run.Gauge.OnDead), t.warn
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

// answers says how many requests end well a second, and how long they take;
// empty before any has.
func (p *requestsPane) answers(s *scene) string {
	run := s.f.Load
	sent, first := run.Latency.Sent, run.Latency.FirstToken
	if sent.Count == 0 {
		return ""
	}
	text := fmt.Sprintf("ok %s a second %s p50 %s %s p99 %s %s slowest %s", number(p.okRate()), s.t.bullet, took(sent.P50), s.t.bullet, took(sent.P99), s.t.bullet, took(sent.Max))
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
			text += fmt.Sprintf("%d served", *told.Served)
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
	return strings.Join(all, " "+t.bullet+" ")
}

// ledger is the account of all requests; it is red when it does not balance.
func ledger(s *scene, w int) string {
	t, tot := s.t, s.f.Load.Totals
	if tot.Scheduled == 0 {
		z := &s.sizes
		hint := fmt.Sprintf("nothing sent yet: b sends %s at once, l keeps %s in flight, R sends %s a second",
			z.number(loadgen.Burst), z.number(loadgen.Hold), z.number(loadgen.Rate))
		if s.f.Replay != nil {
			hint = "nothing had been sent yet"
		}
		return textLine(t, w, 1, t.dim, hint)
	}
	r := newRow(w).space(1).put(t.strong, fmt.Sprintf("%d scheduled", tot.Scheduled))
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
		{tot.Unsent, "not sent", t.warn, false},
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
	legend := t.legend(chartSpans[s.span])
	text := strings.Join(legend, "  ")
	for len(legend) > 0 && width(text)+4 >= r.left {
		legend = legend[:len(legend)-1]
		text = strings.Join(legend, "  ")
	}
	return r.space(r.left-width(text)-1).put(t.dim, text).String()
}

// legend explains what the labels of the gauge do not: what is needed most
// comes first, and stays where there is little room.
func (t *theme) legend(span int64) []string {
	return []string{t.line + " capacity", t.open + " not ended yet", t.target + " target", fmt.Sprintf("%d s a column", span)}
}

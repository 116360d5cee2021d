package tui

import (
	"fmt"
	"sort"
	"strings"

	"lightsout/loadgen"
)

// sizes are what the load keys send: the operator changes them with +, - and n.
type sizes struct {
	burst, hold int
	rate        float64
	last        loadgen.Shape
}

// requestsPane shows the gauge, a minute of it, and the ledger.
type requestsPane struct{}

func (p *requestsPane) title(s *scene) (string, string) {
	var facts []string
	run := s.f.Load
	switch {
	case run.Active, run.Spec.Shape == loadgen.Burst && run.Totals.InFlight() > 0:
		facts = append(facts, specText(run.Spec))
	case run.Totals.InFlight() > 0:
		facts = append(facts, specText(run.Spec)+" stopped, ending")
	}
	if basis := basisText(s.t, run.Gauge); basis != "" {
		facts = append(facts, basis)
	}
	return "Requests", strings.Join(facts, " "+s.t.bullet+" ")
}

func specText(sp loadgen.Spec) string {
	if sp.Shape == loadgen.Rate {
		return fmt.Sprintf("rate %s/s", number(sp.PerSecond))
	}
	return fmt.Sprintf("%s %d", clean(string(sp.Shape)), sp.N)
}

func number(f float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0") }

// basisText says where served and queued come from.
func basisText(t *theme, g loadgen.Gauge) string {
	src := t.text(g.Source)
	switch g.Basis {
	case loadgen.BasisMeasured:
		return "measured: " + src
	case loadgen.BasisPartial:
		return fmt.Sprintf("partly measured: %s (%d without answer)", src, g.NoAnswer)
	case loadgen.BasisEstimated:
		return "estimated: " + src
	}
	return ""
}

func (p *requestsPane) draw(s *scene, w, h int, _ bool) []string {
	out := []string{p.numbers(s, w)}
	if h >= 8 {
		out = append(out, p.cause(s, w))
	}
	rest := h - len(out) - 1
	if rest >= 2 {
		out = append(out, drawChart(s, w, rest)...)
	}
	return fill(append(fill(out, w, h-1), p.ledger(s, w)), w, h)
}

// numbers is the line with the gauge as a bar of fixed scale.
func (p *requestsPane) numbers(s *scene, w int) string {
	t, g, tot := s.t, s.f.Load.Gauge, s.f.Load.Totals
	est := ""
	if g.Basis == loadgen.BasisEstimated {
		est = "~"
	}
	served := fmt.Sprintf("served %s%d", est, g.Served)
	if g.Capacity > 0 || g.Target > 0 {
		served += fmt.Sprintf(" of %d", g.Capacity)
	}
	type part struct {
		st   style
		text string
	}
	some := func(st style, n int) style {
		if n == 0 {
			return t.dim
		}
		return st
	}
	parts := []part{{some(t.warn, g.Queued), fmt.Sprintf("queued %s%d", est, g.Queued)}}
	parts = append(parts, part{some(t.bad, tot.FailedSum()), fmt.Sprintf("failed %d", tot.FailedSum())})
	if w >= 70 || g.Stalled > 0 {
		parts = append(parts, part{some(t.bad, g.Stalled), fmt.Sprintf("stalled %d", g.Stalled)})
	}
	if w >= 96 || g.OnDead > 0 {
		parts = append(parts, part{some(t.bad, g.OnDead), fmt.Sprintf("on dead nodes %d", g.OnDead)})
	}
	if g.Target > 0 && w >= 110 {
		parts = append(parts, part{t.dim, fmt.Sprintf("target %d", g.Target)})
	}
	after := 0
	for _, p := range parts {
		after += 3 + width(p.text)
	}
	r := newRow(w).space(1).put(t.strong, served)
	if room := w - 1 - width(served) - 2 - after - 1; room >= 8 && (g.Target+g.Capacity+g.Served+g.Queued > 0) {
		r.space(2)
		gaugeBar(t, r, g, min(room, 64))
	}
	for _, p := range parts {
		if r.left < width(p.text)+3 {
			break // whole numbers or none
		}
		r.space(3).put(p.st, p.text)
	}
	return r.String()
}

// gaugeBar draws served, free capacity, queued and what is missing to the
// target on one scale, in w cells.
func gaugeBar(t *theme, r *row, g loadgen.Gauge, w int) {
	g.Served, g.Queued = max(g.Served, 0), max(g.Queued, 0)
	top := max(g.Target, g.Capacity, g.Served+g.Queued, 1)
	if top <= w {
		w = w / top * top // equal steps
	}
	at := func(n int) int { return n * w / top }
	served, capacity := at(g.Served), at(max(g.Capacity, g.Served))
	queued := at(max(g.Capacity, g.Served)+g.Queued) - capacity
	if max(g.Capacity, g.Served)+g.Queued > top {
		queued = w - capacity
	}
	r.repeat(t.bars[lookServed], t.full, served)
	r.repeat(t.bars[lookServed], t.free, capacity-served)
	r.repeat(t.bars[lookQueued], t.light, queued)
	r.repeat(t.dim, t.none, w-capacity-queued)
}

// cause is the line on what failed, or on what stands in the way.
func (p *requestsPane) cause(s *scene, w int) string {
	t, run := s.t, s.f.Load
	r := newRow(w).space(1)
	switch {
	case run.Totals.FailedSum() > 0:
		r.put(t.bad, "failed: "+classes(run.Totals.Failed, " "+t.bullet+" "))
		if run.LastError != "" && r.left > 24 {
			r.put(t.dim, fit("   last: "+t.text(run.LastError), r.left-1, t.ellipsis))
		}
	case s.f.LoadReady != "":
		r.put(t.warn, fit(t.warnSign+" "+t.text(s.f.LoadReady), w-2, t.ellipsis))
	case run.Gauge.OnDead > 0 && run.Gauge.Queued > 0 && run.Gauge.Served < run.Gauge.Capacity:
		r.put(t.warn, fmt.Sprintf("capacity not used: %d requests are held by dead nodes", run.Gauge.OnDead))
	case run.URL != "":
		r.put(t.dim, fit("to "+t.text(run.URL), w-2, t.ellipsis))
	}
	return r.String()
}

// classes lists failures by class, most first.
func classes(failed map[loadgen.Class]int, sep string) string {
	keys := make([]loadgen.Class, 0, len(failed))
	for c, n := range failed {
		if n > 0 {
			keys = append(keys, c)
		}
	}
	sort.Slice(keys, func(i, j int) bool {
		if a, b := failed[keys[i]], failed[keys[j]]; a != b {
			return a > b
		}
		return keys[i] < keys[j]
	})
	parts := make([]string, len(keys))
	for i, c := range keys {
		parts[i] = fmt.Sprintf("%d %s", failed[c], clean(string(c)))
	}
	return strings.Join(parts, sep)
}

// ledger is the account of all requests; it is red when it does not balance.
func (p *requestsPane) ledger(s *scene, w int) string {
	t, tot := s.t, s.f.Load.Totals
	if tot.Scheduled == 0 {
		hint := fmt.Sprintf("nothing sent yet: b sends %d at once, l holds %d, r sends %s a second",
			s.sizes.burst, s.sizes.hold, number(s.sizes.rate))
		return newRow(w).space(1).put(t.dim, fit(hint, w-2, t.ellipsis)).String()
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
	legend := t.legend()
	if n := width(legend); r.left > n+4 {
		r.space(r.left-n-1).put(t.dim, legend)
	}
	return r.String()
}

// legend explains the chart's symbols.
func (t *theme) legend() string {
	return fmt.Sprintf("%s served  %s queued  %s capacity  %s failed  %s unresolved", t.full, t.light, t.line, t.failSign(), t.open)
}

func (t *theme) failSign() string {
	if t.ascii {
		return t.fail
	}
	return "▀"
}

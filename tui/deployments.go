package tui

import (
	"fmt"

	"lightsout/cluster"
)

// deploymentsPane lists deployments with their replicas, word and history.
type deploymentsPane struct {
	list list[cluster.Key]
	rows []*cluster.Deployment
	many bool // more than one namespace
}

var deploymentColumns = []column{
	{ease: 24, min: 10, middle: true}, // name
	{least: 5, right: true},           // available/replicas
	{least: 8, drop: 1},               // word
}

const deploymentWordColumn = 2

func (p *deploymentsPane) settle(s *scene) {
	all := s.snap.Deployments()
	p.rows, p.many = all, len(all) > 0 && all[0].Namespace != all[len(all)-1].Namespace
	if p.list.filter != "" {
		p.rows = nil
		for _, d := range all {
			if matches(p.list.filter, d.Name, d.Namespace) {
				p.rows = append(p.rows, d)
			}
		}
	}
	key := func(i int) cluster.Key { return p.rows[i].Key }
	p.list.settle(len(p.rows), key)
	if !p.list.moved && s.f.Focus.Name != "" {
		// Start on the deployment that the load goes to.
		for i := range p.rows {
			if key(i) == s.f.Focus {
				p.list.at, p.list.cursor = i, key(i)
			}
		}
	}
}

func (p *deploymentsPane) title(s *scene) (string, string) {
	facts := ""
	if n := len(p.rows); n > 1 {
		facts = fmt.Sprintf("%d", n)
	}
	return "Deployments" + filterTitle(s, p.list.filter), facts
}

func (p *deploymentsPane) draw(s *scene, w, h int, focus bool) []string {
	if len(p.rows) == 0 {
		return s.message(s.t.dim, orNone(s.missing(cluster.KindDeployment), "no deployments", p.list.filter), w, h)
	}
	const lead, gap, graph = 3, 2, 12
	from, to := p.list.window(h)
	rows := make([][]cell, 0, to-from)
	for _, d := range p.rows[from:to] {
		rows = append(rows, p.cells(s, d))
	}
	room := w - lead - 1
	fitted := fitColumns(room-gap-graph, deploymentColumns, rows)
	if fitted.used > room-gap-graph || fitted.gap < gap {
		fitted = fitColumns(room, deploymentColumns, rows)
	}
	out := make([]string, 0, h)
	for i, d := range p.rows[from:to] {
		r := newRow(w).lead(s.t, d.Key == p.list.cursor, focus, p.list.moved)
		if d.Key == s.f.Focus {
			r.put(s.t.accent, s.t.aim)
		} else {
			r.space(1)
		}
		r.space(1)
		changed := -1
		if s.fresh(d.Changed) {
			changed = deploymentWordColumn
		}
		r.cells(s.t, fitted, deploymentColumns, rows[i], changed)
		if left := room - fitted.used - gap; left >= 4 {
			r.space(gap)
			sparkline(s.t, r, s.f.History[d.Key], d.Replicas, min(left, 60))
		}
		out = append(out, r.String())
	}
	return fill(out, w, h)
}

func (p *deploymentsPane) cells(s *scene, d *cluster.Deployment) []cell {
	name := s.t.text(d.Name)
	if p.many {
		name = s.t.text(d.Key.String())
	}
	st := deploymentLook(s.t, d)
	count := st
	if s.fresh(d.Changed) {
		st = s.t.just(st)
	}
	return []cell{
		textCell("", name),
		textCell(count, fmt.Sprintf("%d/%d", d.Available, d.Replicas)),
		textCell(st, s.t.text(d.Word)),
	}
}

func deploymentLook(t *theme, d *cluster.Deployment) style {
	switch d.Word {
	case "Running":
		return t.good
	case "Down", "Failed":
		return t.bad
	case "Stopped":
		return t.dim
	}
	return t.warn
}

// sparkline draws the newest of values in w cells against top, the height of a
// full cell.
func sparkline(t *theme, r *row, values []int, top, w int) {
	if len(values) > w {
		values = values[len(values)-w:]
	}
	for _, v := range values {
		top = max(top, v)
	}
	steps := len(t.eighths) - 1
	for _, v := range values {
		i, st := 0, t.bad
		switch {
		case v >= top && top > 0:
			i, st = steps, t.good
		case v > 0 && top > 0:
			i, st = max(1, v*steps/top), t.warn
		}
		if i == 0 {
			r.put(st, t.axisLow())
			continue
		}
		r.put(st, t.eighths[i])
	}
}

// axisLow is the lowest mark of a graph: a zero that can be seen.
func (t *theme) axisLow() string {
	if t.ascii {
		return "_"
	}
	return "▁"
}

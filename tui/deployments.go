package tui

import (
	"cmp"
	"fmt"
	"slices"

	"lightsout/cluster"
	"lightsout/internal/text"
)

var deploymentsSpec = &paneSpec{
	name: "Deployments", names: []string{"deploy", "dp", "deployment", "deployments", "deploys"}, place: placeRight,
	keys: append([]binding{
		bind(aim, "measure", "f", "measure this deployment; requests still go to load.url", "f").needs(needLive),
	}, rowKeys...),
	bar:  []string{"details", "log", "YAML", "filter", "restart", "measure", "sort"},
	open: func() pane { return newDeploymentsPane() },
}

// deploymentsPane lists deployments with their replicas, word and history, and below them in one row the
// workloads of other kinds that lack pods.
type deploymentsPane struct {
	list[cluster.Key, *cluster.Deployment]
	lacking []*cluster.Workload // of other kinds
}

func newDeploymentsPane() *deploymentsPane {
	p := &deploymentsPane{}
	p.list = list[cluster.Key, *cluster.Deployment]{
		id: func(d *cluster.Deployment) cluster.Key { return d.Key }, trouble: p.rank,
		object:    func(_ *scene, d *cluster.Deployment) object { return deploymentObject(d.Key) },
		namespace: func(d *cluster.Deployment) string { return d.Namespace },
		labels:    func(d *cluster.Deployment) string { return d.Labels },
		has: func(_ *scene, d *cluster.Deployment, contains func(string) bool) bool {
			return contains(d.Name) || contains(d.Namespace) || contains(d.Word) || d.Knative != nil && contains(d.Knative.Service)
		},
		lead: func(s *scene, r *row, d *cluster.Deployment) {
			r.flag(d.Key == s.f.Focus, s.t.accent, s.t.aim).space(1)
		},
		leadWidth: 2,
		kind:      cluster.KindDeployment, none: "no deployments",
		chosen: func(s *scene, k cluster.Key) {
			s.deployment = k
			s.showPods(scopeDeployment)
		},
		tailTitle: "LAST MINUTE", tailLeast: 10,
		tail: func(s *scene, r *row, d *cluster.Deployment, w int) {
			r.sparkline(s.t, s.f.History[d.Key], d.Replicas, min(w, 60))
		},
		columns: []column[*cluster.Deployment]{
			{fitting{ease: 24, min: 10, middle: true}, "DEPLOYMENT", func(s *scene, d *cluster.Deployment) cell { return nameCell(s, d.Key, p.many) }, nil},
			{fitting{least: 5, right: true}, "AVAIL", deploymentCount, func(_ *scene, a, b *cluster.Deployment) int {
				return cmp.Compare(a.Available-a.Replicas, b.Available-b.Replicas)
			}},
			{fitting{least: 8, drop: 1}, "STATUS", deploymentStatus, nil},
			{fitting{least: 5, extra: true, right: true}, "READY", func(s *scene, d *cluster.Deployment) cell {
				return dimCell(s, fmt.Sprint(d.ReadyReplicas))
			}, nil},
			{fitting{extra: true, right: true}, "UPDATED", func(s *scene, d *cluster.Deployment) cell {
				if d.Updated == d.Replicas { // no rollout is under way
					return cell{}
				}
				return dimCell(s, fmt.Sprint(d.Updated))
			}, nil},
		},
	}
	return p
}

func (p *deploymentsPane) settle(s *scene) {
	if p.stale(s.only.text, s.snap, s.f.Focus) {
		p.take(s, s.snap.Deployments())
		p.lacking = slices.DeleteFunc(s.snap.Lacking(), func(w *cluster.Workload) bool { return !s.only.has(w.Namespace) })
		if s.f.Focus.Name != "" { // begin on the one that the gauge measures
			p.begin(func(d *cluster.Deployment) bool { return d.Key == s.f.Focus })
		}
	}
	o, _ := p.row(s)
	s.deployment = o.ref.Key
}

func (p *deploymentsPane) want(*scene, int) want {
	lines := p.lines() + btoi(len(p.lacking) > 0)
	return want{least: min(2*leastHeader, lines), most: lines, share: 2}
}

func (p *deploymentsPane) draw(s *scene, w, h int, active bool) drawing {
	below := min(len(p.lacking), 1, h-1)
	lines := p.list.draw(s, w, h-below, active)
	if below > 0 {
		o := p.lacking[0]
		text := fmt.Sprintf("W: %s %d/%d ", middle(s.t.text(o.Name), 16, s.t.ellipsis), o.Ready, o.Desired) + text.Noun(len(p.lacking), "lacks pods", after("and ", some(len(p.lacking)-1, "more lack pods"), ""))
		lines = append(lines, textLine(s.t, w, 2, wordStyle(s.t, o.Word), text))
	}
	return drawing{"Deployments", "", "", p.count(s), lines}
}

// rank sorts deployments in trouble first, and of these the ones without any available pod.
func (p *deploymentsPane) rank(_ *scene, d *cluster.Deployment) int {
	switch d.Word {
	case wordDown:
		return 0
	case cluster.WordRunning:
		return 2
	case wordStopped:
		return 3
	}
	return 1
}

func deploymentCount(s *scene, d *cluster.Deployment) cell {
	return textCell(wordStyle(s.t, d.Word), fmt.Sprintf("%d/%d", d.Available, d.Replicas))
}

func deploymentStatus(s *scene, d *cluster.Deployment) cell {
	return textCell(s.just(wordStyle(s.t, d.Word), d.Changed), s.t.text(d.Word))
}

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/view"
)

// act is something that Kubernetes did, to subjects that it did it to together.
type act struct {
	phase    string
	at       float64 // seconds from base, of the first subject
	subjects []string
	times    []float64 // of each subject
	pods     bool      // they are pods, of nodes that are not told
	hidden   bool      // a blind span hid it: it may have come earlier
}

// actsOf lists what Kubernetes did: by the phases of a trial, else by its events.
func actsOf(r *record.Record) []act {
	var out []act
	for _, p := range phasesIn(r) {
		_, mine := does[p.Name]
		if !mine || p.Observed == nil || p.Before {
			continue
		}
		i := slices.IndexFunc(out, func(a act) bool {
			return a.phase == p.Name && a.hidden == (p.HiddenFrom != nil) && *p.Observed-a.at < 1 && a.at-*p.Observed < 1
		})
		if i < 0 {
			out = append(out, act{phase: p.Name, at: *p.Observed, subjects: []string{p.Subject}, times: []float64{*p.Observed}, pods: r.Summary == nil, hidden: p.HiddenFrom != nil})
			continue
		}
		out[i].at = min(out[i].at, *p.Observed)
		out[i].subjects, out[i].times = append(out[i].subjects, p.Subject), append(out[i].times, *p.Observed)
	}
	slices.SortStableFunc(out, func(a, b act) int {
		return cmp.Or(cmp.Compare(a.at, b.at), phaseRank(a.phase)-phaseRank(b.phase))
	})
	return out
}

// phasesIn are the phases of a summary, with those that events show of the earlier times that
// its nodes went down; without a summary, all that events show.
func phasesIn(r *record.Record) []view.Phase {
	s := r.Summary
	if s == nil || len(s.Phases) == 0 {
		return phasesSeen(r)
	}
	first, last := map[string]float64{}, map[string]float64{}
	for _, f := range fallenOf(r) {
		at := f.from.Sub(base(r)).Seconds()
		if _, again := first[f.node]; !again {
			first[f.node] = at
		}
		last[f.node] = at
	}
	out := slices.Clone(s.Phases)
	for _, p := range phasesSeen(r) {
		at := *p.Observed
		from, went := first[p.Subject]
		has := slices.ContainsFunc(s.Phases, func(x view.Phase) bool {
			return x.Name == p.Name && x.Subject == p.Subject && x.Observed != nil && *x.Observed < at+sameSeconds
		})
		if went && at >= from && at < last[p.Subject] && !has {
			out = append(out, p)
		}
	}
	return out
}

// sameSeconds is by how many seconds the times of one phase and of its event may differ.
const sameSeconds = 2

// phasesSeen are the phases that events show, each time that they were seen.
func phasesSeen(r *record.Record) (out []view.Phase) {
	past := recorded(r)                     // it is about an earlier outage, or about none
	tainted := map[string]map[string]bool{} // by node: a node that boots gets another taint for a moment
	unseen := unseenIn(r)
	add := func(e *view.Event, phase, subject string) {
		s := e.Seen.Sub(base(r)).Seconds()
		p := view.Phase{Name: phase, Subject: subject, Observed: &s}
		if i := slices.IndexFunc(unseen, func(span apiSilence) bool { return span.hides(e.Seen) }); i >= 0 {
			from := unseen[i].from.Sub(base(r)).Seconds()
			p.HiddenFrom = &from
		}
		out = append(out, p)
	}
	for i := range r.Events {
		switch e := &r.Events[i]; {
		case past && e.Seen.Before(r.Zero.Add(-gap)):
		case e.Code == view.CodeNodeStatus && e.Is == cluster.HealthBad && e.Was != cluster.HealthBad:
			add(e, view.PhaseDetected, e.Subject)
		case e.Code == view.CodeNodeStatus && e.Is == cluster.HealthGood && e.Was == cluster.HealthBad:
			add(e, view.PhaseReady, e.Subject)
		case e.Change == cluster.ChangeTaint && evicts(e.To):
			if len(tainted[e.Subject]) == 0 {
				add(e, view.PhaseTainted, e.Subject)
				tainted[e.Subject] = map[string]bool{}
			}
			tainted[e.Subject][e.To] = true
		case e.Change == cluster.ChangeTaint && evicts(e.From):
			delete(tainted[e.Subject], e.From)
		case e.Code == view.CodeNodeNode && e.Cause == cluster.CauseDeleted:
			delete(tainted, e.Subject)
		case e.Code == view.CodePodStatus && e.Is == cluster.HealthChanging && e.Cause.Evicts():
			add(e, view.PhaseEvicted, e.Subject)
		}
	}
	return out
}

// evicts reports whether a taint is one by which the pods of a node that is down go.
func evicts(taint string) bool {
	return taint == unreachable+":NoExecute" || taint == notReady+":NoExecute"
}

// The keys of those taints.
const (
	unreachable = "node.kubernetes.io/unreachable"
	notReady    = "node.kubernetes.io/not-ready"
)

// does says of each phase that is Kubernetes' own what Kubernetes did, why it did so
// at that time, and which phase the wait counts from; "" is the request to go down.
var does = map[string]struct {
	what  string
	why   func(c *causes, subject string, at float64) string
	after string
	since string
}{
	view.PhaseDetected:     {"marks %s NotReady", (*causes).detected, "", ""},
	view.PhaseEndpointsOut: {"takes the pods on %s out of their Services", (*causes).endpoints, view.PhaseDetected, "NotReady"},
	view.PhaseTainted:      {"taints %s with NoExecute", (*causes).tainted, view.PhaseDetected, "NotReady"},
	view.PhaseEvicted:      {"begins to delete the pods on %s", (*causes).evicted, view.PhaseTainted, "the taint"},
	view.PhaseReplaced:     {"has all pods of %s available on other nodes", (*causes).replaced, view.PhaseEvicted, "the deletion"},
	view.PhaseReady:        {"marks %s Ready", (*causes).ready, view.PhaseBooted, "the boot"},
	view.PhaseRestored:     {"has all pods of %s available", (*causes).restored, view.PhaseReady, "Ready"},
}

// actsMost is the largest number of actions of Kubernetes in the table.
const actsMost = 40

// kubernetesOf is what Kubernetes did, when, and which setting made it wait.
func kubernetesOf(r *record.Record) section {
	t := section{ID: "kubernetes", Title: "What Kubernetes did, when and why"}
	acts := actsOf(r)
	if len(acts) == 0 {
		return t
	}
	t.figures("time")
	t.columns("Kubernetes", "waited", "why then")
	c := causesOf(r)
	for i, a := range acts {
		if i == actsMost {
			t.Items = append(t.Items, cell{Text: fmt.Sprintf("%d more followed: see the timeline.", len(acts)-i)})
			break
		}
		d := does[a.phase]
		what := fmt.Sprintf(d.what, entry{Subjects: a.subjects}.who())
		if a.phase == view.PhaseEvicted && a.pods {
			what = "begins to delete " + entry{Subjects: a.subjects}.who()
		}
		at := offset(a.at)
		if a.hidden {
			at += " or before"
		}
		t.row(at, what, c.waited(a, d.after, d.since), c.why(a))
	}
	if slices.ContainsFunc(acts, func(a act) bool { return a.phase == view.PhaseEvicted }) {
		t.Items = append(t.Items, cell{Text: "Deleted pods stay Terminating on a silent node until its kubelet answers or the node is deleted: their terminationGracePeriodSeconds is counted by the kubelet."})
	}
	if waits := c.detachWaits(""); len(waits) > 0 {
		const most = 5
		for _, w := range waits[:min(len(waits), most)] {
			t.Items = append(t.Items, cell{Text: w + "."})
		}
		if n := len(waits) - most; n > 0 {
			t.Items = append(t.Items, cell{Text: fmt.Sprintf("%d more pods waited for volumes.", n)})
		}
		t.Items = append(t.Items, cell{Text: attachAdvice})
	}
	for _, p := range summaryOf(r).Phases {
		if said := notDone(p, c.again(p)); said != "" {
			t.Items = append(t.Items, cell{Text: said})
		}
	}
	return t
}

// notDone describes why Kubernetes did not evict or replace pods; empty if it did, or may have.
// again: the node, or one with pods of the deployment, went down several times, and the phase is
// of the last time.
func notDone(p view.Phase, again bool) string {
	if p.Observed != nil || p.Predicted != nil || p.Note == "" {
		return ""
	}
	why := strings.TrimSuffix(p.Note, ".")
	switch {
	case p.Name == view.PhaseEvicted && p.Before:
		return clean(fmt.Sprintf("Pods of %s were being deleted before lightsout noticed that it was down.", p.Subject))
	case p.Name == view.PhaseEvicted && again:
		return clean(fmt.Sprintf("The last time that %s went down, none of its pods was evicted: %s.", p.Subject, why))
	case p.Name == view.PhaseEvicted:
		return clean(fmt.Sprintf("No pod of %s was evicted: %s.", p.Subject, why))
	case p.Name == view.PhaseReplaced && again:
		return clean(fmt.Sprintf("The last time that a node went down, the pods of %s were not replaced: %s.", p.Subject, why))
	case p.Name == view.PhaseReplaced:
		return clean(fmt.Sprintf("The pods of %s were not replaced: %s.", p.Subject, why))
	}
	return ""
}

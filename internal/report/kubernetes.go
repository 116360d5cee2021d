package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/view"
)

// act is something that Kubernetes did for one reason, to subjects that it did it to together.
type act struct {
	phase    string
	at, last float64 // seconds from base, of the first and of the last subject
	subjects []string
	hidden   bool // a blind span hid it: it may have come earlier
	why      string
	wait     wait
}

// joins reports whether b is the same for another subject.
func (a *act) joins(b *act) bool {
	return a.phase == b.phase && a.hidden == b.hidden && a.why == b.why && a.wait.since == b.wait.since && b.at-a.at < 1
}

// actsOf lists what Kubernetes did, by the phases of a summary: of a node that went down several
// times, the last ones.
func actsOf(c *causes) []act {
	var all, out []act
	for _, p := range c.phases {
		d, mine := does[p.Name]
		if !mine || p.Observed == nil || p.Before {
			continue
		}
		all = append(all, act{phase: p.Name, at: *p.Observed, last: *p.Observed, subjects: []string{p.Subject},
			hidden: p.HiddenFrom != nil, why: c.why(p), wait: c.waited(p, d.after, d.since)})
	}
	slices.SortStableFunc(all, func(a, b act) int {
		return cmp.Or(cmp.Compare(a.at, b.at), phaseRank(a.phase)-phaseRank(b.phase))
	})
	for _, a := range all {
		i := slices.IndexFunc(out, func(o act) bool { return o.joins(&a) })
		if i < 0 {
			out = append(out, a)
			continue
		}
		o := &out[i]
		o.subjects, o.last = append(o.subjects, a.subjects...), a.at
		o.wait.least, o.wait.most = min(o.wait.least, a.wait.least), max(o.wait.most, a.wait.most)
	}
	return out
}

// does says of each phase that is Kubernetes' own what Kubernetes did, and which phase the wait
// counts from, with the words for that; "" is the request to go down.
var does = map[string]struct{ what, after, since string }{
	view.PhaseDetected:     {"marks %s NotReady", "", ""},
	view.PhaseEndpointsOut: {"takes the pods on %s out of their Services", view.PhaseDetected, "NotReady"},
	view.PhaseTainted:      {"taints %s with NoExecute", view.PhaseDetected, "NotReady"},
	view.PhaseEvicted:      {"begins to delete the pods on %s", view.PhaseTainted, "the taint"},
	view.PhaseReplaced:     {"has all pods of %s available on other nodes", view.PhaseEvicted, "the deletion"},
	view.PhaseReady:        {"marks %s Ready", view.PhaseBooted, "the boot"},
	view.PhaseRestored:     {"has all pods of %s available", view.PhaseReady, "Ready"},
}

// actsMost is the largest number of actions of Kubernetes in the table.
const actsMost = 40

// kubernetesOf is what Kubernetes did, when, and which setting made it wait.
func kubernetesOf(r *record.Record, c *causes) section {
	t := section{ID: "kubernetes", Title: "What Kubernetes did, when and why"}.columns("#time", "Kubernetes", "waited", "why then", "#learnt at")
	acts := actsOf(c)
	unseen := unseenIn(r)
	for i, a := range acts {
		if i == actsMost {
			t.Items = append(t.Items, cell{Text: fmt.Sprintf("%d more followed: see the timeline.", len(acts)-i)})
			break
		}
		d := does[a.phase]
		what := until(fmt.Sprintf(d.what, strings.Join(few(a.subjects, "more"), ", ")), a.at, a.last)
		at := offset(a.at) + map[bool]string{true: " or before"}[a.hidden]
		learnt, x := time.Time{}, secondsAfter(r, a.at)
		for _, s := range unseen {
			if !x.Before(s.from) && x.Before(s.to) {
				learnt = latest(learnt, s.to)
			}
		}
		t.row(at, what, a.wait.text(), a.why, instant(r, learnt))
	}
	return t
}

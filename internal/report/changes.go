package report

import (
	"fmt"
	"slices"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/text"
)

// target is how many pods the deployment should have from a time on.
type target struct {
	at       time.Time
	replicas int
}

// targetsOf lists by the samples how many pods the deployment of the record should have.
func targetsOf(r *record.Record) (out []target) {
	deployment := r.Deployment()
	for i := range r.Samples {
		x := &r.Samples[i]
		if x.Cluster == nil {
			continue
		}
		for _, d := range x.Cluster.Deployments {
			if d != nil && d.Key == deployment && (len(out) == 0 || out[len(out)-1].replicas != d.Replicas) {
				out = append(out, target{x.At, d.Replicas})
			}
		}
	}
	return out
}

// changesFrom is from when on changes of the deployment matter to the outages; the zero time if
// there are no outages.
func changesFrom(r *record.Record, all []outage) time.Time {
	switch {
	case len(all) > 0:
		return all[0].from
	case recorded(r):
		return r.Zero.Add(-changedBefore)
	}
	return time.Time{}
}

// deletedAt is when the deployment of the record was deleted after a time, by the samples; zero if
// it was not, or was created again.
func deletedAt(r *record.Record, from time.Time) (at time.Time) {
	deployment := r.Deployment()
	for i := range r.Samples {
		x := &r.Samples[i]
		if x.Cluster == nil || !x.At.After(from) {
			continue
		}
		for _, d := range x.Cluster.Deployments { // it stays visible for a while
			switch {
			case d == nil || d.Key != deployment:
			case d.Gone.IsZero():
				at = time.Time{}
			case at.IsZero() && d.Gone.After(from):
				at = d.Gone
			}
		}
		if at.IsZero() && slices.Contains(x.Cluster.GoneDeployments, deployment) {
			at = x.At
		}
	}
	return at
}

// change is what somebody did to the deployment in the outages, as a sentence; empty if nothing.
type change struct {
	at   time.Time
	text string
}

// changesOf describes what somebody did to the deployment, in the order of time.
func changesOf(r *record.Record, all []outage) (sentences []string) {
	changes := []change{scaledUp(r, all), scaledDown(r, all), deleted(r, all)}
	slices.SortStableFunc(changes, func(a, b change) int { return a.at.Compare(b.at) })
	for _, c := range changes {
		sentences = append(sentences, c.text)
	}
	return sentences
}

// deleted describes that the deployment was deleted in the outages or later: its pods are not
// lost.
func deleted(r *record.Record, all []outage) change {
	from := changesFrom(r, all)
	if from.IsZero() {
		return change{}
	}
	gone := deletedAt(r, from)
	if gone.IsZero() {
		return change{}
	}
	return change{gone, "the deployment was deleted at " + clock(gone) + " UTC"}
}

// scaledDown describes the first time in the outages that the deployment should have fewer
// pods than before: those are not lost.
func scaledDown(r *record.Record, all []outage) change {
	from := changesFrom(r, all)
	if from.IsZero() {
		return change{}
	}
	targets := targetsOf(r)
	for i := 1; i < len(targets); i++ {
		if was, to := targets[i-1].replicas, targets[i]; to.replicas < was && to.at.After(from) {
			return change{to.at, scaling(was, to)}
		}
	}
	return change{}
}

// scaledBelow reports whether the deployment should have fewer pods than that during an outage.
func scaledBelow(r *record.Record, o *outage, pods int) bool {
	return slices.ContainsFunc(targetsOf(r), func(t target) bool {
		return t.replicas < pods && t.at.After(o.from) && t.at.Before(o.end(r))
	})
}

// scaling describes that a deployment was scaled.
func scaling(was int, to target) string {
	return fmt.Sprintf("the deployment was scaled from %d to %s at %s UTC", was, text.Count(to.replicas, "pod", "pods"), clock(to.at))
}

// scaledUp describes the first time in the outages that the deployment should have more pods than
// before, and until when so many were not available: podsOf counts those of before only.
func scaledUp(r *record.Record, all []outage) change {
	targets := targetsOf(r)
	for _, o := range all {
		for i := 1; i < len(targets); i++ {
			if was, to := targets[i-1].replicas, targets[i]; to.replicas > was && to.at.After(o.from) && to.at.Before(o.end(r)) {
				return change{to.at, scaling(was, to) + missingOf(r, &o, targets[i:])}
			}
		}
	}
	return change{}
}

// missingOf describes how many pods were not available of those that a deployment should have by
// the first target, until the next one; empty if none were missing.
func missingOf(r *record.Record, o *outage, targets []target) string {
	var l lack
	again := time.Time{}
	if len(targets) > 1 {
		again = targets[1].at
	}
	for _, x := range availableIn(r, targets[0].at) {
		want := targets[0].replicas
		if x.replicas >= 0 {
			want = min(want, x.replicas)
		}
		if !again.IsZero() && !x.at.Before(again) || l.extend(max(want-x.available, 0), x.at, o.end(r)) {
			break
		}
	}
	switch {
	case l.most == 0:
		return ""
	case l.lasts && !again.IsZero():
		return fmt.Sprintf(", and up to %d of them were not available until it was scaled again at %s", l.most, clock(again))
	case l.lasts:
		return fmt.Sprintf(", and up to %d of them were not available, %d still %s", l.most, l.at(r.End), atEnd(r))
	}
	return fmt.Sprintf(", and up to %d of them were not available, the last until %s", l.most, clock(l.to))
}

package session

import (
	"context"
	"fmt"
	"time"

	"lightsout/cluster"
	"lightsout/internal/text"
	"lightsout/internal/view"
)

// rollouts restarts the rollouts of deployments.
type rollouts struct {
	*loop
}

// ask asks whether to restart a deployment's rollout.
func (r *rollouts) ask(i view.AskRollout) {
	k := i.Deployment
	switch {
	case r.opt.ReadOnly:
		r.warn(view.LaneOperator, k.String(), "read-only: no rollout can be restarted")
		return
	case r.opt.Rollout == nil || r.snapshot == nil || r.opt.Questions.first() != nil:
		return
	}
	d := r.snapshot.Deployment(k)
	if d == nil || !d.Gone.IsZero() {
		r.warn(view.LaneOperator, k.String(), "there is no deployment "+k.String())
		return
	}
	q := view.Question{Kind: view.QuestionRollout, Title: "Restart the rollout of " + k.String() + "?", Choices: []view.Choice{{ID: view.ChoiceNo, Label: "Leave it"}, {ID: view.ChoiceYes, Label: "Restart"}}}
	q.Lines = append(q.Lines,
		view.Line{Text: fmt.Sprintf("Every one of its %s is replaced by a new one, as by kubectl rollout restart.", text.Count(d.Replicas, "pod", "pods"))},
		view.Line{Text: "The scheduler places the new ones: this is what moves pods back to a node that has returned."})
	if d.MaxUnavailable == 0 {
		q.Lines = append(q.Lines, view.Line{Level: view.Warning, Text: "Its maxUnavailable is 0: without room for one more pod the rollout will not move."})
	}
	if r.opt.DryRun {
		q.Lines = append(q.Lines, view.Line{Text: "Dry run: nothing will be restarted."})
	}
	r.opt.Questions.ask(q, func(a view.Answer) {
		if a.Choice == view.ChoiceYes {
			r.guest.Did(i)
			r.restart(k)
		}
	})
}

// restart restarts a rollout; the Progress says when all of its pods are new
// ones.
func (r *rollouts) restart(k cluster.Key) Progress {
	switch {
	case r.opt.DryRun:
		r.say(view.Event{Lane: view.LaneOperator, Subject: k.String(), Text: "dry run: no rollout restarted"})
		return func(time.Time) (bool, string, error) { return true, "dry run", nil }
	case r.opt.Rollout == nil:
		return failNow(fmt.Errorf("the rollout of %s can't be restarted here", k))
	}
	old := map[string]bool{}
	if r.snapshot != nil {
		for _, p := range r.snapshot.PodsOf(k) {
			old[p.UID] = true
		}
	}
	var asked bool
	var failure error
	async(r.loop, planTimeout, func(ctx context.Context) error { return r.opt.Rollout(ctx, k) }, func(err error) {
		if asked, failure = true, err; err != nil {
			r.warn(view.LaneOperator, k.String(), err.Error())
			return
		}
		r.say(view.Event{Lane: view.LaneOperator, Kind: string(cluster.KindDeployment), Subject: k.String(), Text: "rollout restarted"})
	})
	return func(time.Time) (bool, string, error) {
		if !asked || failure != nil {
			return failure != nil, "restarting the rollout of " + k.String(), failure
		}
		return r.complete(k, old)
	}
}

// complete reports whether none of the old pods is left and all new ones are
// available.
func (r *rollouts) complete(k cluster.Key, old map[string]bool) (bool, string, error) {
	d := r.snapshot.Deployment(k)
	if d == nil {
		return false, "the deployment is not to be seen", nil
	}
	remain := 0
	for _, p := range r.snapshot.PodsOf(k) {
		if p.Gone.IsZero() && old[p.UID] {
			remain++
		}
	}
	done := remain == 0 && d.Updated == d.Replicas && d.Total == d.Replicas && d.Available == d.Replicas
	return done, fmt.Sprintf("%d of %d pods are new and available, %d old ones are left", min(d.Updated, d.Available), d.Replicas, remain), nil
}

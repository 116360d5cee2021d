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
	why := d.NoRestart()
	if d == nil || !d.Gone.IsZero() {
		why = "there is no deployment " + k.String()
	}
	if why != "" {
		r.warn(view.LaneOperator, k.String(), why)
		return
	}
	q := view.Question{Kind: view.QuestionRollout, Title: "Restart the rollout of " + k.String() + "?", Choices: []view.Choice{{ID: view.ChoiceNo, Label: "Leave it"}, {ID: view.ChoiceYes, Label: "Restart"}}}
	q.Lines = append(q.Lines,
		view.Line{Text: fmt.Sprintf("This replaces each of its %s, as kubectl rollout restart does.", text.Count(d.Replicas, "pod", "pods"))},
		view.Line{Text: "The scheduler places the new pods: only this moves pods back to a node that has returned."})
	if d.MaxUnavailable == 0 {
		q.Lines = append(q.Lines, view.Line{Level: view.Warning, Text: "Its maxUnavailable is 0: without room for one more pod the rollout will not progress."})
	}
	if r.opt.DryRun {
		q.Lines = append(q.Lines, view.Line{Text: "Dry run: lightsout will restart nothing."})
	}
	r.opt.Questions.ask(q, func(a view.Answer) {
		if a.Choice == view.ChoiceYes {
			r.guest.Handle(Did{i})
			r.restart(k)
		}
	})
}

// restart restarts a rollout; the Progress reports when all of its pods are new ones.
func (r *rollouts) restart(k cluster.Key) Progress {
	switch {
	case r.opt.DryRun:
		e := view.NewEvent(view.CodeDryRun, k.String(), view.Facts{Reported: "no rollout restarted"})
		e.Lane = view.LaneOperator
		r.say(e)
		return func(time.Time) (bool, string, error) { return true, "dry run", nil }
	case r.opt.Rollout == nil:
		return FailNow(fmt.Errorf("the rollout of %s can't be restarted here", k))
	}
	old := map[string]bool{}
	if r.snapshot != nil {
		for _, p := range r.snapshot.PodsOf(k) {
			old[p.UID] = true
		}
	}
	var asked bool
	var failure error
	async(r.loop, apiTimeout, func(ctx context.Context) error { return r.opt.Rollout(ctx, k) }, func(err error) {
		if asked, failure = true, err; err != nil {
			r.warn(view.LaneOperator, k.String(), err.Error())
			return
		}
		e := view.NewEvent(view.CodeRolloutRestarted, k.String(), view.Facts{})
		e.Kind = string(cluster.KindDeployment)
		r.say(e)
	})
	return func(time.Time) (bool, string, error) {
		if !asked || failure != nil {
			return failure != nil, "restarting the rollout of " + k.String(), failure
		}
		return r.complete(k, old)
	}
}

// complete reports whether no old pod is left and all pods are new and available. The deployment's own
// counts may date from before the restart.
func (r *rollouts) complete(k cluster.Key, old map[string]bool) (bool, string, error) {
	d := r.snapshot.Deployment(k)
	if d == nil {
		return false, "lightsout cannot see the deployment", nil
	}
	remain := 0
	for _, p := range r.snapshot.PodsOf(k) {
		if p.Gone.IsZero() && old[p.UID] {
			remain++
		}
	}
	done := !d.Behind && remain == 0 && d.Updated == d.Replicas && d.Total == d.Replicas && d.Available == d.Replicas
	return done, fmt.Sprintf("%d of %d pods are available, %d old ones are left", d.Available, d.Replicas, remain), nil
}

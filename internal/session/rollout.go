package session

import (
	"fmt"
	"time"

	"lightsout/cluster"
	"lightsout/internal/text"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
)

// askRollout asks whether to restart a deployment's rollout.
func (e *Engine) askRollout(k cluster.Key) {
	s := e.snapshot.Load()
	switch {
	case e.opt.ReadOnly:
		e.warn(view.LaneOperator, k.String(), "read-only: no rollout can be restarted")
		return
	case e.opt.Rollout == nil || s == nil || len(e.questions) > 0:
		return
	}
	d := s.Deployment(k)
	if d == nil || !d.Gone.IsZero() {
		e.warn(view.LaneOperator, k.String(), "there is no deployment "+k.String())
		return
	}
	q := view.Question{Kind: view.QuestionRollout, Title: "Restart the rollout of " + k.String() + "?", Choices: []view.Choice{{ID: choiceNo, Label: "Leave it"}, {ID: choiceYes, Label: "Restart"}}}
	q.Lines = append(q.Lines,
		view.Line{Text: fmt.Sprintf("Every one of its %s is replaced by a new one, as by kubectl rollout restart.", text.Count(d.Replicas, "pod", "pods"))},
		view.Line{Text: "The scheduler places the new ones: this is what moves pods back to a node that has returned."})
	if d.MaxUnavailable == 0 {
		q.Lines = append(q.Lines, view.Line{Level: view.Warning, Text: "Its maxUnavailable is 0: without room for one more pod the rollout will not move."})
	}
	if e.opt.DryRun {
		q.Lines = append(q.Lines, view.Line{Text: "Dry run: nothing will be restarted."})
	}
	e.ask(q, func(a view.Answer) {
		if a.Choice != choiceYes {
			return
		}
		if e.running() && e.run.plan == nil {
			e.freeStep(&plan.Rollout{Deployment: k.String()})
		}
		e.rollout(k)
	})
}

// rollout restarts a rollout; the poll says when all of its pods are new ones.
func (e *Engine) rollout(k cluster.Key) poll {
	switch {
	case e.opt.DryRun:
		e.say(view.Event{Lane: view.LaneOperator, Subject: k.String(), Text: "dry run: no rollout restarted"})
		return func(time.Time) (bool, string, error) { return true, "dry run", nil }
	case e.opt.Rollout == nil:
		return failNow(fmt.Errorf("the rollout of %s can't be restarted here", k))
	}
	old := map[string]bool{}
	if s := e.snapshot.Load(); s != nil {
		for _, p := range s.PodsOf(k) {
			old[p.UID] = true
		}
	}
	var asked bool
	var failure error
	e.goDo(func() {
		ctx, cancel := e.withTimeout(planTimeout)
		defer cancel()
		err := e.opt.Rollout(ctx, k)
		e.mail.post(func() {
			if asked, failure = true, err; err != nil {
				e.warn(view.LaneOperator, k.String(), err.Error())
				return
			}
			e.say(view.Event{Lane: view.LaneOperator, Kind: string(cluster.KindDeployment), Subject: k.String(), Text: "rollout restarted"})
		})
	})
	return func(time.Time) (bool, string, error) {
		if !asked || failure != nil {
			return failure != nil, "restarting the rollout of " + k.String(), failure
		}
		s := e.snapshot.Load()
		d := s.Deployment(k)
		if d == nil {
			return false, "the deployment is not to be seen", nil
		}
		remain := 0
		for _, p := range s.PodsOf(k) {
			if p.Gone.IsZero() && old[p.UID] {
				remain++
			}
		}
		done := remain == 0 && d.Updated == d.Replicas && d.Total == d.Replicas && d.Available == d.Replicas
		return done, fmt.Sprintf("%d of %d pods are new and available, %d old ones are left", min(d.Updated, d.Available), d.Replicas, remain), nil
	}
}

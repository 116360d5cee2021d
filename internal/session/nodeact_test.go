package session_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"lightsout/cluster"
	"lightsout/internal/session"
	"lightsout/internal/view"
	"lightsout/power"
)

// The operator cordons, drains and uncordons a node whose machine stays on.
func TestANodeIsDrainedAndStaysOn(t *testing.T) {
	t.Parallel()
	d := newDrainer()
	w := drainWorld(t, d, session.Options{Around: atlas{}})
	w.x.Send(view.AskNodes{Act: view.ActCordon, Nodes: []string{"kube-node4"}})
	w.x.frame("the cordon", func(f *view.Frame) bool {
		return slices.Equal(w.x.leftCordoned(), []string{"kube-node4"}) && hasCode(f, view.CodeCordoned, "kube-node4")
	})
	w.x.Send(view.AskNodes{Act: view.ActDrain, Nodes: []string{"kube-node3"}})
	if q := w.x.question(view.QuestionDrain); !strings.Contains(q.Lines[0].Text, "4 pods are evicted · 3 Ready workers left") {
		t.Errorf("the question does not begin with its sum:\n%s", questionText(q))
	}
	w.x.answer(view.QuestionDrain, view.ChoiceYes)
	q, err := w.x.Preview(t.Context(), view.AskPower{Action: power.ActionShutdown, Nodes: workers[2:3], Drain: true}, power.Assumption{})
	if text := questionText(&q); err != nil || q.Title != "Drain, then shut down "+workers[2]+"?" || len(q.Choices) != 2 || q.Choices[1].ID != view.ChoiceDrain ||
		!strings.Contains(q.Lines[0].Text, "4 pods are evicted") || strings.Contains(text, "pods stop") {
		t.Errorf("%v, %q, %v:\n%s", err, q.Title, q.Choices, text)
	}
	f := w.x.frame("the end of the drain", func(f *view.Frame) bool { return hasCode(f, view.CodeDrained, "kube-node3") })
	if !hasCode(f, view.CodeCordoned, "kube-node4") || f.Power["kube-node3"].LeftOff {
		t.Errorf("the machine is off, or the timeline has no cordon: %+v", f.Power["kube-node3"])
	}
	w.x.Send(view.SwitchScope{Scope: view.Scope{Context: "other"}})
	if q := w.x.question(view.QuestionMove); q.Title != "Context stays: kube-node3 is cordoned from here; :uncordon ends that" {
		t.Errorf("what holds the context: %+v", q)
	}
	w.x.answer(view.QuestionMove, view.ChoiceNo)
	w.cordoned("kube-node4")
	w.x.frame("the cordon in the cluster", func(f *view.Frame) bool { return f.Snapshot.Node("kube-node4").Unschedulable })
	w.cordoned() // by somebody else
	w.x.frame("its end", func(f *view.Frame) bool { return hasCode(f, view.CodeUncordoned, "kube-node4") })
	if got := w.x.leftCordoned(); !slices.Equal(got, []string{"kube-node3"}) {
		t.Errorf("cordoned by the journal: %v", got)
	}
	w.x.Send(view.AskNodes{Act: view.ActUncordon, Nodes: []string{"kube-node4"}})
	w.x.frame("nothing to do", func(f *view.Frame) bool { return f.Notice.Text == "kube-node4 is not cordoned" })
	w.x.Send(view.AskNodes{Act: view.ActUncordon, Nodes: []string{"kube-node3"}})
	w.x.frame("nothing cordoned", func(*view.Frame) bool { return len(w.x.leftCordoned()) == 0 })
	log := d.calls()
	before(t, log, "cordon kube-node3", "drain kube-node3", "uncordon kube-node3")
	if slices.ContainsFunc(log, func(c string) bool { return strings.HasPrefix(c, "shutdown") || strings.HasPrefix(c, "off") }) {
		t.Errorf("a machine was switched: %v", log)
	}
}

// Powering on ends the cordon that the shutdown took, and no other: the question names those that stay.
func TestPoweringOnLeavesACordonFromBeforeTheShutdown(t *testing.T) {
	t.Parallel()
	d := newDrainer()
	d.cordoned["kube-node2"] = true // by somebody else
	cordoned := []string{"kube-node2", "kube-node3"}
	w := startWorld(t, session.Options{Drain: d}, func(w *world) { w.cordoned(cordoned...) })
	w.x.Send(view.AskNodes{Act: view.ActCordon, Nodes: []string{"kube-node3"}})
	w.x.frame("the cordon", func(*view.Frame) bool { return slices.Equal(w.x.leftCordoned(), []string{"kube-node3"}) })
	all := []string{"kube-node2", "kube-node3", "kube-node4"}
	w.confirm("drain", all...)
	w.x.off(all...)
	w.x.Send(view.AskPower{Action: power.ActionOn, Nodes: all})
	q := w.x.question(view.QuestionSwitch)
	if got := questionText(q); !strings.Contains(got, "kube-node3 stays cordoned: it was before") ||
		!strings.Contains(got, "kube-node2 stays cordoned: it was before") || strings.Contains(got, "kube-node4 stays") {
		t.Errorf("the question is\n%s", got)
	}
	w.x.Send(view.Answer{Question: q.ID, Choice: view.ChoiceYes})
	w.x.frame("kube-node4 uncordoned", func(f *view.Frame) bool { return hasCode(f, view.CodeUncordoned, "kube-node4") })
	if got := w.x.leftCordoned(); !slices.Equal(got, []string{"kube-node3"}) || !slices.Equal(d.now(), cordoned) {
		t.Errorf("cordoned by the journal %v, and in the cluster %v", got, d.now())
	}
	w.confirm(view.ChoiceNo, "kube-node4")
	w.x.frame("the no", func(f *view.Frame) bool { return strings.HasPrefix(f.Notice.Text, "the answer was no") })
	w.x.Send(view.AskNodes{Act: view.ActCordon, Nodes: []string{"kube-node3"}})
	w.x.frame("the newer answer", func(f *view.Frame) bool { return f.Notice.Text == "asked to cordon kube-node3" })
	w.confirm("drain", "kube-node4")
	w.x.frame("the yes", func(f *view.Frame) bool { return f.Notice.Text == "the answer was yes: shut down kube-node4" })
	w.x.off("kube-node4")
	w.x.Send(view.AskQuit{})
	if got := questionText(w.x.question(view.QuestionQuit)); !strings.Contains(got, "These stay cordoned, as you asked:\n  kube-node3: kubectl uncordon kube-node3") || strings.Contains(got, "kube-node3 (cordoned)") {
		t.Errorf("the question is\n%s", got)
	}
	w.x.answer(view.QuestionQuit, "on")
	w.x.waitEnd()
	if got := w.x.leftCordoned(); !slices.Equal(got, []string{"kube-node3"}) || !slices.Equal(d.now(), cordoned) {
		t.Errorf("at the end cordoned by the journal %v, and in the cluster %v", got, d.now())
	}
}

// cordoned makes the snapshot show these nodes cordoned, and no others.
func (w *world) cordoned(nodes ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.s.Contents()
	c.Nodes = slices.Clone(c.Nodes)
	for i, n := range c.Nodes {
		m := *n
		m.Unschedulable = slices.Contains(nodes, n.Name)
		c.Nodes[i] = &m
	}
	w.s = cluster.NewSnapshot(c)
	w.changed <- struct{}{}
}

// A drain that a budget blocks can be stopped; the node stays cordoned, and on.
func TestABlockedDrainOfTheOperatorIsStopped(t *testing.T) {
	t.Parallel()
	d := newDrainer()
	d.held["kube-node3"] = "its budget allows no eviction"
	w := drainWorld(t, d, session.Options{})
	drain := view.AskNodes{Act: view.ActDrain, Nodes: []string{"kube-node3"}}
	w.x.Send(drain)
	w.x.answer(view.QuestionDrain, view.ChoiceYes)
	w.x.frame("the reason", func(f *view.Frame) bool { return hasCode(f, view.CodeDrainHeld, "kube-node3") })
	w.x.Send(view.AskNodes{Act: view.ActUncordon, Nodes: drain.Nodes})
	w.x.frame("a refusal", func(f *view.Frame) bool {
		return strings.Contains(f.Notice.Text, "kube-node3 is being drained; :drain kube-node3 can stop it")
	})
	w.x.Send(drain)
	if q := w.x.question(view.QuestionDrain); !strings.Contains(questionText(q), "its budget allows no eviction") || strings.Contains(questionText(q), "hut down") {
		t.Errorf("the question is\n%s", questionText(q))
	}
	w.x.answer(view.QuestionDrain, "leave")
	w.x.frame("the end", func(f *view.Frame) bool { return strings.Contains(f.Notice.Text, "the drain is cancelled") })
	if got := w.x.leftCordoned(); !slices.Equal(got, drain.Nodes) {
		t.Errorf("cordoned: %v", got)
	}
}

func TestNodesAreLeftAloneWhereTheyMustBe(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]session.Options{"read-only": {ReadOnly: true}, "dry run": {DryRun: true}} {
		d := newDrainer()
		w := drainWorld(t, d, opt)
		for _, act := range []view.NodeAct{view.ActUncordon, view.ActCordon, view.ActDrain} {
			w.x.Send(view.AskNodes{Act: act, Nodes: []string{"kube-node3", "nobody"}})
		}
		if opt.DryRun {
			w.x.answer(view.QuestionDrain, view.ChoiceYes)
			w.x.frame("the dry run", func(f *view.Frame) bool {
				return slices.ContainsFunc(f.Events, func(e view.Event) bool { return e.Code == view.CodeDryRun && e.Reported == "not drained" })
			})
		} else {
			w.x.frame("the refusal", func(f *view.Frame) bool { return strings.Contains(f.Notice.Text, "read-only") })
		}
		if log := d.calls(); len(log) > 0 {
			t.Errorf("%s: %v", name, log)
		}
	}
}

func hasCode(f *view.Frame, code view.Code, subject string) bool {
	return slices.ContainsFunc(f.Events, func(e view.Event) bool { return e.Code == code && e.Subject == subject })
}

// Knative puts the deployment of a Revision back as it was: no pod is replaced.
func TestNoRolloutIsRestartedThatKnativeUndoes(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{Rollout: func(context.Context, cluster.Key) error {
		t.Error("restarted")
		return nil
	}}, nil)
	w.x.Send(view.AskRollout{Deployment: cluster.Key{Namespace: "default", Name: "llm"}})
	w.x.frame("a refusal", func(f *view.Frame) bool {
		return f.Question == nil && strings.Contains(f.Notice.Text, "belongs to a Knative Revision")
	})
}

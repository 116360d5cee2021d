package session_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"lightsout/internal/record"
	"lightsout/internal/session"
	"lightsout/internal/trial"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// atlas knows two places.
type atlas struct{}

func (atlas) Scopes(context.Context) view.Scopes {
	return view.Scopes{Contexts: []string{"mdx", "other"}, Namespaces: []string{"default", "web"}}
}

func (atlas) Check(p view.Scope) error {
	if p.Context == "nowhere" {
		return errors.New("there is no context nowhere")
	}
	return nil
}

func (atlas) Command(p view.Scope) string { return "lightsout -A --context " + p.Context }

func TestAnotherPlaceIsShownUnlessSomethingIsLeftBehind(t *testing.T) {
	t.Parallel()
	x := startEmpty(t, session.Options{Around: atlas{}})
	x.frame("the places", func(f *view.Frame) bool { return f.Scopes != nil && len(f.Scopes.Contexts) == 2 && f.Snapshot != nil })
	refused := func(why string) {
		t.Helper()
		x.frame(why, func(f *view.Frame) bool {
			return strings.HasPrefix(f.Notice.Text, "Context stays: ") && strings.Contains(f.Notice.Text, why)
		})
	}
	to := func(context string) { x.Send(view.SwitchScope{Scope: view.Scope{Context: context}}) }
	to("nowhere")
	refused("there is no context nowhere")
	x.Send(view.AskPower{Action: power.ActionOff, Nodes: []string{"kube-node3"}})
	q := x.question(view.QuestionSwitch)
	to("other")
	refused("a question is open; in another terminal: ")
	x.Send(view.Answer{Question: q.ID, Choice: view.ChoiceYes})
	x.off("kube-node3")
	to("other")
	if q := x.question(view.QuestionMove); q.Title != "Context stays: kube-node3 is still off (o powers on)" || !q.Refused || q.Lines[1].Command != "lightsout -A --context other" {
		t.Errorf("the refusal is %+v", q)
	}
	x.answer(view.QuestionMove, view.ChoiceNo)
	x.Send(view.SwitchScope{Scope: view.Scope{Namespaces: []string{"web"}}})
	if q := x.question(view.QuestionMove); q.Refused || !strings.Contains(questionText(q), "kube-node3: still off") {
		t.Errorf("other namespaces of the cluster, whose journal is the same: %+v", q)
	}
	x.answer(view.QuestionMove, view.ChoiceNo)
	x.press(power.ActionOn, view.ChoiceYes, "kube-node3")
	x.frame("the machine on again", func(f *view.Frame) bool { return !f.Power["kube-node3"].LeftOff && f.Power["kube-node3"].Busy == "" })
	x.Send(view.AskTrial{})
	x.question(view.QuestionTrial)
	to("other")
	refused("a question is open")
	x.answer(view.QuestionTrial, view.ChoiceNo)
	to("other")
	q = x.question(view.QuestionMove)
	if text := questionText(q); !strings.Contains(text, "Go to context other?") || !strings.Contains(text, "timeline, chart and marks") {
		t.Errorf("the question does not list what ends:\n%s", text)
	}
	x.Send(view.Answer{Question: q.ID, Choice: view.ChoiceNo})
	to("other")
	x.answer(view.QuestionMove, view.ChoiceYes)
	x.waitEnd()
	if next := x.Next(); next == nil || next.Context != "other" {
		t.Errorf("the next place is %v", next)
	}
}

func TestAnotherContextEndsTheLoadAndSaysSo(t *testing.T) {
	t.Parallel()
	x := loadSession(t, session.Options{Around: atlas{}})
	x.Send(view.StartLoad{Spec: loadgen.Spec{Shape: loadgen.Rate, PerSecond: 5}})
	x.frame("the rate", func(f *view.Frame) bool { return f.Load.Active && f.Snapshot != nil })
	x.Send(view.SwitchScope{Scope: view.Scope{Context: "other"}})
	q := x.question(view.QuestionMove)
	if text := questionText(q); !strings.Contains(text, "Sending stops") {
		t.Errorf("the question does not state that sending stops:\n%s", text)
	}
	x.Send(view.Answer{Question: q.ID, Choice: view.ChoiceYes})
	x.waitEnd()
}

func TestTheScreenReportsANamespaceThatDoesNotExist(t *testing.T) {
	t.Parallel()
	x := startEmpty(t, session.Options{Around: atlas{}, Namespaces: "default,nope"})
	x.frame("the notice", func(f *view.Frame) bool {
		return strings.Contains(f.Notice.Text, "The namespace nope does not exist yet")
	})
}

// looking is a guest that looks at each frame before anybody else does.
type looking struct {
	*trial.Runner
	look func(*view.Frame)
}

func (l looking) Show(f *view.Frame) { l.look(f) }

func TestAFramesNamesAreKnownBeforeItIsKept(t *testing.T) {
	rec, names := newRecordWriter(t, ""), record.NewNames()
	rec.Redact(names)
	s := session.New(session.Options{Cluster: "acme-prod", RecordWriter: rec, Questions: session.NewQuestions()})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen, ended := make(chan string, 1), make(chan error, 1)
	guest := looking{trial.NewRunner(s.Controls(), trial.Options{Claim: func() (func(), error) { return func() {}, nil }, Begin: func() {}, Timeline: rec.Timeline()}), func(f *view.Frame) {
		select {
		case seen <- names.Text(f.Cluster):
		default:
		}
	}}
	go func() { ended <- s.Run(ctx, guest) }()
	if got := <-seen; got == "acme-prod" {
		t.Errorf("it would be kept as %s", got)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

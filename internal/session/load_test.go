package session_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"lightsout/internal/session"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// loadSession returns a session that can send requests.
func loadSession(t *testing.T, opt session.Options) *bench {
	t.Helper()
	return loadSessionTo(t, opt, func(http.ResponseWriter, *http.Request) {})
}

// loadSessionTo returns a session that sends its requests to a handler.
func loadSessionTo(t *testing.T, opt session.Options, handler http.HandlerFunc) *bench {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	b := newBoard(workers...)
	return run(t, t.TempDir(), b, b, &still{s: mdxSnapshot(), changed: make(chan struct{})}, opt, func(*session.Target, *session.RecordWriter) *loadgen.Generator {
		g, err := loadgen.New(loadgen.Options{Target: loadgen.Target{URL: srv.URL}})
		if err != nil {
			t.Fatal(err)
		}
		return g
	})
}

func burst(n int) loadgen.Spec { return loadgen.Spec{Shape: loadgen.Burst, N: n} }

func (x *bench) allEnded(n int) {
	x.t.Helper()
	x.frame("all requests ended", func(f *view.Frame) bool { return f.Load.Totals.Scheduled == n && f.Load.Totals.InFlight() == 0 })
}

func TestTheSessionAsksOnceBeforeItSendsRequests(t *testing.T) {
	t.Parallel()
	x := loadSession(t, session.Options{})
	x.Send(view.StartLoad{Spec: burst(2), Ask: true})
	q := x.question(view.QuestionLoad)
	if text := questionText(q); !strings.Contains(text, "burst of 2") || !strings.Contains(text, "http://127.0.0.1") || q.Choices[0].ID != view.ChoiceNo {
		t.Errorf("got the question\n%s\n%v", text, q.Choices)
	}
	x.Send(view.Answer{Question: q.ID, Choice: view.ChoiceNo})
	x.Send(view.StartLoad{Spec: burst(3), Ask: true})
	q = x.question(view.QuestionLoad)
	x.Send(view.Answer{Question: q.ID, Choice: view.ChoiceYes})
	x.allEnded(3)
	x.Send(view.StartLoad{Spec: burst(4), Ask: true}) // agreed
	x.allEnded(7)
}

// The timeline reports the end of each run, also of those that end within one moment; a hold that
// was changed several times has one end.
func TestTheTimelineReportsTheEndOfEachRun(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	x := loadSessionTo(t, session.Options{}, func(http.ResponseWriter, *http.Request) { <-release })
	for n := range 5 {
		x.Send(view.StartLoad{Spec: burst(n + 1)})
	}
	for n := range 4 {
		x.Send(view.StartLoad{Spec: loadgen.Spec{Shape: loadgen.Hold, N: n + 1}})
	}
	x.frame("the requests", func(f *view.Frame) bool { return f.Load.Totals.InFlight() == 19 })
	x.Send(view.StopLoad{})
	x.frame("the end of the hold", func(f *view.Frame) bool { return !f.Load.Active })
	close(release)
	f := x.frame("six ends", func(f *view.Frame) bool {
		return f.Load.Totals.InFlight() == 0 && len(ends(f)) >= 6
	})
	want := []string{"burst of 1", "burst of 2", "burst of 3", "burst of 4", "burst of 5", "hold at 4"}
	got := ends(f)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("ended: %q, want %q", got, want)
	}
}

// ends are the names of the runs that the timeline shows as ended.
func ends(f *view.Frame) (out []string) {
	for _, e := range f.Events {
		if e.Code == view.CodeLoadEnded {
			out = append(out, e.Facts.Name)
		}
	}
	return out
}

func TestLeavingAsksWhileRequestsAreInFlight(t *testing.T) {
	t.Parallel()
	x := loadSessionTo(t, session.Options{}, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	x.Send(view.StartLoad{Spec: burst(2)})
	x.frame("the requests", func(f *view.Frame) bool { return f.Load.Totals.InFlight() == 2 })
	x.Send(view.AskQuit{})
	q := x.question(view.QuestionQuit)
	if text := questionText(q); !strings.Contains(text, "cancels the requests in flight") || q.Choices[0].ID != view.ChoiceNo {
		t.Errorf("got the question\n%s\n%v", text, q.Choices)
	}
	x.Send(view.Answer{Question: q.ID, Choice: view.ChoiceNo})
	x.frame("no question, and the requests", func(f *view.Frame) bool { return f.Load.Totals.InFlight() == 2 && f.Question == nil })

	x.Send(view.AskQuit{})
	x.question(view.QuestionQuit)
	x.Send(view.StopLoad{Cancel: true}) // nothing is left to ask about, and nobody has answered
	x.frame("lightsout stays", func(f *view.Frame) bool { return f.Question == nil && strings.HasSuffix(f.Notice.Text, "q leaves") })
	x.Send(view.AskQuit{})
	x.waitEnd()
}

func TestTheSessionAsksBeforeEachLoadOnProduction(t *testing.T) {
	t.Parallel()
	x := loadSession(t, session.Options{Production: true})
	for i := range 2 {
		x.Send(view.StartLoad{Spec: burst(2)})
		q := x.question(view.QuestionLoad)
		if !strings.Contains(questionText(q), "mdx is a production cluster") {
			t.Errorf("the question lacks the production cluster:\n%s", questionText(q))
		}
		x.Send(view.Answer{Question: q.ID, Choice: view.ChoiceYes})
		x.allEnded(2 * (i + 1))
	}
	x.Send(view.StartLoad{Spec: loadgen.Spec{Shape: loadgen.Rate, PerSecond: 20}})
	x.answer(view.QuestionLoad, view.ChoiceYes)
	x.frame("the rate", func(f *view.Frame) bool { return f.Load.Active })
	x.Send(view.StartLoad{Spec: loadgen.Spec{Shape: loadgen.Rate, PerSecond: 5}}) // a smaller load needs no question
	x.frame("the smaller rate", func(f *view.Frame) bool { return f.Load.Spec.PerSecond == 5 && f.Question == nil })
	x.Send(view.StartLoad{Spec: loadgen.Spec{Shape: loadgen.Rate, PerSecond: 40}})
	x.answer(view.QuestionLoad, view.ChoiceNo)
	x.Send(view.StopLoad{})
	ended := func(name string) func(view.Event) bool {
		return func(e view.Event) bool { return e.Code == view.CodeLoadEnded && e.Name == name }
	}
	f := x.frame("the end", func(f *view.Frame) bool { return slices.ContainsFunc(f.Events, ended("rate of 5 a second")) })
	if slices.ContainsFunc(f.Events, ended("rate of 20 a second")) {
		t.Errorf("a changed rate has ended: %+v", f.Events)
	}
}

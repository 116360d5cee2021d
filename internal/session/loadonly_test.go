package session_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"lightsout/internal/session"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

func TestLoadIsShownWithoutACluster(t *testing.T) {
	t.Parallel()
	answer := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-answer:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(srv.Close)
	g, err := loadgen.New(loadgen.Options{Target: loadgen.Target{URL: srv.URL}})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Start(loadgen.Spec{Shape: loadgen.Hold, N: 3}); err != nil {
		t.Fatal(err)
	}
	l, err := session.NewLoadOnly(g)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { l.Run(ctx); close(over) }()
	t.Cleanup(func() { cancel(); <-over })
	until := func(what string, is func(*view.Frame) bool) {
		t.Helper()
		patience := time.After(30 * time.Second)
		for {
			select {
			case f := <-l.Frames():
				if f == nil || is(f) {
					return
				}
			case <-patience:
				t.Fatal("gave up waiting for: " + what)
			}
		}
	}
	until("three in flight", func(f *view.Frame) bool { return f.Load.Totals.InFlight() == 3 && f.Cluster == "no cluster" })
	l.Send(view.StartLoad{Spec: loadgen.Spec{Shape: loadgen.Burst, N: 2}})
	until("two more", func(f *view.Frame) bool { return f.Load.Totals.InFlight() == 5 })
	l.Send(view.StartLoad{Spec: loadgen.Spec{Shape: loadgen.Burst, N: -1}})
	until("the notice of what is wrong", func(f *view.Frame) bool { return f.Notice.Text != "" })
	l.Send(view.StopLoad{})
	until("that no more are started", func(f *view.Frame) bool { return !f.Load.Active })
	close(answer)
	until("what came of it, on the timeline", func(f *view.Frame) bool {
		return len(f.Events) > 0 && f.Events[len(f.Events)-1].Level == view.Good && f.Load.Totals.OK == 5
	})
	l.Send(view.AskQuit{})
	until("the last frame", func(f *view.Frame) bool { return false })
	<-over
}

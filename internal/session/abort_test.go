package session_test

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lightsout/internal/session"
	"lightsout/internal/trial"
	"lightsout/internal/view"
	"lightsout/power"
)

// The loop is busy for 300 ms (a slow disk) while the operator aborts the trial and the
// request of its step passes its last check.
func TestAnAbortBesideTheBeginOfAStep(t *testing.T) {
	var block, blocked atomic.Bool
	var calls atomic.Int32
	release := make(chan struct{})
	var w *world
	ready := make(chan struct{})
	opt := session.Options{
		Now: func() time.Time {
			if block.Load() {
				buf := make([]byte, 1<<16)
				if strings.Contains(string(buf[:runtime.Stack(buf, false)]), "(*Session).turns") {
					blocked.Store(true)
					<-release
				}
			}
			return time.Now()
		},
		Self: func(context.Context) power.Self {
			if calls.Add(1) == 3 {
				<-ready
				block.Store(true)
				for !blocked.Load() {
					w.x.Send(view.Remark{Text: "x"})
					time.Sleep(5 * time.Millisecond)
				}
				w.x.Send(view.AbortTrial{Why: "by the operator"})
				time.AfterFunc(300*time.Millisecond, func() { block.Store(false); close(release) })
			}
			return power.Self{}
		},
	}
	w = startWorld(t, opt, nil)
	close(ready)
	w.x.Start(parse(t, "name: hang\ndeployment: default/llm\nsteps:\n  - load: {burst: 1}\n  - off: {nodes: [kube-node3], how: plug}\n  - on: [kube-node3]\nexpect:\n  - balanced: true\n"), trial.RunOptions{Auto: true, End: true})
	sum, _ := w.outcome(t)
	if sum.Verdict != view.Aborted || !w.is("kube-node3", power.On) || len(w.x.left()) > 0 {
		t.Errorf("the aborted trial switched kube-node3 off after the abort, and did not ask to power it on")
	}
}

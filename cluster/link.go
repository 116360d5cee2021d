package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// idleMax is how long a connection may be silent before lightsout asks the server;
	// together with probeTimeout it bounds how late lightsout notices a loss.
	idleMax      = 5 * time.Second
	probeTimeout = 3 * time.Second
	// While the link is lost the pause between attempts grows between these.
	retryMin = 500 * time.Millisecond
	retryMax = 15 * time.Second
)

// gate lets the followers through while the link is live.
type gate struct {
	mu     sync.Mutex
	open   bool
	opened chan struct{} // closed when the gate opens; renewed when it shuts
}

func (g *gate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case open && !g.open:
		close(g.opened)
	case !open && g.open:
		g.opened = make(chan struct{})
	}
	g.open = open
}

// wait returns when the gate is open, or false when ctx has ended.
func (g *gate) wait(ctx context.Context) bool {
	g.mu.Lock()
	opened := g.opened
	g.mu.Unlock()
	select {
	case <-ctx.Done():
		return false
	case <-opened:
		return ctx.Err() == nil
	}
}

// keepLink asks the server whenever it has been silent for a while or somebody checks
// it, and reports to the owner when the link comes and goes. keepHeartbeats does the
// same for the heartbeats' connection.
func (w *Watcher) keepLink(ctx context.Context) {
	link := Link{State: LinkConnecting}
	for failures := 0; ctx.Err() == nil; {
		if link.State == LinkLive && !w.idle(ctx) {
			return
		}
		began := time.Now()
		err := w.probe(ctx, mainLine)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && link.State == LinkLive:
		case err == nil:
			failures = 0
			link = Link{State: LinkLive}
			asking, cancel := context.WithTimeout(ctx, probeTimeout)
			version, _ := w.client.Version(asking) // an unknown one is a new one
			cancel()
			live := link
			w.send(ctx, func(s *state) { s.linked(live, version) })
			w.gate.set(true)
		case link.State == LinkLive && !isOtherCluster(err) && w.client.traffic.heard(mainLine).After(began):
			// Something else got through: only this one question did not.
		default:
			w.gate.set(false)
			failures++
			if isOtherCluster(err) || failures > 1 && utilnet.IsTimeout(err) {
				w.client.traffic.cut(mainLine)
			}
			pause, since := pauseAfter(err, failures, retryMin, retryMax), link.LastContact
			if link.State != LinkDisconnected {
				since = w.client.traffic.knownUntil(mainLine)
			}
			link = Link{State: LinkDisconnected, LastContact: since, Err: describe(err, w.client.cfg), NextTry: time.Now().Add(pause)}
			lost := link
			w.send(ctx, func(s *state) { s.linked(lost, "") })
			lostPause(ctx, w, mainLine, pause)
		}
	}
}

// idle waits until nothing has been received for WatchOptions.Idle, or somebody checks
// the link; false when ctx has ended.
func (w *Watcher) idle(ctx context.Context) bool {
	for {
		quiet := time.Since(w.client.traffic.contact())
		if quiet >= w.opts.Idle {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-w.checks[mainLine]:
			return true
		case <-time.After(w.opts.Idle - quiet):
		}
	}
}

// lostPause waits before the next attempt; a server that starts to talk again
// by itself, on connections that survived, ends it early.
func lostPause(ctx context.Context, w *Watcher, l line, pause time.Duration) {
	since := w.client.traffic.heard(l)
	_ = wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, pause, false, func(context.Context) (bool, error) {
		return w.client.traffic.heard(l).After(since), nil
	})
}

// checkLink checks a connection now.
func (w *Watcher) checkLink(l line) {
	select {
	case w.checks[l] <- struct{}{}:
	default:
	}
}

// Confirm asks the API server now, on each of its connections. It returns once all have
// answered for the cluster that the Client has identified, the Snapshot shows everything
// that arrived before, and its nodes are those that the API server has now. The error is
// the reason why a connection gave no such answer, or names a node that differs.
func (w *Watcher) Confirm(ctx context.Context) error {
	var wg sync.WaitGroup
	var errs [lineCount]error
	for l := range lineCount {
		wg.Go(func() { errs[l] = w.answers(ctx, l) })
	}
	wg.Wait()
	for l, err := range errs {
		if isOtherCluster(err) {
			w.checkLink(line(l))
			return err
		}
	}
	if err := errors.Join(errs[:]...); err != nil {
		return fmt.Errorf("the API server did not answer: %s", describe(cmp.Or(errs[:]...), w.client.cfg))
	}
	published := make(chan struct{})
	w.send(ctx, func(s *state) { // all news that came before it
		if s.dirty {
			s.publish(time.Now())
		}
		close(published)
	})
	select {
	case <-published:
		return nodesAreCurrent(ctx, w)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// notReady is the content of /readyz while the server runs but cannot serve.
type notReady struct{ failed []string }

func (e *notReady) Error() string {
	if len(e.failed) == 0 {
		return "it may be starting or have lost its database"
	}
	return "failing: " + strings.Join(e.failed, ", ")
}

// probe asks on a line whether the server is ready, and for which cluster it answers. It
// waits for the answer for as long as the line delivers anything.
func (w *Watcher) probe(ctx context.Context, l line) error {
	ctx, cancel := context.WithCancel(ctx)
	answer := make(chan error, 1)
	go func() { answer <- w.answers(ctx, l) }()
	look := time.NewTicker(probeTimeout)
	defer look.Stop()
	for {
		select {
		case err := <-answer:
			cancel()
			return err
		case <-look.C:
			if time.Since(w.client.traffic.heard(l)) >= probeTimeout {
				cancel()
				if err := <-answer; err != nil {
					return errors.Join(err, context.DeadlineExceeded)
				}
				return nil
			}
		}
	}
}

// answers asks a line once whether the server is ready, and for which cluster it answers.
func (w *Watcher) answers(ctx context.Context, l line) error {
	if err := w.ask(ctx, l); err != nil {
		return err
	}
	return w.client.sameCluster(ctx, l)
}

// ask asks /readyz, which covers the database behind the server too. A server that
// forbids the path, or does not have it, has answered too.
func (w *Watcher) ask(ctx context.Context, l line) error {
	err := w.client.lines[l].Get().MaxRetries(0).AbsPath("/readyz").Do(ctx).Error()
	var status apierrors.APIStatus
	switch answered := errors.As(err, &status); {
	case err == nil:
	case !answered, apierrors.IsUnauthorized(err), apierrors.IsTooManyRequests(err):
		return err
	case status.Status().Code >= http.StatusInternalServerError:
		cause, _ := apierrors.StatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
		return &notReady{failedChecks(cause.Message)}
	}
	w.client.traffic.answered[l].set(time.Now())
	return nil
}

// failedChecks reads the names of the checks that /readyz marks with "[-]".
func failedChecks(body string) (failed []string) {
	for line := range strings.Lines(body) {
		if name, ok := strings.CutPrefix(line, "[-]"); ok && len(failed) < 4 {
			name, _, _ = strings.Cut(name, " ")
			failed = append(failed, harmless(name))
		}
	}
	return failed
}

// pauseAfter is how long is waited after the n-th failure in a row: as long as the
// server asks for, if it does.
func pauseAfter(err error, n int, least, most time.Duration) time.Duration {
	pause := jitter(min(least<<min(n-1, 16), most)) // twice as long each time
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		pause = max(pause, min(time.Duration(seconds)*time.Second, deniedPause))
	}
	return pause
}

// jitter shortens a pause by up to a quarter, so that many don't go together.
func jitter(d time.Duration) time.Duration { return wait.Jitter(d*3/4, 1.0/3) }

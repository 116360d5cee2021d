package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"lightsout/internal/labtest"
	"lightsout/internal/record"
	"lightsout/internal/testenv"
	"lightsout/loadgen"
)

// truth is how many requests the lab's own activator and queue-proxies hold,
// looked at from one moment to another.
type truth struct {
	from, to                         time.Time
	active, queued, running, waiting int
}

func (a truth) same(b truth) bool {
	return a.active == b.active && a.queued == b.queued && a.running == b.running && a.waiting == b.waiting
}

// askKnative asks the lab for it by its control socket.
func askKnative(lab *http.Client) (truth, error) {
	t := truth{from: time.Now()}
	var state struct {
		Activators   []struct{ Active, Queued int }
		QueueProxies []struct{ Running, Waiting int }
	}
	resp, err := lab.Get("http://lab/knative")
	if err != nil {
		return t, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&state); err != nil {
		return t, err
	}
	t.to = time.Now()
	for _, a := range state.Activators {
		t.active, t.queued = t.active+a.Active, t.queued+a.Queued
	}
	for _, q := range state.QueueProxies {
		t.running, t.waiting = t.running+q.Running, t.waiting+q.Waiting
	}
	return t, nil
}

const (
	// atRest is how long nothing may have changed before a sample: it is up to
	// a second old, and so are the averages over a second that it is made of.
	atRest = 2500 * time.Millisecond
	// lookEach is how often the lab is asked; what it says twice is taken to
	// hold between, when that is no more than lookGap.
	lookEach = 50 * time.Millisecond
	lookGap  = 500 * time.Millisecond
)

// restingAt gives what held from atRest before a moment until after it, and
// whether it was the same all that time.
func restingAt(all []truth, at time.Time) (truth, bool) {
	var now truth
	for i, t := range all {
		if t.to.Before(at.Add(-atRest)) {
			now = t
			continue
		}
		if i == 0 || !t.same(now) || t.to.Sub(all[i-1].from) > lookGap {
			return truth{}, false
		}
		if t.from.After(at) {
			return now, true
		}
	}
	return truth{}, false
}

// TestTheGaugeTellsWhatTheServersCount runs the built-in mdx plan and holds
// each sample of the gauge that was taken at rest against what the lab's
// activator and queue-proxies count themselves.
func TestTheGaugeTellsWhatTheServersCount(t *testing.T) {
	testenv.Long(t, 70)
	t.Parallel()
	l := labtest.Start(t, "mdx")
	config := l.ConfigWith(func(c map[string]any) { c["state"] = t.TempDir() })
	dir := filepath.Join(t.TempDir(), "record")

	ctx, stop := context.WithCancel(t.Context())
	var looks []truth
	var wg sync.WaitGroup
	lab := l.Control()
	wg.Go(func() {
		tick := time.NewTicker(lookEach)
		defer tick.Stop()
		for ctx.Err() == nil {
			if one, err := askKnative(lab); err == nil {
				looks = append(looks, one)
			}
			<-tick.C
		}
	})
	out, errs, code := run(t, nil, args(l, config, "trial", "run", "mdx", "--yes", "-o", dir)...)
	stop()
	wg.Wait()
	if code != 0 {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}

	// The loads, by the number of their run.
	type span struct{ from, to time.Time }
	spans := map[int]span{}
	if _, err := record.EachRequest(os.DirFS(dir), func(_ int, q *loadgen.Record) error {
		s, known := spans[q.Run]
		if !known || q.Scheduled.Before(s.from) {
			s.from = q.Scheduled
		}
		if q.End.After(s.to) {
			s.to = q.End
		}
		spans[q.Run] = s
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	compared := map[string]int{}
	for _, x := range r.Samples {
		if x.Load == nil || x.Load.Run == nil || x.Load.Run.Gauge.Outstanding == 0 {
			continue
		}
		g := x.Load.Run.Gauge
		want, resting := restingAt(looks, g.At)
		// A request that has just been sent may not have reached a server yet.
		for _, s := range spans {
			resting = resting && !(s.from.After(g.At.Add(-atRest)) && s.from.Before(g.At))
		}
		if !resting {
			continue
		}
		if want.active != want.running || want.waiting != 0 {
			t.Fatalf("the lab does not agree with itself: %+v", want)
		}
		for run, s := range spans {
			if !g.At.Before(s.from) && !g.At.After(s.to) {
				compared[fmt.Sprintf("load %d: %d served, %d queued", run, want.running, want.queued)]++
			}
		}
		if g.Served != want.running || g.Queued != want.queued || g.Stalled != 0 || g.OnDead != 0 || g.Basis != "measured" || g.NoAnswer != 0 {
			t.Errorf("%s: served %d, queued %d, stalled %d, on dead nodes %d, %s, %d without answer; the servers held %d and %d",
				g.At.Format(time.StampMilli), g.Served, g.Queued, g.Stalled, g.OnDead, g.Basis, g.NoAnswer, want.running, want.queued)
		}
		if len(g.Reported) != 1 || g.Reported[0].Source != "activator" || g.Reported[0].Answered != 1 || g.Reported[0].Served == nil || g.Reported[0].Queued == nil ||
			*g.Reported[0].Served != want.active || *g.Reported[0].Queued != want.queued {
			t.Errorf("%s: told %+v; the activator held %d and %d", g.At.Format(time.StampMilli), g.Reported, want.active, want.queued)
		}
		if g.Disagreement != "" {
			t.Errorf("%s: %s", g.At.Format(time.StampMilli), g.Disagreement)
		}
	}
	t.Logf("samples at rest: %v", compared)
	for _, phase := range []string{"load 1: 16 served, 0 queued", "load 2: 8 served, 4 queued", "load 2: 4 served, 0 queued", "load 3: 16 served, 0 queued"} {
		if compared[phase] < 5 {
			t.Errorf("only %d samples at rest of %s", compared[phase], phase)
		}
	}
}

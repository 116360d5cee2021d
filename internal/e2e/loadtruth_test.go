package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"lightsout/internal/labtest"
	"lightsout/internal/record"
	"lightsout/internal/testenv"
	"lightsout/loadgen"
)

// truth is the number of requests that Knative's own activator and queue-proxies report
// between two moments: only the activator holds waiting requests.
type truth struct {
	from, to        time.Time
	queued, running int
}

func (a truth) same(b truth) bool { return a.queued == b.queued && a.running == b.running }

// askKnative asks the lab for it by its control socket.
func askKnative(lab *http.Client) (truth, error) {
	t := truth{from: time.Now()}
	var told struct{ Activators, QueueProxies float64 }
	resp, err := lab.Get("http://lab/knative")
	if err != nil {
		return t, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&told); err != nil {
		return t, err
	}
	t.to = time.Now()
	t.running = int(math.Round(told.QueueProxies))
	t.queued = int(math.Round(told.Activators)) - t.running
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

// TestTheGaugeShowsTheServersCounts runs the built-in mdx plan and holds
// each sample of the gauge that was taken at rest against what the lab's
// activator and queue-proxies count themselves.
func TestTheGaugeShowsTheServersCounts(t *testing.T) {
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
	passed(t, readSummary(t, dir), code, out+errs)
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}

	// The loads, by the number of their run.
	type span struct{ from, to time.Time }
	spans := map[int]span{}
	var ends []time.Time
	if _, err := record.EachRequest(os.DirFS(dir), func(_ int, q *loadgen.Record) error {
		s, known := spans[q.Run]
		if !known || q.Scheduled.Before(s.from) {
			s.from = q.Scheduled
		}
		if q.End.After(s.to) {
			s.to = q.End
		}
		spans[q.Run] = s
		ends = append(ends, q.End)
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
		// A server still counts a request that has just ended, and its worker may not
		// have sent the next one yet.
		resting = resting && !slices.ContainsFunc(ends, func(end time.Time) bool {
			return end.After(g.At.Add(-atRest)) && !end.After(g.At)
		})
		// A request that has just been sent may not have reached a server yet.
		for _, s := range spans {
			resting = resting && !(s.from.After(g.At.Add(-atRest)) && s.from.Before(g.At))
		}
		if !resting {
			continue
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
		if len(g.Reported) != 0 { // the activator of 1.15 has no such metrics
			t.Errorf("%s: told %+v", g.At.Format(time.StampMilli), g.Reported)
		}
		if g.Disagreement != "" {
			t.Errorf("%s: %s", g.At.Format(time.StampMilli), g.Disagreement)
		}
	}
	t.Logf("samples at rest: %v", compared)
	all := 0
	for _, phase := range []string{"load 1: 16 served, 0 queued", "load 2: 8 served, 4 queued", "load 2: 4 served, 0 queued", "load 3: 16 served, 0 queued"} {
		all += compared[phase]
		if compared[phase] == 0 {
			t.Errorf("no sample at rest of %s", phase)
		}
	}
	if all < 10 {
		t.Errorf("only %d samples at rest", all)
	}
}

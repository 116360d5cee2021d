package trial

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/trial/phase"
	"lightsout/loadgen"
)

// A load goes on before, while and after a record is kept. The summary counts exactly the
// requests that requests.jsonl has, and those in flight at its end.
func TestASummaryCountsTheRequestsOfItsRecord(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {}))
	defer srv.Close()
	runner := &Runner{opt: Options{Now: time.Now}}
	var ended atomic.Int64
	g, err := loadgen.New(loadgen.Options{Target: loadgen.Target{URL: srv.URL}, Record: func(q loadgen.Record) {
		if runner.Record(q) {
			runner.Handle(q) // no trial is live: the last ones follow at its end
		}
		ended.Add(1)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	runner.opt.Load = g
	number, err := g.Begin(loadgen.Spec{Shape: loadgen.Hold, N: 8})
	if err != nil {
		t.Fatal(err)
	}
	more := func() {
		for from := ended.Load(); ended.Load() < from+200; {
			<-g.Changed()
		}
	}
	more()
	dir := t.TempDir()
	r := &run{t: runner, tracker: phase.NewTracker(cluster.Key{})}
	if r.requests, err = record.NewRequests(filepath.Join(dir, record.RequestsFile)); err != nil {
		t.Fatal(err)
	}
	l := &loadRun{number: number}
	r.loads = append(r.loads, l)
	runner.keep(r)
	more()
	runner.rest(r)
	more()
	var sum record.Summary
	addLoad(r, &sum, l)
	got := sum.Load[0]
	runner.loads, r.loads = r.loads, nil
	if err := r.requests.Close(); err != nil {
		t.Fatal(err)
	}
	var want loadgen.Totals
	if _, err := record.EachRequest(os.DirFS(dir), func(_ int, q *loadgen.Record) error {
		want.Count(*q)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got.OK != want.OK || got.Scheduled != want.Scheduled+got.InFlight || got.Failed != want.FailedSum() || want.OK < 100 || !got.Adds() {
		t.Errorf("the summary counts %+v, requests.jsonl %+v", got.Counts, want)
	}
}

package recorder

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"lightsout/loadgen"
)

// A request that ends while the summary is made is not in requests.jsonl: the summary counts
// it as in flight.
func TestARequestThatEndsAfterTheRecordIsInFlight(t *testing.T) {
	s := newScreen(t)
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("X-Request-Id"), "-1") {
			return
		}
		<-release
	}))
	defer srv.Close()
	g, err := loadgen.New(loadgen.Options{Target: loadgen.Target{URL: srv.URL}, Record: func(q loadgen.Record) { s.Record(q) }})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	s.opt.Load = g
	s.fails("n2")
	s.look(3)
	spec := loadgen.Spec{Shape: loadgen.Burst, N: 2}
	number, err := g.Begin(spec)
	if err != nil {
		t.Fatal(err)
	}
	s.loadStarted(number, spec)
	until := func(inFlight int) {
		for changed := g.Changed(); g.RunTotals(number).InFlight() != inFlight; changed = g.Changed() {
			<-changed
		}
	}
	until(1)
	printed := s.opt.Print
	s.opt.Print = func(line string) {
		if strings.HasPrefix(line, "requests answered") { // while finish follows the last requests
			close(release)
			until(0)
		}
		printed(line)
	}
	s.requests.every = time.Second
	s.Yield()
	sum := s.summaries()[0]
	if l := sum.Load; len(l) != 1 || l[0].InFlight != 1 || !sum.Ledger.Balanced {
		t.Errorf("%+v", l)
	}
	select {
	case <-release:
	default:
		t.Error("no request ended while the summary was made")
	}
}

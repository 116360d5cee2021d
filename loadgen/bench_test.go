package loadgen

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// The generator with all its accounting.
func BenchmarkRequests(b *testing.B) {
	const outstanding = 16
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
	defer s.Close()

	for _, reuse := range []bool{true, false} {
		name := "fresh"
		if reuse {
			name = "kept"
		}
		b.Run(name, func(b *testing.B) {
			var n atomic.Int64
			g := start(b, Options{Target: Target{URL: s.URL, Reuse: reuse}, Record: func(Record) { n.Add(1) }})
			b.ReportAllocs()
			b.ResetTimer()
			mustStart(b, g, Spec{Shape: Hold, N: outstanding, Requests: b.N})
			wait(b, g)
			b.StopTimer()
			if t := g.Run().Totals; t.OK != b.N || int(n.Load()) != b.N {
				b.Fatalf("%d records, %+v: %s", n.Load(), t, g.Run().LastError)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
		})
	}
}

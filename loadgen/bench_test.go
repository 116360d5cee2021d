package loadgen

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
)

// The generator with all its accounting, beside a bare net/http client that
// counts nothing: the same server, the same number of requests outstanding.
func BenchmarkRequests(b *testing.B) {
	const outstanding = 16
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
	defer s.Close()

	for _, reuse := range []bool{true, false} {
		name := "fresh"
		if reuse {
			name = "kept"
		}
		b.Run(name+"/generator", func(b *testing.B) {
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
		b.Run(name+"/net-http", func(b *testing.B) {
			transport := &http.Transport{DisableKeepAlives: !reuse, MaxIdleConnsPerHost: outstanding, DialContext: new(net.Dialer).DialContext}
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport}
			b.ReportAllocs()
			b.ResetTimer()
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			for range outstanding {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						resp, err := client.Get(s.URL)
						if err != nil {
							b.Error(err)
							return
						}
						io.Copy(io.Discard, resp.Body)
						resp.Body.Close()
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
		})
	}
}

package reporting

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"lightsout/internal/recorder"
)

// aliveWithin is how long ago a healthy recorder checked the cluster, which it does once
// a second.
const aliveWithin = 15 * time.Second

// Status answers /healthz and /metrics. The zero Status is a recorder that has not checked
// yet. It is safe for concurrent use.
type Status struct {
	mu      sync.Mutex
	health  recorder.Health
	outages int
}

// metrics are the names, types and descriptions of the metrics.
var metrics = [4][3]string{
	{"api_server_connected", "gauge", "1 while the API server answers."},
	{"recording", "gauge", "1 while the recorder records an outage."},
	{"leads", "gauge", "1 while this recorder reports outages, 0 while another one does."},
	{"outages_total", "counter", "Outages that the recorder has begun to record."},
}

// Take takes the newest health of the recorder.
func (s *Status) Take(h recorder.Health) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.Recording && !s.health.Recording {
		s.outages++
	}
	s.health = h
}

// Handler serves /healthz, which fails if the recorder has stopped checking the cluster,
// and /metrics in Prometheus' text format. While the API server does not
// answer, /healthz still answers 200: that is an outage, which the recorder records.
func (s *Status) Handler(now func() time.Time) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		checked := s.health.At
		s.mu.Unlock()
		if since := now().Sub(checked); checked.IsZero() || since > aliveWithin {
			http.Error(w, "the recorder does not check the cluster", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		s.mu.Lock()
		defer s.mu.Unlock()
		one := map[bool]int{true: 1}
		values := [4]int{one[s.health.Connected], one[s.health.Recording], one[s.health.Leads], s.outages}
		for i, m := range metrics {
			fmt.Fprintf(w, "# HELP lightsout_recorder_%[1]s %[3]s\n# TYPE lightsout_recorder_%[1]s %[2]s\nlightsout_recorder_%[1]s %[4]d\n", m[0], m[1], m[2], values[i])
		}
	})
	return mux
}

// Serve answers at an address until stop is called; an empty address serves nothing. fail
// receives the reason why it ended by itself.
func (s *Status) Serve(address string, now func() time.Time, fail func(string)) (stop func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("lightsout cannot serve /healthz and /metrics at %s: %w; choose another address for recorder.listen", address, err)
	}
	server := &http.Server{Handler: s.Handler(now), ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			fail("lightsout no longer serves /healthz and /metrics: " + err.Error())
		}
	}()
	return func() {
		_ = server.Close()
		<-done
	}, nil
}

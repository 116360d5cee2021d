package reporting

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"lightsout/internal/recorder"
)

func TestStatusAnswersHealthzAndMetrics(t *testing.T) {
	now := time.Now()
	var s Status
	get := func(path string) (int, string) {
		w := httptest.NewRecorder()
		s.Handler(func() time.Time { return now }).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code, w.Body.String()
	}
	health := func(when string, want int) {
		t.Helper()
		if code, body := get("/healthz"); code != want {
			t.Errorf("%s: %d %s", when, code, body)
		}
	}
	metrics := func(when string, want ...string) {
		t.Helper()
		_, body := get("/metrics")
		for _, line := range want {
			if !strings.Contains(body, "\nlightsout_recorder_"+line+"\n") {
				t.Errorf("%s: no %q in\n%s", when, line, body)
			}
		}
	}
	health("before the first look", http.StatusServiceUnavailable)
	s.Take(recorder.Health{At: now, Connected: true, Leads: true})
	health("at rest", http.StatusOK)
	metrics("at rest", "api_server_connected 1", "recording 0", "leads 1", "outages_total 0")
	s.Take(recorder.Health{At: now, Recording: true})
	s.Take(recorder.Health{At: now, Recording: true})
	health("during an outage of the API server", http.StatusOK)
	metrics("during an outage of the API server", "api_server_connected 0", "recording 1", "leads 0", "outages_total 1")
	now = now.Add(time.Minute)
	health("a minute after the last look", http.StatusServiceUnavailable)
}

func TestStatusServesUntilItIsStopped(t *testing.T) {
	var s Status
	stop, err := s.Serve("127.0.0.1:0", time.Now, func(why string) { t.Error(why) })
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if _, err := s.Serve("256.0.0.1:0", time.Now, nil); err == nil || !strings.Contains(err.Error(), "recorder.listen") {
		t.Errorf("an address that nobody has: %v", err)
	}
}

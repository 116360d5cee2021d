package record

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/loadgen"
)

// The screen and the report put a request into the same second, also when it
// needs 1.4 s for its connection or gets none.
func TestScreenAndReportCountAlike(t *testing.T) {
	var mu sync.Mutex
	offset := 900*time.Millisecond - time.Duration(time.Now().Nanosecond()) // a second's end is near
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return time.Now().Add(offset)
	}
	answers := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(20 * time.Millisecond) // by then the client has read the clock for the request that it sent
		mu.Lock()
		defer mu.Unlock()
		if answers++; answers == 3 {
			offset += 3 * time.Second
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	dials := 0
	dir := t.TempDir()
	requests, err := NewRequests(filepath.Join(dir, RequestsFile))
	if err != nil {
		t.Fatal(err)
	}
	g, err := loadgen.New(loadgen.Options{
		Target: loadgen.Target{URL: server.URL}, Now: clock, Record: requests.Add,
		Timeouts: loadgen.Timeouts{Connect: time.Hour, Total: time.Hour},
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			offset += 1400 * time.Millisecond
			if dials++; dials == 3 {
				return nil, &net.OpError{Op: "dial", Err: http.ErrServerClosed}
			}
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for range 4 {
		if _, err := g.Begin(loadgen.Spec{Shape: loadgen.Burst, N: 1}); err != nil {
			t.Fatal(err)
		}
		if err := g.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	shown := g.Run().Seconds
	if err := requests.Close(); err != nil {
		t.Fatal(err)
	}
	first, last := shown[0].At, shown[len(shown)-1].At
	l := &LoadSample{From: first.Unix(), To: last.Unix()}
	for i := range shown {
		l.Windows = append(l.Windows, &shown[i])
	}
	samples, err := openFile(filepath.Join(dir, SamplesFile), "")
	if err != nil {
		t.Fatal(err)
	}
	samples.add(Sample{Schema: SampleSchema, Key: true, At: first, Cluster: &Cluster{None: true}, Focus: &cluster.Key{}})
	samples.add(Sample{At: last.Add(time.Second - 1), Load: l, End: true})
	samples.Close()
	if err := os.WriteFile(filepath.Join(dir, EventsFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Seconds) != len(shown) {
		t.Fatalf("%d seconds in the record, %d on the screen", len(r.Seconds), len(shown))
	}
	late, slow := 0, 0
	for i, s := range shown {
		got := r.Seconds[i]
		if !got.At.Equal(s.At) || got.Sent != s.Sent || got.OK != s.OK || got.FailedSum() != s.FailedSum() || got.Unresolved != s.Unresolved ||
			!maps.Equal(got.Later, s.Later) || !maps.Equal(got.FailedIn(), s.FailedIn()) {
			t.Errorf("%v: the screen has %+v, the record %+v", s.At, s.Counts(), got.Counts())
		}
		if i > 0 {
			late += s.OK
		}
		slow += s.Earlier[loadgen.Class503]
	}
	if late == 0 || slow != 1 {
		t.Errorf("%d requests count in a later second than that in which they were begun, %d failed later than they were sent", late, slow)
	}
}

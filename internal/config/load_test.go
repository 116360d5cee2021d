package config

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"lightsout/loadgen"
)

// seenServer speaks HTTP/2 by TLS and notes what it is asked.
type seenServer struct {
	*httptest.Server
	mu    sync.Mutex
	seen  []string
	conns int
}

func newSeenServer(t *testing.T) *seenServer {
	s := &seenServer{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.seen = append(s.seen, fmt.Sprint(r.Proto, " ", r.Host, " ", r.Header.Get("X-Team"), " ", r.Header.Get("Authorization"), " ", string(b)))
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"x"}}]}`+"\n\ndata: [DONE]\n\n")
	}))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Config.ConnState = func(_ net.Conn, to http.ConnState) {
		if to == http.StateNew {
			s.mu.Lock()
			s.conns++
			s.mu.Unlock()
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// TestTheLoadSendsItsConfig sends what a config says to two entries of a
// service that has a private CA.
func TestTheLoadSendsItsConfig(t *testing.T) {
	one, other := newSeenServer(t), newSeenServer(t)
	ca := write(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: one.Certificate().Raw})))
	// The servers' certificate is for example.com, which nobody looks up.
	c, err := Parse([]byte(`
load:
  url: https://example.com/v1/chat/completions
  host: llm.example.com
  entries: ["` + one.Listener.Addr().String() + `", "` + other.Listener.Addr().String() + `"]
  protocol: h2
  ca_file: ` + ca + `
  connections: kept
  headers: {X-Team: ops}
  profile: chat
  model: m
  prompts_file: ` + write(t, "prompts", "first\nsecond\n") + `
  api_key_file: ` + write(t, "key", "sk-1\n") + `
  keep_alive: {idle: 3s, count: 2, ping_after: -1s}
  max_in_flight: 7
  first_byte_timeout: 20s
`))
	if err != nil {
		t.Fatal(err)
	}
	o, err := c.Load.Options()
	if err != nil {
		t.Fatal(err)
	}
	if o.KeepAlive.Idle != 3*time.Second || o.KeepAlive.Count != 2 || o.KeepAlive.PingAfter != -time.Second || o.KeepAlive.Interval != 0 ||
		o.MaxInFlight != 7 || o.Timeouts.FirstByte != 20*time.Second {
		t.Errorf("options %+v", o)
	}
	g, err := loadgen.New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if _, err := g.Begin(loadgen.Spec{Shape: loadgen.Hold, N: 1, Requests: 6}); err != nil {
		t.Fatal(err)
	}
	if err := g.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := g.Run(); r.Totals.OK != 6 {
		t.Fatalf("%+v: %s", r.Totals, r.LastError)
	}
	for i, s := range []*seenServer{one, other} {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.seen) != 3 || s.conns != 1 {
			t.Errorf("entry %d had %d requests on %d connections, wanted 3 on 1", i, len(s.seen), s.conns)
		}
		for _, line := range s.seen {
			if !strings.HasPrefix(line, "HTTP/2.0 llm.example.com ops Bearer sk-1 ") || !strings.Contains(line, []string{"first", "second"}[i]) {
				t.Errorf("entry %d was asked: %s", i, line)
			}
		}
	}
}

// The gauge asks the servers that the config names.
func TestPodsAreAskedWhatTheConfigSays(t *testing.T) {
	vllm, llama := loadgen.VLLMMetrics(8000), loadgen.LlamaMetrics(8080)
	for config, want := range map[string]string{
		"{server: ranker, port: 9191, path: stats, served: running, queued: waiting, labels: {pool: main}}": "ranker 9191 stats running waiting map[pool:[main]]",
		"{server: llama.cpp, port: 8080}":                fmt.Sprintln(llama.Name, 8080, "", llama.Served, llama.Queued, "map[]"),
		"{server: vllm, port: 8000, labels: {model: m}}": fmt.Sprintln(vllm.Name, 8000, "", vllm.Served, vllm.Queued, "map[model:[m]]"),
		"{server: llama.cpp slots, port: 8080}":          fmt.Sprintln("llama.cpp", 8080, "slots", "", "", "map[]"),
	} {
		c, err := Parse([]byte("load: {metrics: " + config + "}\n"))
		if err != nil {
			t.Fatal(err)
		}
		var b loadgen.Backend
		c.Load.Metrics.Ask(&b)
		m := b.Metrics
		if got := fmt.Sprintln(m.Name, m.Port, m.Path, m.Served, m.Queued, m.Labels); strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%s: %q, want %q", config, got, want)
		}
	}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

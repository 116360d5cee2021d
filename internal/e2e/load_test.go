package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/testenv"
	"lightsout/loadgen"
)

// testKey is in the environment of load as TEST_LLM_KEY.
const testKey = "sk-very-secret"

// load runs `lightsout load` without a terminal; the end of ctx interrupts it.
// The error is what it says on standard error when it fails.
func load(ctx context.Context, t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	cmd := program(ctx, t, []string{"TEST_LLM_KEY=" + testKey}, append([]string{"load"}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, errs, code := finish(t, cmd)
	if code != 0 {
		return out, fmt.Errorf("exit %d: %s", code, errs)
	}
	return out, nil
}

// quantiles are in milliseconds.
type quantiles struct {
	Count              int
	P50, P90, P99, Max float64
}

// loadSummary is what load prints as JSON, and keeps.
type loadSummary struct {
	URL             string
	Duration        float64 // seconds
	Scheduled       int
	OK              int
	Failed          int
	FailedByClass   map[string]int `json:"failed_by_class"`
	Cancelled       int
	InFlight        int `json:"in_flight"`
	Unsent          int
	Balanced        bool
	OKPerSecond     float64              `json:"ok_per_second"`
	Latency         map[string]quantiles `json:"latency_ms"`
	Tokens          int
	TokensPerSecond float64 `json:"tokens_per_second"`
	LastError       string  `json:"last_error"`
	Seconds         []struct {
		At       time.Time
		Sent, OK int
	}
}

// mixedServer answers every fifth request with 503 and cuts every seventh.
func mixedServer(t *testing.T) (url string, seen *atomic.Int64) {
	seen = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch n := seen.Add(1); {
		case r.URL.Path == "/hang":
			<-r.Context().Done()
		case r.URL.Path == "/ok":
		case n%5 == 0:
			http.Error(w, "pending request queue full", 503)
		case n%7 == 0:
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
		default:
			_, _ = io.WriteString(w, "ok")
		}
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL, seen
}

// The JSON accounts for each request as the server saw it, and the record has
// a line for each. A rate sends what is late on a slow machine not at all: loadgen has it.
func TestLoadAccountsForEveryRequest(t *testing.T) {
	t.Parallel()
	url, seen := mixedServer(t)
	for _, shape := range [][]string{{"--burst", "70"}, {"--hold", "35", "--requests", "70", "--connections", "kept"}} {
		seen.Store(0)
		dir := filepath.Join(t.TempDir(), "record")
		out, err := load(t.Context(), t, append([]string{url, "-o", "json", "--record", dir, "--timeout", "20s"}, shape...)...)
		if err == nil || !strings.Contains(err.Error(), "22 of 70 requests failed") {
			t.Errorf("%v: the command ends with %v", shape, err)
		}
		var s loadSummary
		if err := json.Unmarshal([]byte(out), &s); err != nil {
			t.Fatalf("%v: %v: %s", shape, err, out)
		}
		if s.Scheduled != 70 || s.OK != 48 || s.Failed != 22 || s.FailedByClass["503"] != 14 || s.FailedByClass["truncated"] != 8 ||
			s.Cancelled != 0 || s.InFlight != 0 || s.Unsent != 0 || !s.Balanced || seen.Load() != 70 {
			t.Errorf("%v: %s", shape, out)
		}
		if q := s.Latency["scheduled"]; q.Count != 48 || q.P50 <= 0 || q.Max < q.P99 {
			t.Errorf("%v: %+v", shape, s.Latency)
		}
		sent := 0
		for _, x := range s.Seconds {
			sent += x.Sent
		}
		if sent != 70 {
			t.Errorf("%v: the seconds hold %d", shape, sent)
		}
		if lines := readRequests(t, filepath.Join(dir, record.RequestsFile)); len(lines) != 70 {
			t.Errorf("%v: the record has %d requests", shape, len(lines))
		}
		for _, name := range []string{"requests.jsonl", "summary.json"} {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", name, info.Mode(), err)
			}
		}
	}
}

// Everything ok is success, in words too.
func TestLoadOfHealthyService(t *testing.T) {
	t.Parallel()
	url, _ := mixedServer(t)
	out, err := load(t.Context(), t, url+"/ok", "--hold", "4", "--for", "1200ms", "--http2=false")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"    1s  sent ", "failed 0 ", "it balances", "ok a second", "p99"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not said: %s", want, out)
		}
	}
}

// A chat gets its prompts in turn and the key from the environment, which is in
// nothing that is printed or kept; its tokens are counted.
func TestLoadOfChat(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var bodies []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		bodies = append(bodies, r.Header.Get("Authorization")+" "+string(b))
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		for range 3 {
			_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"x"}}]}`+"\n\n")
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}))
	defer s.Close()
	prompts := write(t, "prompts.txt", "# two\nfirst\nsecond\n")
	dir := filepath.Join(t.TempDir(), "record")
	out, err := load(t.Context(), t, s.URL, "--chat", "--model", "m", "--prompts", prompts, "--api-key-env", "TEST_LLM_KEY",
		"--hold", "1", "--requests", "3", "-o", "json", "--record", dir)
	if err != nil {
		t.Fatal(err)
	}
	var sum loadSummary
	if err := json.Unmarshal([]byte(out), &sum); err != nil {
		t.Fatal(err)
	}
	if sum.OK != 3 || sum.Tokens != 9 || sum.TokensPerSecond <= 0 || sum.Latency["first_token"].Count != 3 || sum.Latency["per_token"].Count != 3 {
		t.Errorf("%s", out)
	}
	for i, want := range []string{"first", "second", "first"} {
		if !strings.Contains(bodies[i], want) || !strings.Contains(bodies[i], "Bearer "+testKey) {
			t.Errorf("request %d is %s", i, bodies[i])
		}
	}
	kept, err := os.ReadFile(filepath.Join(dir, "requests.jsonl"))
	if err != nil || strings.Contains(out+string(kept), testKey) {
		t.Errorf("the key is kept: %v: %s %s", err, out, kept)
	}
}

// A private CA is trusted when it is given, over HTTP/2 too.
func TestLoadWithPrivateCA(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	ca := write(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	if out, err := load(t.Context(), t, s.URL, "--burst", "2", "--http2", "--ca", ca); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := load(t.Context(), t, s.URL, "--burst", "2"); err == nil || !strings.Contains(out, "failed local error") {
		t.Errorf("without the CA: %v: %s", err, out)
	}
}

// A bastion that can't be reached is our own fault, and not the service's.
func TestLoadThroughBrokenBastion(t *testing.T) {
	t.Parallel()
	url, seen := mixedServer(t)
	out, err := load(t.Context(), t, url, "--burst", "2", "--bastion", "me@"+testenv.Refusing(t))
	if err == nil || !strings.Contains(out, "failed local error") || !strings.Contains(out, "through the bastion") || seen.Load() != 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// An interrupt starts no more requests, ends those in flight after a moment,
// and still sums up.
func TestLoadInterrupted(t *testing.T) {
	t.Parallel()
	url, seen := mixedServer(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	dir := filepath.Join(t.TempDir(), "record")
	var wg sync.WaitGroup
	var out string
	var err error
	wg.Go(func() {
		out, err = load(ctx, t, url+"/hang", "--hold", "3", "-o", "json", "--record", dir)
	})
	for deadline := time.Now().Add(time.Minute); seen.Load() < 3; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no request comes")
		}
	}
	interrupt()
	wg.Wait()
	var s loadSummary
	if e := json.Unmarshal([]byte(out), &s); e != nil {
		t.Fatalf("%v: %s", e, out)
	}
	if s.Scheduled != 3 || s.Cancelled != 3 || !s.Balanced || err == nil || !strings.Contains(err.Error(), "cancelled") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestLoadCommandLinesThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{}, {"http://127.0.0.1:1"}, {"http://127.0.0.1:1", "--burst", "1", "--hold", "1"}, {"http://127.0.0.1:1", "--burst", "-1"},
		{"http://127.0.0.1:1", "--rate", "fast"}, {"http://127.0.0.1:1", "--rate", "0/s"}, {"ftp://x", "--burst", "1"},
		{"http://127.0.0.1:1", "--burst", "1", "--for", "1s"}, {"http://127.0.0.1:1", "--burst", "1", "-o", "xml"},
		{"http://127.0.0.1:1", "--burst", "1", "--connections", "some"}, {"http://127.0.0.1:1", "--burst", "1", "--model", "m"},
		{"http://127.0.0.1:1", "--burst", "1", "-H", "nonsense"},
	} {
		if out, errs, code := run(t, nil, append([]string{"load"}, args...)...); code != exitUsage {
			t.Errorf("%v: exit %d: %s%s", args, code, errs, out)
		}
	}
}

// While lightsout is stopped (Ctrl-Z, a paused VM), answers arrive within their time limits and
// wait in the connections: they are no timeouts.
func TestAnswersThatArriveWhileLightsoutIsStoppedAreNoTimeouts(t *testing.T) {
	t.Parallel()
	const n = 400
	var asked sync.WaitGroup
	asked.Add(n)
	answered := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Done()
		<-answered
		for range 20 { // in pieces: lightsout reads one after the other
			_, _ = w.Write(bytes.Repeat([]byte("x"), 3000))
			w.(http.Flusher).Flush()
		}
	}))
	t.Cleanup(server.Close)
	dir := filepath.Join(t.TempDir(), "record")
	cmd, lines := start(t, "load", server.URL, "--burst", strconv.Itoa(n), "--timeout", "8s", "--record", dir)
	asked.Wait()
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	close(answered)
	for time.Since(stopped) < 9*time.Second { // beyond the time limit of all requests
		time.Sleep(100 * time.Millisecond)
	}
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for range lines {
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the load: %v", err)
	}
	for _, r := range readRequests(t, filepath.Join(dir, record.RequestsFile)) {
		if r.Class != string(loadgen.ClassOK) {
			t.Errorf("request %s is %s", r.ID, r.Class)
		}
	}
}

// A load ends as other programs do when nobody reads its output any more, as with "| head -3".
func TestALoadEndsWithItsReader(t *testing.T) {
	t.Parallel()
	url, _ := mixedServer(t)
	cmd := program(t.Context(), t, nil, "load", url+"/hang", "--hold", "1")
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = writer
	if err := errors.Join(reader.Close(), cmd.Start(), writer.Close()); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGPIPE {
		t.Errorf("it ended with %v", cmd.ProcessState)
	}
}

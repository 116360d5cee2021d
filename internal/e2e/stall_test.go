package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"lightsout/internal/record"

	"lightsout/internal/testenv"
)

// request is a line of requests.jsonl, of a request that was sent.
type request struct {
	ID, Class string
	Scheduled time.Time
}

// countingServer answers after a moment and counts requests by their ids.
type countingServer struct {
	*httptest.Server
	mu  sync.Mutex
	ids map[string]int
}

func newCountingServer(t *testing.T) *countingServer {
	s := &countingServer{ids: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.ids[r.Header.Get("X-Request-Id")]++
		s.mu.Unlock()
		select {
		case <-time.After(50 * time.Millisecond):
		case <-r.Context().Done():
		}
		fmt.Fprintln(w, "ok")
	}))
	t.Cleanup(s.Close)
	return s
}

// check compares what the server saw with the evidence: the same requests, each
// once, and all ok.
func (s *countingServer) check(t *testing.T, records []request) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(records) != len(s.ids) {
		t.Errorf("%d requests are on record, the server saw %d", len(records), len(s.ids))
	}
	for _, r := range records {
		if r.Class != "ok" || s.ids[r.ID] != 1 {
			t.Fatalf("%s, seen %d times by the server: %+v", r.Class, s.ids[r.ID], r)
		}
	}
}

// slowReader is a terminal that can cease to be read.
type slowReader struct {
	t    *testing.T
	tty  *os.File // the program's side
	keys *os.File // ours
	gate sync.Mutex

	mu   sync.Mutex
	text strings.Builder
}

// startSlowly runs the built program on a terminal that is read.
func startSlowly(t *testing.T, args ...string) (*exec.Cmd, *slowReader) {
	t.Helper()
	ours, theirs, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(ours, &pty.Winsize{Cols: 200, Rows: 60}); err != nil {
		t.Fatal(err)
	}
	x := &slowReader{t: t, tty: theirs, keys: ours}
	cmd := program(context.Background(), t, nil, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 32<<10)
		for {
			x.gate.Lock()
			n, err := ours.Read(buf)
			x.gate.Unlock()
			x.mu.Lock()
			x.text.Write(buf[:n])
			x.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		theirs.Close()
		ours.Close()
		<-done
	})
	return cmd, x
}

// written is all that the program wrote.
func (x *slowReader) written() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.text.String()
}

// waitFor waits until something was written.
func (x *slowReader) waitFor(pattern string) {
	x.t.Helper()
	re := regexp.MustCompile(pattern)
	x.poll(pattern, func() bool { return re.MatchString(x.written()) })
}

func (x *slowReader) poll(what string, ok func() bool) {
	x.t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			x.t.Fatalf("never: %s", what)
		}
	}
}

// full reports whether a program that writes to the terminal has to wait.
func (x *slowReader) full() bool {
	p := []unix.PollFd{{Fd: int32(x.tty.Fd()), Events: unix.POLLOUT}}
	_, err := unix.Poll(p, 0)
	return err == nil && p[0].Revents&unix.POLLOUT == 0
}

// fill writes to the terminal until it takes no more.
func (x *slowReader) fill() {
	x.t.Helper()
	fd, err := unix.Open(x.tty.Name(), unix.O_WRONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		x.t.Fatal(err)
	}
	defer unix.Close(fd)
	dots := []byte(strings.Repeat(".", 64))
	full := 0
	x.poll("the terminal takes no more", func() bool {
		// The kernel makes room once more by moving what it holds to the reader's side.
		if full++; !x.full() {
			full = 0
		}
		for {
			if _, err := unix.Write(fd, dots); err != nil {
				return full >= 5
			}
		}
	})
}

// stall fills the terminal, and stops reading it until the file at path has a request that was
// sent meanwhile.
func (x *slowReader) stall(path string) {
	x.t.Helper()
	x.gate.Lock()
	defer x.gate.Unlock()
	x.fill()
	from := time.Now()
	x.poll("a request of the stall is on disk", func() bool {
		all := readRequests(x.t, path)
		return len(all) > 0 && all[len(all)-1].Scheduled.After(from)
	})
	if !x.full() {
		x.t.Error("the terminal was read meanwhile")
	}
}

func readRequests(t *testing.T, path string) []request {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []request
	whole := b[:strings.LastIndexByte(string(b), '\n')+1] // it may be being written
	for _, line := range strings.Split(strings.TrimSpace(string(whole)), "\n") {
		var r request
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if r.Class != "unsent" {
			out = append(out, r)
		}
	}
	return out
}

// TestAStalledScreenHoldsNothingUpInASession stops reading the terminal of a session whose
// API server is gone, with a number held in flight by key: requests are sent and written all the same.
func TestAStalledScreenHoldsNothingUpInASession(t *testing.T) {
	t.Parallel()
	server := newCountingServer(t)
	state := t.TempDir()
	config := write(t, "lightsout.yaml", "load: {url: \""+server.URL+"\", hold: 4}\n")
	cmd, x := startSlowly(t, "--config", config, "--state", state, "--kubeconfig", kubeconfig(t, "https://"+testenv.Refusing(t)))
	x.waitFor(`nothing sent yet`)
	x.keys.WriteString("4h")
	x.waitFor(`scheduled`)
	files := func(name string) string {
		all, err := filepath.Glob(filepath.Join(state, "*", "sessions", "*", name))
		if err != nil || len(all) != 1 {
			t.Fatalf("%s: %v, %v", name, all, err)
		}
		return all[0]
	}
	x.stall(files(record.RequestsFile))
	x.keys.WriteString("c") // no more are started
	x.poll("the load at rest", func() bool {
		b, err := os.ReadFile(files(record.EventsFile))
		return err == nil && strings.Contains(string(b), " ended: ")
	})
	x.keys.WriteString("q")
	if err := cmd.Wait(); err != nil {
		t.Errorf("the program ends with %v", err)
	}

	records := readRequests(t, files(record.RequestsFile))
	server.check(t, records)
	b, err := os.ReadFile(files(record.EventsFile))
	if want := fmt.Sprintf(" ended: %d of %d ok", len(records), len(records)); err != nil || !strings.Contains(string(b), want) {
		t.Errorf("the timeline lacks %q: %v\n%s", want, err, b)
	}
}

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

// stallEnv is how long the terminal is not read, e.g. 30s.
const stallEnv = "LIGHTSOUT_STALL"

func stallTime(t *testing.T) time.Duration {
	v := os.Getenv(stallEnv)
	switch {
	case v == "" && testing.Short():
		return 5 * time.Second
	case v == "":
		return 10 * time.Second
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		t.Fatalf("%s: %v", stallEnv, err)
	}
	return d
}

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

// stall fills the terminal and stops reading it for so long. It returns from
// when to when nothing could be shown; before the terminal is read again, the
// file at path must hold what was sent meanwhile.
func (x *slowReader) stall(d time.Duration, path string) (from, to time.Time) {
	x.t.Helper()
	x.gate.Lock()
	defer x.gate.Unlock()
	x.fill()
	from = time.Now()
	time.Sleep(d) // this is the stall, not a wait for something
	if !x.full() {
		x.t.Error("the terminal was read meanwhile")
	}
	to = time.Now()
	written := map[int64]bool{}
	for _, r := range readRequests(x.t, path) {
		written[r.Scheduled.Unix()] = true
	}
	for s := from.Unix() + 1; s < to.Unix()-1; s++ {
		if !written[s] {
			x.t.Errorf("while the screen stalls nothing is on disk of the second %v", time.Unix(s, 0))
		}
	}
	return from, to
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

// TestAStalledScreenLeavesNoGapInARate stops reading the terminal of `lightsout
// load`: each request of the rate is sent when it is due all the same, and
// each second of the summary is there.
func TestAStalledScreenLeavesNoGapInARate(t *testing.T) {
	t.Parallel()
	const perSecond = 50
	stall := stallTime(t)
	var server *countingServer
	var s loadSummary
	var dir string
	var from, to time.Time
	// Where the machine itself pauses for 0.1 s, a few requests are too late and
	// not sent; the screen would hold all of them up, every time.
	due := perSecond * int((stall+5*time.Second)/time.Second)
	few := due / 20
	const late = perSecond/10 + 1 // what is less than 0.1 s late is sent all the same
	for range 3 {
		server, dir, s = newCountingServer(t), filepath.Join(t.TempDir(), "record"), loadSummary{}
		cmd, x := startSlowly(t, "load", server.URL, "--rate", fmt.Sprint(perSecond, "/s"), "--for", (stall + 5*time.Second).String(), "--record", dir)
		x.waitFor(`Requests`)
		from, to = x.stall(stall, filepath.Join(dir, record.RequestsFile))
		ended := cmd.Wait()
		b, err := os.ReadFile(filepath.Join(dir, record.SummaryFile))
		if err != nil {
			t.Fatalf("%v; the program ends with %v", err, ended)
		}
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatal(err)
		}
		if s.Unsent <= few {
			break
		}
		t.Logf("%d requests were too late to be sent; once more", s.Unsent)
	}
	if s.Scheduled != due || s.OK != due-s.Unsent || s.Unsent > few || s.InFlight != 0 || !s.Balanced {
		t.Fatalf("%d due: scheduled %d, ok %d, unsent %d, in flight %d, balanced %v", due, s.Scheduled, s.OK, s.Unsent, s.InFlight, s.Balanced)
	}
	records := readRequests(t, filepath.Join(dir, record.RequestsFile))
	server.check(t, records)
	held := 0
	for i, w := range s.Seconds {
		if i > 0 && w.At.Sub(s.Seconds[i-1].At) != time.Second {
			t.Errorf("the seconds jump from %v to %v", s.Seconds[i-1].At, w.At)
		}
		if w.At.After(from) && w.At.Add(time.Second).Before(to) {
			held++
			if w.Sent < perSecond-late-s.Unsent || w.Sent > perSecond+late || w.OK != w.Sent {
				t.Errorf("in the second %v while the screen stalled %d were sent, %d ok", w.At, w.Sent, w.OK)
			}
		}
	}
	if least := int(stall/time.Second) - 1; held < least {
		t.Errorf("the summary has %d seconds of the stall, wanted %d", held, least)
	}
}

// TestAStalledScreenHoldsNothingUpInASession does the same with a session whose
// API server is gone as well, and a number held in flight by key.
func TestAStalledScreenHoldsNothingUpInASession(t *testing.T) {
	t.Parallel()
	server, stall := newCountingServer(t), stallTime(t)
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
	from, to := x.stall(stall, files(record.RequestsFile))
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
	sent := map[int64]int{}
	for _, r := range records {
		sent[r.Scheduled.Unix()]++
	}
	for s := from.Unix() + 1; s < to.Unix(); s++ {
		if sent[s] == 0 {
			t.Errorf("nothing was sent in the second %v while the screen stalled", time.Unix(s, 0))
		}
	}
	b, err := os.ReadFile(files(record.EventsFile))
	if want := fmt.Sprintf(" ended: %d of %d ok", len(records), len(records)); err != nil || !strings.Contains(string(b), want) {
		t.Errorf("the timeline lacks %q: %v\n%s", want, err, b)
	}
}

package scale

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lightsout/internal/labtest"
)

var recordFor = flag.Duration("churn", time.Minute, "how long BenchmarkRecorder has pods change, half of it during an outage")

// BenchmarkRecorder measures the recorder beside the screen on a server of each size: at
// rest, while many pods change, and while they change during an outage that it records.
func BenchmarkRecorder(b *testing.B) {
	if *sizes == "" {
		b.Skip("it takes minutes: -sizes \"S M L\"")
	}
	t := newTable(conditions())
	defer func() { fmt.Println(t) }()
	for size := range strings.FieldsSeq(*sizes) {
		t.begin(size)
		measureRecorder(b, size, t)
	}
	b.ReportMetric(0, "ns/op")
}

// program is one that runs beside the server, with what it used until the last interval.
type program struct {
	name   string
	vitals func() vitals
	before vitals
}

func measureRecorder(b *testing.B, size string, t *table) {
	server := startServer(b, size)
	defer server.end()
	server.list(b) // its names
	screen := openScreen(b, server.info.Kubeconfig)
	defer screen.close()
	rec := startRecorder(b, server.info.Kubeconfig)
	defer rec.close()
	screen.waitText(fmt.Sprintf("%d/%d ready", server.info.Nodes, server.info.Nodes), 10*time.Minute)
	rec.wait("requests answered")
	time.Sleep(15 * time.Second) // what they do once is over
	all := []*program{{name: "recorder", vitals: rec.vitals}, {name: "screen", vitals: screen.vitals}}
	interval := func(when string, d time.Duration) {
		for _, p := range all {
			p.before = p.vitals()
		}
		time.Sleep(d)
		for _, p := range all {
			v := p.vitals()
			t.set(p.name+" "+when+": CPU of one core", "%.1f %%", 100*(v.cpu-p.before.cpu).Seconds()/d.Seconds())
			t.set(p.name+" "+when+": resident memory (peak)", "%d MB (%d MB)", v.resident>>20, v.peak>>20)
		}
	}
	interval("at rest", *restFor)
	r := &trial{server: server, b: b}
	churning, stop := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	wg.Go(func() { r.churn(churning) })
	defer func() { stop(); wg.Wait() }()
	interval("under churn", *recordFor/2)
	if err := server.killNode(b.Context(), 0); err != nil {
		b.Fatal(err)
	}
	rec.wait("an outage began")
	begun, first := time.Now(), rec.disk()
	interval("under churn in an outage", *recordFor/2)
	t.set("a record's beginning on the disk", "%.1f MB", float64(first)/1e6)
	t.set("a record under churn grows a minute by", "%.1f MB", float64(rec.disk()-first)/1e6/time.Since(begun).Minutes())
}

// recorded is a recorder that runs, with a URL that always answers.
type recorded struct {
	b     *testing.B
	cmd   *exec.Cmd
	state string
	lines chan string
}

func startRecorder(b *testing.B, kubeconfig string) *recorded {
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	b.Cleanup(web.Close)
	r := &recorded{b: b, state: b.TempDir(), lines: make(chan string, 1000)}
	r.cmd = exec.Command(labtest.Program(b, "lightsout"), "recorder", "--kubeconfig", kubeconfig, "--state", r.state, "--url", web.URL)
	r.cmd.Env, r.cmd.Stderr = append(os.Environ(), "HOME="+r.state, "XDG_CONFIG_HOME="+r.state), os.Stderr
	out, err := r.cmd.StdoutPipe()
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			r.lines <- lines.Text()
		}
		close(r.lines)
	}()
	return r
}

// wait waits for a line with a text.
func (r *recorded) wait(text string) {
	limit := time.After(10 * time.Minute)
	for {
		select {
		case line, more := <-r.lines:
			if strings.Contains(line, text) {
				return
			}
			if !more {
				r.b.Fatalf("the recorder ended before it printed %q", text)
			}
		case <-limit:
			r.b.Fatalf("the recorder has not printed %q", text)
		}
	}
}

func (r *recorded) vitals() vitals { return vitalsOf(r.b, r.cmd.Process.Pid) }

// disk is the size of its files.
func (r *recorded) disk() (sum int64) {
	_ = filepath.WalkDir(r.state, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}

func (r *recorded) close() {
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	for range r.lines { // until it has ended
	}
	_ = r.cmd.Wait()
}

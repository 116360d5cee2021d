package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lightsout/internal/labtest"
)

// benchServerEnv makes the test binary the server of the benchmarks: a process
// of its own, so that its cost is not the generators'.
const benchServerEnv = "LIGHTSOUT_BENCH_SERVER"

// TestLoadBenchServer is that server. It ends with its standard input.
func TestLoadBenchServer(t *testing.T) {
	if os.Getenv(benchServerEnv) == "" {
		return
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var seen atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { seen.Add(1); _, _ = io.WriteString(w, "ok") })
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) { seen.Add(1); <-r.Context().Done() })
	mux.HandleFunc("/second", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(time.Second):
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("/seen", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, seen.Load()) })
	go func() { _ = http.Serve(ln, mux) }()
	fmt.Println("listens on", ln.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// benchServer starts the server and returns its URL.
func benchServer(b *testing.B) string {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestLoadBenchServer$")
	cmd.Env = append(os.Environ(), benchServerEnv+"=1")
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if addr, ok := strings.CutPrefix(lines.Text(), "listens on "); ok {
			return "http://" + addr
		}
	}
	b.Fatal("the server does not start")
	return ""
}

// heyVersion is the generator that lightsout is measured against.
const heyVersion = "github.com/rakyll/hey@v0.1.5"

func builtHey(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	cmd := exec.Command("go", "install", heyVersion)
	cmd.Env = append(os.Environ(), "GOBIN="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Skipf("%s can't be built: %v: %s", heyVersion, err, out)
	}
	return filepath.Join(dir, "hey")
}

// measured is one run of a generator.
type measured struct {
	perSecond float64
	cpu       time.Duration // for each request
}

func median(runs []measured, of func(measured) float64) float64 {
	var v []float64
	for _, r := range runs {
		v = append(v, of(r))
	}
	slices.Sort(v)
	return v[len(v)/2]
}

// cost runs a command and returns its output and the processor time it took.
func cost(b *testing.B, name string, args ...string) (string, time.Duration) {
	b.Helper()
	cmd := exec.Command(name, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s: %v: %s%s", filepath.Base(name), err, out.String(), errs.String())
	}
	return out.String(), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// loadJSON runs `lightsout load` and returns its summary, also when not all
// requests were ok.
func loadJSON(b *testing.B, tool string, args ...string) (*loadSummary, time.Duration) {
	b.Helper()
	cmd := exec.Command(tool, append([]string{"load", "-o", "json"}, args...)...)
	out, ended := cmd.Output()
	var s loadSummary
	if err := json.Unmarshal(out, &s); err != nil {
		b.Fatalf("%v: %v: %s", ended, err, out)
	}
	if !s.Balanced {
		b.Fatalf("does not balance: %s", out)
	}
	return &s, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

var heyRate = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)

// BenchmarkLoadBesideHey sends the same number of requests to the same server,
// 16 at a time, by hey and by lightsout with its full account on disk, in
// turn. It reports ratios of medians: requests a second (higher is better than
// hey) and processor time for each request (lower is).
func BenchmarkLoadBesideHey(b *testing.B) {
	tool, hey, url := labtest.Program(b, "lightsout"), builtHey(b), benchServer(b)
	const requests, rounds = 60_000, 5
	for _, mode := range []struct{ connections, hey string }{{"kept", ""}, {"fresh", "-disable-keepalive"}} {
		b.Run(mode.connections, func(b *testing.B) {
			n := requests
			if mode.connections == "fresh" {
				n /= 3
			}
			var theirs, ours []measured
			for i := range rounds {
				args := []string{"-n", strconv.Itoa(n), "-c", "16"}
				if mode.hey != "" {
					args = append(args, mode.hey)
				}
				out, cpu := cost(b, hey, append(args, url)...)
				m := heyRate.FindStringSubmatch(out)
				if m == nil {
					b.Fatalf("hey tells no rate: %s", out)
				}
				rate, _ := strconv.ParseFloat(m[1], 64)
				theirs = append(theirs, measured{rate, cpu / time.Duration(n)})

				s, cpu := loadJSON(b, tool, url, "--hold", "16", "--requests", strconv.Itoa(n), "--connections", mode.connections,
					"--record", filepath.Join(b.TempDir(), strconv.Itoa(i)))
				if s.OK != n {
					b.Fatalf("%d of %d ok: %s", s.OK, n, s.LastError)
				}
				ours = append(ours, measured{s.OKPerSecond, cpu / time.Duration(n)})
			}
			perSecond := func(m measured) float64 { return m.perSecond }
			cpu := func(m measured) float64 { return float64(m.cpu.Nanoseconds()) / 1000 }
			b.ReportMetric(median(ours, perSecond), "req/s")
			b.ReportMetric(median(ours, cpu), "cpu-us/req")
			b.ReportMetric(median(ours, perSecond)/median(theirs, perSecond), "req/s-to-hey")
			b.ReportMetric(median(ours, cpu)/median(theirs, cpu), "cpu-to-hey")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkLoadTenThousandInFlight holds 10,000 requests in flight at once, and
// reports the memory it takes and how late its lines, one a second, come.
func BenchmarkLoadTenThousandInFlight(b *testing.B) {
	tool, url := labtest.Program(b, "lightsout"), benchServer(b)
	cmd := exec.Command(tool, "load", url+"/hang", "--burst", "10000", "--max-in-flight", "10000", "--timeout", "15s", "--connect-timeout", "15s")
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	var lines []time.Time
	var most, inFlight int
	var memory float64
	text := bufio.NewScanner(out)
	for text.Scan() {
		_, rest, ok := strings.Cut(text.Text(), "in flight ")
		if !ok || strings.HasPrefix(text.Text(), "scheduled") {
			continue
		}
		lines = append(lines, time.Now())
		_, _ = fmt.Sscan(rest, &inFlight)
		if inFlight >= most {
			most, memory = inFlight, rss(b, cmd.Process.Pid)
		}
	}
	_ = cmd.Wait() // it fails, as all its requests do
	late := time.Duration(0)
	for i := range lines[1:] {
		late = max(late, lines[i+1].Sub(lines[i])-time.Second)
	}
	b.ReportMetric(float64(most), "in-flight")
	b.ReportMetric(memory, "MB")
	b.ReportMetric(float64(late.Microseconds())/1000, "ms-late-line")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkLoadRate sends 5,000 requests a second on schedule, and reports how
// late they are sent; then sends as many to a server that takes a second for
// each, and reports how many are shed and how far the run drifts.
func BenchmarkLoadRate(b *testing.B) {
	tool, url := labtest.Program(b, "lightsout"), benchServer(b)
	b.Run("healthy", func(b *testing.B) {
		s, cpu := loadJSON(b, tool, url, "--rate", "5000/s", "--for", "10s", "--connections", "kept", "--record", filepath.Join(b.TempDir(), "r"))
		b.ReportMetric(s.Latency["late"].P50, "ms-late-p50")
		b.ReportMetric(s.Latency["late"].P99, "ms-late-p99")
		b.ReportMetric(s.Latency["late"].Max, "ms-late-max")
		b.ReportMetric(float64(s.Unsent), "unsent")
		b.ReportMetric(float64(s.OK), "ok")
		b.ReportMetric(100*cpu.Seconds()/s.Duration, "%core")
		b.ReportMetric(0, "ns/op")
	})
	b.Run("overload", func(b *testing.B) {
		cmd := exec.Command(tool, "load", url+"/second", "-o", "json", "--rate", "5000/s", "--for", "5s", "--connections", "kept", "--max-in-flight", "500")
		out, _ := cmd.Output() // it fails, as requests are shed
		var s loadSummary
		if err := json.Unmarshal(out, &s); err != nil || !s.Balanced {
			b.Fatalf("%v: %s", err, out)
		}
		b.ReportMetric(float64(s.Scheduled), "scheduled")
		b.ReportMetric(float64(s.Unsent), "shed")
		b.ReportMetric(float64(s.OK), "ok")
		b.ReportMetric(s.Latency["late"].P99, "ms-late-p99")
		b.ReportMetric(s.Duration, "s")
		b.ReportMetric(0, "ns/op")
	})
}

// holdEnv is how long the benchmark below holds, e.g. 1h.
const holdEnv = "LIGHTSOUT_HOLD"

// BenchmarkLoadHold holds 16 requests in flight for a long time, and reports
// memory after a tenth of it and at its end.
func BenchmarkLoadHold(b *testing.B) {
	hold := 20 * time.Second
	if v := os.Getenv(holdEnv); v != "" {
		var err error
		if hold, err = time.ParseDuration(v); err != nil {
			b.Fatalf("%s: %v", holdEnv, err)
		}
	}
	tool, url := labtest.Program(b, "lightsout"), benchServer(b)
	cmd := exec.Command(tool, "load", url, "--hold", "16", "--connections", "kept", "--for", hold.String())
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	time.Sleep(hold / 10)
	early := rss(b, cmd.Process.Pid)
	time.Sleep(hold*9/10 - time.Second)
	late := rss(b, cmd.Process.Pid)
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(early, "MB-early")
	b.ReportMetric(late, "MB-late")
	b.ReportMetric(0, "ns/op")
}

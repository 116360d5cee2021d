package e2e

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"lightsout/internal/labtest"

	"github.com/creack/pty"
)

// BenchmarkIdleScreen measures the screen program on the mdx lab at rest:
// percent of one core, bytes a second to the terminal, resident memory, and
// milliseconds from a key to the first byte of the changed screen. One
// iteration takes about 40 s; b.N does not repeat it.
func BenchmarkIdleScreen(b *testing.B) {
	lab := labtest.Start(b, "mdx")
	cmd := program(context.Background(), b, nil, "--config", lab.Config(), "--kubeconfig", lab.Kubeconfig(), "--state", b.TempDir())
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 120, Rows: 36})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); tty.Close() }()
	m := &meter{}
	go m.drain(tty)

	m.waitFor(b, "16/16", time.Minute)
	time.Sleep(15 * time.Second) // rest: start-up's last events leave the screen
	const span = 20 * time.Second
	bytes, cpu := m.count(), cpuTime(b, cmd.Process.Pid)
	time.Sleep(span)
	b.ReportMetric(float64(m.count()-bytes)/span.Seconds(), "bytes/s")
	b.ReportMetric(100*(cpuTime(b, cmd.Process.Pid)-cpu).Seconds()/span.Seconds(), "%core")
	b.ReportMetric(rss(b, cmd.Process.Pid), "MB")

	var took []time.Duration
	for i := range 40 {
		key := "j"
		if i%2 == 1 {
			key = "k"
		}
		before, t0 := m.count(), time.Now()
		_, _ = io.WriteString(tty, key)
		for m.count() == before && time.Since(t0) < time.Second {
			time.Sleep(200 * time.Microsecond)
		}
		took = append(took, time.Since(t0))
		time.Sleep(100 * time.Millisecond)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "key-p50-ms")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "key-p95-ms")
	b.ReportMetric(0, "ns/op")
}

// meter reads a terminal and counts.
type meter struct {
	mu   sync.Mutex
	n    int
	seen strings.Builder
}

func (m *meter) drain(r io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		m.mu.Lock()
		m.n += n
		if m.seen.Len() < 1<<20 {
			m.seen.Write(buf[:n])
		}
		m.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (m *meter) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.n
}

func (m *meter) waitFor(b *testing.B, text string, within time.Duration) {
	for deadline := time.Now().Add(within); ; time.Sleep(50 * time.Millisecond) {
		m.mu.Lock()
		ok := strings.Contains(m.seen.String(), text)
		m.mu.Unlock()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("%q is never written to the terminal", text)
		}
	}
}

// cpuTime is the user and system time of a process (proc(5), stat fields 14
// and 15, in ticks of 10 ms).
func cpuTime(b testing.TB, pid int) time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Skip("no /proc here")
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// rss is the resident memory of a process in MB.
func rss(b *testing.B, pid int) float64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Skip("no /proc here")
	}
	_, rest, _ := strings.Cut(string(data), "VmRSS:")
	kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	return kb / 1024
}

// Package scale measures the program on real API servers of several sizes, as
// `make bench-scale` does, and prints one Markdown table. Each is an etcd and a
// kube-apiserver that the lab's binary fills (bin/lightsout-lab --crowd L), with
// every node's heartbeat each 10 seconds. The program runs in a terminal of
// 160×45 with the table of all pods on the whole of it.
package scale

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	sizes    = flag.String("sizes", "", "the sizes of BenchmarkScale, like \"S M L\"")
	restFor  = flag.Duration("rest", 30*time.Second, "how long the program is watched at rest")
	castFile = flag.String("cast", "", "record the screen at the slow link to this `file`")
	watching = flag.String("watch", "", "be the peer that only watches, with this `kubeconfig`")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if *watching == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := watchAll(ctx, *watching); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// BenchmarkScale measures the program at each of the sizes and prints the table,
// as far as it has come. b.N does not repeat it.
func BenchmarkScale(b *testing.B) {
	if *sizes == "" {
		b.Skip(`say which sizes: make bench-scale SIZES="S M L"`)
	}
	t := newTable(conditions())
	defer func() { fmt.Println(t) }()
	for size := range strings.FieldsSeq(*sizes) {
		t.begin(size)
		measure(b, size, t)
	}
	b.ReportMetric(0, "ns/op")
}

// conditions says what the figures depend on.
func conditions() string {
	commit, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		commit = []byte("unknown")
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		load = []byte("unknown")
	}
	one, _, _ := strings.Cut(string(load), " ")
	return fmt.Sprintf("%s, commit %s, %d cores, load before it %s", time.Now().UTC().Format("2006-01-02 15:04 UTC"),
		strings.TrimSpace(string(commit)), runtime.NumCPU(), strings.TrimSpace(one))
}

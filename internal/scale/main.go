// Command scale measures the program on real API servers of several sizes, as
// `make bench-scale` does, and prints one Markdown table. Each is an etcd and a
// kube-apiserver that the lab's binary fills (bin/lightsout-lab --crowd L), with
// every node's heartbeat each 10 seconds. The program runs in a terminal of
// 160×45 with the table of all pods on the whole of it.
//
// It is a measurement and no test: nothing in it passes or fails.
package main

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
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func run() error {
	m := measurer{}
	flag.StringVar(&m.lab, "lab", "bin/lightsout-lab", "the lab's program")
	flag.StringVar(&m.program, "program", "bin/lightsout", "the program that is measured")
	flag.DurationVar(&m.rest, "rest", 30*time.Second, "how long it is watched at rest")
	peer := flag.String("watch", "", "be the peer that only watches, with this `kubeconfig`")
	flag.Parse()
	sizes := flag.Args()
	if len(sizes) == 0 {
		sizes = []string{"S", "M", "L"}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *peer != "" {
		return watchAll(ctx, *peer)
	}
	table := newTable()
	table.conditions = conditions()
	for _, size := range sizes {
		table.begin(size)
		if err := m.measure(ctx, size, table); err != nil {
			fmt.Println(table)
			return fmt.Errorf("size %s: %w", size, err)
		}
	}
	fmt.Println(table)
	return nil
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

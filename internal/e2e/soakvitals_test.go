//go:build linux

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// vital is what the program takes at one moment.
type vital struct {
	rss, heap  float64 // MB
	open       []string
	goroutines int
	key        time.Duration // from a key to the screen; 0: not measured
}

// sample looks at the program until ctx ends.
func (s *soak) sample(ctx context.Context, each time.Duration) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(each):
		}
		if v, ok := s.look(); ok {
			s.mu.Lock()
			s.vitals = append(s.vitals, v)
			s.mu.Unlock()
		}
	}
}

// look looks at the program once, unless it is just writing about itself.
func (s *soak) look() (v vital, ok bool) {
	b, _ := os.ReadFile(s.goroutines)
	var heap int64
	if _, e := fmt.Sscan(string(b), &v.goroutines, &heap); e != nil {
		return v, false
	}
	v.open, v.heap = openFiles(s.pid), float64(heap)/(1<<20)
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	_, _ = fmt.Sscan(rest, &v.rss)
	v.rss /= 1024
	return v, true
}

// leaked waits for the program to have no more goroutines and descriptors than
// before anything was done with it, and tells what it has.
func (s *soak) leaked() {
	var v vital
	within := func() bool {
		v, _ = s.look()
		return v.goroutines > 0 && v.goroutines <= s.before.goroutines+20 && len(v.open) <= len(s.before.open)+1
	}
	s.patience(time.Minute, within)
	s.t.Logf("at rest: %d goroutines and %d descriptors before, %d and %d after", s.before.goroutines, len(s.before.open), v.goroutines, len(v.open))
	if !within() {
		s.t.Errorf("it has leaked; open before:\n%s\nand after:\n%s", strings.Join(s.before.open, "\n"), strings.Join(v.open, "\n"))
	}
}

// openFiles names what a process has open.
func openFiles(pid int) []string {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	var open []string
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil {
			open = append(open, to)
		}
	}
	slices.Sort(open)
	return open
}

// thirds gives the medians of the first and of the last third of what is there.
func thirds[T int | float64 | time.Duration](all []vital, of func(vital) T) (first, last T) {
	var list []T
	for _, v := range all {
		if x := of(v); x > 0 {
			list = append(list, x)
		}
	}
	if len(list) < 3 {
		return 0, 0
	}
	third := len(list) / 3
	median := func(part []T) T {
		part = slices.Sorted(slices.Values(part))
		return part[len(part)/2]
	}
	return median(list[:third]), median(list[len(list)-third:])
}

// summarize tells what happened and what it took, and fails for what has grown.
func (s *soak) summarize() {
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(s.counts)) {
		fmt.Fprintf(&b, "%6d  %s\n", s.counts[what], what)
	}
	all := s.vitals
	fmt.Fprintf(&b, "medians of the first and the last third of %d samples:\n", len(all))
	rss, rssLast := thirds(all, func(v vital) float64 { return v.rss })
	heap, heapLast := thirds(all, func(v vital) float64 { return v.heap })
	fds, fdsLast := thirds(all, func(v vital) int { return len(v.open) })
	goroutines, goroutinesLast := thirds(all, func(v vital) int { return v.goroutines })
	key, keyLast := thirds(all, func(v vital) time.Duration { return v.key })
	fmt.Fprintf(&b, "  resident     %6.1f  %6.1f MB\n  heap         %6.1f  %6.1f MB\n  descriptors  %6d  %6d\n  goroutines   %6d  %6d\n", rss, rssLast, heap, heapLast, fds, fdsLast, goroutines, goroutinesLast)
	fmt.Fprintf(&b, "  key → screen %6d  %6d ms, as tmux tells it\n", key.Milliseconds(), keyLast.Milliseconds())
	s.t.Logf("\n%s", b.String())
	if len(all) < 3 || rssLast > 1.5*rss+30 {
		s.t.Error("nothing was measured, or its memory has grown")
	}
}

// latencies tells how long the requests that went well took, in the first and
// the last third of the time.
func (s *soak) latencies(path string) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	type one struct {
		Class          string
		Scheduled, End time.Time
	}
	var all []one
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var r one
		if json.Unmarshal(sc.Bytes(), &r) == nil && r.Class == "ok" {
			all = append(all, r)
		}
	}
	if len(all) < 3 {
		s.t.Error("no request went well")
		return
	}
	slices.SortFunc(all, func(a, b one) int { return a.Scheduled.Compare(b.Scheduled) })
	for name, part := range map[string][]one{"first": all[:len(all)/3], "last": all[len(all)-len(all)/3:]} {
		var took []time.Duration
		for _, r := range part {
			took = append(took, r.End.Sub(r.Scheduled))
		}
		slices.Sort(took)
		s.t.Logf("requests ok, %s third: p50 %v, p99 %v", name, took[len(took)/2], took[len(took)*99/100])
	}
}

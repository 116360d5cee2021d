package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	probes     = 5
	keysTyped  = 300
	churnRate  = 200 // pod updates a second
	churnFor   = 10 * time.Second
	deadNodes  = 100
	keyPatient = 5 * time.Second
)

// measurer measures one program.
type measurer struct {
	lab, program string
	rest         time.Duration
}

// trial is the measurement of one size.
type trial struct {
	*server
	*screen
	t *table
	// probed is the pod that churn leaves alone.
	probed atomic.Pointer[string]
}

func (m measurer) measure(ctx context.Context, size string, t *table) error {
	begun := time.Now()
	server, err := startServer(m.lab, size)
	if err != nil {
		return err
	}
	defer server.close()
	t.set("nodes, pods, deployments", "%d, %d, %d", server.info.Nodes, server.info.Pods, server.info.Deployments)
	t.set("started and filled in", "%s", seconds(time.Since(begun)))
	if _, err := server.list(ctx); err != nil { // its caches are filled
		return err
	}
	bare, err := server.list(ctx)
	if err != nil {
		return err
	}
	t.set("a bare list of all by client-go", "%s", seconds(bare))
	without, err := m.watched(ctx, server)
	if err != nil {
		return err
	}
	home, err := os.MkdirTemp("", "scale-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	screen, err := openScreen(m.program, server.info.Kubeconfig, home)
	if err != nil {
		return err
	}
	defer screen.close()
	r := &trial{server: server, screen: screen, t: t}
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return r.appear(ctx, bare) },
		func(ctx context.Context) error { return r.atRest(ctx, m, without) },
		r.typed, r.changes, r.churned, r.outage,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// watched is how many requests the server gets while m.rest passes.
func (m measurer) watched(ctx context.Context, s *server) (float64, error) {
	before, err := s.requests(ctx)
	if err != nil {
		return 0, err
	}
	if err := pause(ctx, m.rest); err != nil {
		return 0, err
	}
	after, err := s.requests(ctx)
	return after - before, err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// appear waits for the first frame and for all pods on the whole screen.
func (r *trial) appear(ctx context.Context, bare time.Duration) error {
	at, err := r.waitText(ctx, "lightsout", time.Minute)
	if err != nil {
		return err
	}
	r.t.set("first frame", "%s", seconds(at.Sub(r.started)))
	if err := r.keys("3az"); err != nil {
		return err
	}
	if at, err = r.waitText(ctx, fmt.Sprintf("%d/%d ready", r.info.Pods, r.info.Pods), 5*time.Minute); err != nil {
		return err
	}
	took := at.Sub(r.started)
	r.t.set("complete table (of a bare list)", "%s (%.1f×)", seconds(took), took.Seconds()/bare.Seconds())
	v, err := vitalsOf(r.screen.cmd.Process.Pid)
	r.t.set("read from the API server until then", "%.1f MB", float64(v.read)/1e6)
	return err
}

// atRest watches it while nothing but heartbeats comes.
func (r *trial) atRest(ctx context.Context, m measurer, without float64) (err error) {
	beside, err := startPeer(r.info.Kubeconfig)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, beside.close()) }()
	if err := pause(ctx, 15*time.Second); err != nil { // what it does once is over
		return err
	}
	before, err := vitalsOf(r.screen.cmd.Process.Pid)
	if err != nil {
		return err
	}
	peerBefore, err := beside.cpu()
	if err != nil {
		return err
	}
	sent := r.sent()
	with, err := m.watched(ctx, r.server)
	if err != nil {
		return err
	}
	after, err := vitalsOf(r.screen.cmd.Process.Pid)
	if err != nil {
		return err
	}
	peerAfter, err := beside.cpu()
	if err != nil {
		return err
	}
	minutes := m.rest.Minutes()
	r.t.set("resident (most until then)", "%d MB (%d MB)", after.resident>>20, after.peak>>20)
	r.t.set("at rest with heartbeats: CPU of one core", "%.1f %%", 100*(after.cpu-before.cpu).Seconds()/m.rest.Seconds())
	r.t.set("at rest: CPU of a client-go program that only watches the same", "%.1f %%", 100*(peerAfter-peerBefore).Seconds()/m.rest.Seconds())
	r.t.set("at rest: requests a minute", "%.0f", max(0, with-without)/minutes)
	r.t.set("at rest: read a minute, all heartbeats in it", "%.0f KB", float64(after.read-before.read)/1e3/minutes)
	r.t.set("at rest: to the terminal", "%.2f KB/s", float64(r.sent()-sent)/1e3/m.rest.Seconds())
	return nil
}

// typeKeys types a key at a time, and gives how long each took to be seen.
func (r *trial) typeKeys(ctx context.Context, n int) ([]time.Duration, error) {
	var took []time.Duration
	for i := range n {
		if err := pause(ctx, time.Duration(10+rand.IntN(40))*time.Millisecond); err != nil {
			return nil, err
		}
		lines, _ := r.lines()
		row := cursorRow(lines)
		typed := time.Now()
		if err := r.keys([]string{"j", "k"}[i%2]); err != nil {
			return nil, err
		}
		at, err := r.wait(ctx, "the cursor on another row", keyPatient, func(lines []string) bool {
			now := cursorRow(lines)
			return now != "" && podIn(now) != podIn(row)
		})
		if err != nil {
			return nil, err
		}
		took = append(took, at.Sub(typed))
	}
	return took, r.keys("g")
}

// podIn is the pod of a row, without its namespace.
func podIn(row string) string {
	for _, word := range strings.Fields(row) {
		if _, name, ok := strings.Cut(word, "/"); ok && strings.Count(name, "-") >= 3 {
			return name
		}
	}
	return ""
}

func (r *trial) typed(ctx context.Context) error {
	took, err := r.typeKeys(ctx, keysTyped)
	r.t.set("key → screen, p50 / p99", "%s / %s", ms(percentile(took, 50)), ms(percentile(took, 99)))
	return err
}

// change makes one pod that is on the screen not ready, and gives how long after
// the API server's answer that was seen, and when a bare watch had it.
func (r *trial) change(ctx context.Context) (shown, watched time.Duration, err error) {
	lines, _ := r.lines()
	var pods []string
	for _, l := range lines {
		if name := podIn(l); r.space[name] != "" && strings.Contains(l, "1/1") {
			pods = append(pods, name)
		}
	}
	if len(pods) == 0 {
		return 0, 0, fmt.Errorf("no pod is on the screen:\n%s", strings.Join(lines, "\n"))
	}
	name := pods[rand.IntN(len(pods))]
	r.probed.Store(&name)
	defer r.probed.Store(nil)
	if err := pause(ctx, time.Duration(700+rand.IntN(600))*time.Millisecond); err != nil {
		return 0, 0, err
	}
	told := make(chan time.Time, 1)
	w, err := r.watchPod(ctx, name)
	if err != nil {
		return 0, 0, err
	}
	defer w.Stop()
	<-w.ResultChan() // as it is
	go func() {
		for e := range w.ResultChan() {
			if e.Type == watch.Modified {
				told <- time.Now()
				return
			}
		}
	}()
	if err := r.setPod(ctx, name, false, 0); err != nil {
		return 0, 0, err
	}
	answered := time.Now()
	seen := func(state string) func([]string) bool {
		return func(lines []string) bool {
			i := contains(lines, name)
			return i >= 0 && strings.Contains(lines[i], state)
		}
	}
	at, err := r.wait(ctx, name+" not ready", time.Minute, seen("0/1"))
	if err != nil {
		return 0, 0, err
	}
	watched = max(0, (<-told).Sub(answered))
	if err := r.setPod(ctx, name, true, 0); err != nil {
		return 0, 0, err
	}
	_, err = r.wait(ctx, name+" ready again", time.Minute, seen("1/1"))
	return max(0, at.Sub(answered)), watched, err
}

func (r *trial) probe(ctx context.Context) (shown, watched []time.Duration, err error) {
	for range probes {
		s, w, err := r.change(ctx)
		if err != nil {
			return nil, nil, err
		}
		shown, watched = append(shown, s), append(watched, w)
	}
	return shown, watched, nil
}

func (r *trial) changes(ctx context.Context) error {
	shown, watched, err := r.probe(ctx)
	r.t.set("a pod's change on screen after the API's answer, at rest (least / median / most of 5)", "%s", spread(shown))
	r.t.set("a bare watch has it", "%s", spread(watched))
	return err
}

// churn updates pods at churnRate a second until ctx ends, and says how many.
func (r *trial) churn(ctx context.Context) int {
	names := make([]string, 0, len(r.space))
	for name := range r.space {
		names = append(names, name)
	}
	slices.Sort(names)
	due := make(chan int)
	var g errgroup.Group
	for range 16 {
		g.Go(func() error {
			for i := range due {
				name := names[rand.IntN(len(names))]
				if alone := r.probed.Load(); alone == nil || *alone != name {
					_ = r.setPod(ctx, name, true, i)
				}
			}
			return nil
		})
	}
	ticker := time.NewTicker(time.Second / churnRate)
	defer ticker.Stop()
	n := 0
	for ; ctx.Err() == nil; n++ {
		select {
		case <-ctx.Done():
		case <-ticker.C:
			due <- n
		}
	}
	close(due)
	_ = g.Wait()
	return n
}

// churned measures while many pods change all over the cluster.
func (r *trial) churned(ctx context.Context) error {
	churning, stop := context.WithCancel(ctx)
	defer stop()
	begun, updates := time.Now(), make(chan int, 1)
	go func() { updates <- r.churn(churning) }()
	if err := pause(ctx, 3*time.Second); err != nil {
		return err
	}
	sent := r.sent()
	before, err := vitalsOf(r.screen.cmd.Process.Pid)
	if err != nil {
		return err
	}
	if err := pause(ctx, churnFor); err != nil {
		return err
	}
	after, err := vitalsOf(r.screen.cmd.Process.Pid)
	if err != nil {
		return err
	}
	r.t.set("under churn: to the terminal", "%.1f KB/s", float64(r.sent()-sent)/1e3/churnFor.Seconds())
	r.t.set("under churn: CPU of one core", "%.0f %%", 100*(after.cpu-before.cpu).Seconds()/churnFor.Seconds())
	took, err := r.typeKeys(ctx, keysTyped/2)
	r.t.set("under churn: key p50 / p99", "%s / %s", ms(percentile(took, 50)), ms(percentile(took, 99)))
	if err != nil {
		return err
	}
	shown, watched, err := r.probe(ctx)
	r.t.set("under churn: a pod's change", "%s", spread(shown))
	r.t.set("under churn: a bare watch has it", "%s", spread(watched))
	stop()
	n := <-updates
	r.t.set("under churn: updates a second that came about", "%.0f", float64(n)/time.Since(begun).Seconds())
	return err
}

// outage marks nodes as dead, all at once.
func (r *trial) outage(ctx context.Context) error {
	if err := r.keys("z1z"); err != nil {
		return err
	}
	n := r.info.Nodes
	if _, err := r.waitText(ctx, fmt.Sprintf("%d/%d ready", n, n), time.Minute); err != nil {
		return err
	}
	dead := min(deadNodes, n/2)
	var g errgroup.Group
	g.SetLimit(16)
	for i := range dead {
		g.Go(func() error { return r.killNode(ctx, i) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	answered := time.Now()
	at, err := r.waitText(ctx, fmt.Sprintf("%d/%d ready", n-dead, n), time.Minute)
	if err != nil {
		return err
	}
	r.t.set(fmt.Sprintf("%d nodes dead at once (half of S): all on screen after the API's last answer", deadNodes), "%s", ms(max(0, at.Sub(answered))))
	return nil
}

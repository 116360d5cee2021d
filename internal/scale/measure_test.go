package scale

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
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

// trial is the measurement of one size.
type trial struct {
	*server
	*screen
	b *testing.B
	t *table
	// probed is the pod that churn leaves alone.
	probed atomic.Pointer[string]
}

func measure(b *testing.B, size string, t *table) {
	begun := time.Now()
	server := startServer(b, size)
	defer server.end()
	t.set("nodes, pods, deployments", "%d, %d, %d", server.info.Nodes, server.info.Pods, server.info.Deployments)
	t.set("started and filled in", "%s", seconds(time.Since(begun)))
	server.list(b) // its caches are filled
	bare := server.list(b)
	t.set("a bare list of all by client-go", "%s", seconds(bare))
	before := server.requests(b)
	time.Sleep(*restFor)
	without := server.requests(b) - before
	r := &trial{server: server, screen: openScreen(b, server.info.Kubeconfig), b: b, t: t}
	defer r.close()
	r.appear(bare)
	r.throughLink()
	r.atRest(without)
	r.typed()
	r.changes()
	r.churned()
	r.outage()
}

// appear waits for the first frame and for all pods on the whole screen.
func (r *trial) appear(bare time.Duration) {
	r.t.set("first frame", "%s", seconds(r.waitText("lightsout", time.Minute).Sub(r.started)))
	r.t.set("all nodes on the screen", "%s", seconds(r.waitText(r.allNodes(), 5*time.Minute).Sub(r.started)))
	r.keys("3az")
	took := r.waitText(r.allPods(), 5*time.Minute).Sub(r.started)
	r.t.set("complete table (of a bare list)", "%s (%.1f×)", seconds(took), took.Seconds()/bare.Seconds())
	r.t.set("read from the API server by then", "%.1f MB", float64(r.vitals().read)/1e6)
	r.t.set("CPU time until then", "%s", seconds(r.vitals().cpu))
}

// allNodes and allPods are the texts on the screen once it has all of them.
func (r *trial) allNodes() string { return fmt.Sprintf("%d/%d ready", r.info.Nodes, r.info.Nodes) }
func (r *trial) allPods() string  { return fmt.Sprintf("%d/%d ready", r.info.Pods, r.info.Pods) }

// atRest watches it while nothing but heartbeats comes. without is how many
// requests the server gets in that time when it does not run.
func (r *trial) atRest(without float64) {
	beside := startPeer(r.b, r.info.Kubeconfig)
	defer beside.close()
	time.Sleep(15 * time.Second) // what it does once is over
	before, peerBefore := r.vitals(), beside.vitals()
	sent, requests := r.sent(), r.requests(r.b)
	time.Sleep(*restFor)
	with := r.requests(r.b) - requests
	after, peerAfter := r.vitals(), beside.vitals()
	minutes := restFor.Minutes()
	r.t.set("resident memory (peak by then)", "%d MB (%d MB)", after.resident>>20, after.peak>>20)
	r.t.set("resident: the processes that it started", "%d MB", startedBy(r.cmd.Process.Pid)>>20)
	r.t.set("at rest with heartbeats: CPU of one core", "%.1f %%", 100*(after.cpu-before.cpu).Seconds()/restFor.Seconds())
	r.t.set("at rest: CPU of a client-go program that watches the same objects", "%.1f %%", 100*(peerAfter.cpu-peerBefore.cpu).Seconds()/restFor.Seconds())
	r.t.set("at rest: requests a minute", "%.0f", max(0, with-without)/minutes)
	r.t.set("at rest: read a minute, including all heartbeats", "%.0f KB", float64(after.read-before.read)/1e3/minutes)
	r.t.set("at rest: to the terminal", "%.2f KB/s", float64(r.sent()-sent)/1e3/restFor.Seconds())
}

// typeKeys types a key at a time, and gives how long each took to be seen.
func (r *trial) typeKeys(n int) []time.Duration {
	var took []time.Duration
	for i := range n {
		time.Sleep(time.Duration(10+rand.IntN(40)) * time.Millisecond)
		lines, _ := r.lines()
		row := cursorRow(lines)
		typed := time.Now()
		r.keys([]string{"j", "k"}[i%2])
		at := r.wait("the cursor on another row", keyPatient, func(lines []string) bool {
			now := cursorRow(lines)
			return now != "" && podIn(now) != podIn(row)
		})
		took = append(took, at.Sub(typed))
	}
	r.keys("g")
	return took
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

func (r *trial) typed() {
	took := r.typeKeys(keysTyped)
	r.t.set("key → screen, p50 / p99", "%s / %s", ms(percentile(took, 50)), ms(percentile(took, 99)))
}

// change makes one pod that is on the screen not ready, and gives how long after
// the API server's answer that was seen, and when a bare watch had it.
func (r *trial) change() (shown, watched time.Duration) {
	lines, _ := r.lines()
	var pods []string
	for _, l := range lines {
		if name := podIn(l); r.space[name] != "" && strings.Contains(l, "1/1") {
			pods = append(pods, name)
		}
	}
	if len(pods) == 0 {
		r.b.Fatalf("no pod is on the screen:\n%s", strings.Join(lines, "\n"))
	}
	name := pods[rand.IntN(len(pods))]
	r.probed.Store(&name)
	defer r.probed.Store(nil)
	time.Sleep(time.Duration(700+rand.IntN(600)) * time.Millisecond)
	told := make(chan time.Time, 1)
	w := r.watchPod(r.b, name)
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
	r.must(r.setPod(r.b.Context(), name, false, 0))
	answered := time.Now()
	seen := func(state string) func([]string) bool {
		return func(lines []string) bool {
			i := contains(lines, name)
			return i >= 0 && strings.Contains(lines[i], state)
		}
	}
	at := r.wait(name+" not ready", time.Minute, seen("0/1"))
	watched = max(0, (<-told).Sub(answered))
	r.must(r.setPod(r.b.Context(), name, true, 0))
	r.wait(name+" ready again", time.Minute, seen("1/1"))
	return max(0, at.Sub(answered)), watched
}

func (r *trial) must(err error) {
	if err != nil {
		r.b.Helper()
		r.b.Fatal(err)
	}
}

func (r *trial) probe() (shown, watched []time.Duration) {
	for range probes {
		s, w := r.change()
		shown, watched = append(shown, s), append(watched, w)
	}
	return shown, watched
}

func (r *trial) changes() {
	shown, watched := r.probe()
	r.t.set("a pod's change on screen after the API's answer, at rest (minimum / median / maximum of 5)", "%s", spread(shown))
	r.t.set("the same by a bare watch", "%s", spread(watched))
}

// churn updates pods at churnRate a second until ctx ends, and says how many.
func (r *trial) churn(ctx context.Context) int {
	names := slices.Sorted(maps.Keys(r.space))
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
func (r *trial) churned() {
	churning, stop := context.WithCancel(r.b.Context())
	begun, updates := time.Now(), make(chan int, 1)
	go func() { updates <- r.churn(churning); close(updates) }()
	defer func() { stop(); <-updates }()
	time.Sleep(3 * time.Second)
	sent, before := r.sent(), r.vitals()
	time.Sleep(churnFor)
	after := r.vitals()
	r.t.set("under churn: to the terminal", "%.1f KB/s", float64(r.sent()-sent)/1e3/churnFor.Seconds())
	r.t.set("under churn: CPU of one core", "%.0f %%", 100*(after.cpu-before.cpu).Seconds()/churnFor.Seconds())
	took := r.typeKeys(keysTyped / 2)
	r.t.set("under churn: key p50 / p99", "%s / %s", ms(percentile(took, 50)), ms(percentile(took, 99)))
	shown, watched := r.probe()
	r.t.set("under churn: a pod's change", "%s", spread(shown))
	r.t.set("under churn: the same by a bare watch", "%s", spread(watched))
	stop()
	n := <-updates
	r.t.set("under churn: updates a second", "%.0f", float64(n)/time.Since(begun).Seconds())
}

// outage marks nodes as dead, all at once.
func (r *trial) outage() {
	r.keys("z1z")
	n := r.info.Nodes
	r.waitText(fmt.Sprintf("%d/%d ready", n, n), time.Minute)
	dead := min(deadNodes, n/2)
	var g errgroup.Group
	g.SetLimit(16)
	for i := range dead {
		g.Go(func() error { return r.killNode(r.b.Context(), i) })
	}
	r.must(g.Wait())
	answered := time.Now()
	at := r.waitText(fmt.Sprintf("%d/%d ready", n-dead, n), time.Minute)
	r.t.set(fmt.Sprintf("%d nodes dead at once (half of S): all on screen after the API's last answer", deadNodes), "%s", ms(max(0, at.Sub(answered))))
}

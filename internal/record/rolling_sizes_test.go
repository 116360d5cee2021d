package record

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/testenv"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// churning is a cluster in which pods, heartbeats and requests change all the time.
type churning struct {
	now   time.Time
	b     *cluster.Builder
	nodes []*cluster.Node
	pods  []*cluster.Pod
	rnd   *rand.Rand
}

func newChurning(nodes, pods int) *churning {
	c := &churning{now: time.Date(2026, 3, 4, 14, 0, 0, 0, time.UTC), b: cluster.NewBuilder(), rnd: rand.New(rand.NewPCG(1, 2))}
	for i := range nodes {
		n := &cluster.Node{Name: fmt.Sprintf("node-%04d", i), Ready: cluster.TriTrue, Renewed: c.now, RenewSeen: c.now}
		c.nodes = append(c.nodes, n)
		c.b.SetNode(n)
	}
	for i := range pods {
		p := &cluster.Pod{
			Key: cluster.Key{Namespace: "default", Name: fmt.Sprintf("web-7c9b7f6c9-%06d", i)}, UID: fmt.Sprint(i), Node: c.nodes[i%nodes].Name, Phase: "Running", Status: "Running",
			Ready: true, ReadyContainers: 2, Containers: 2, Created: c.now, Deployment: "web", OwnerKind: "ReplicaSet", OwnerName: "web-7c9b7f6c9", IP: fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255),
		}
		c.pods = append(c.pods, p)
		c.b.SetPod(p)
	}
	return c
}

// next is the frame a second later: a tenth of the heartbeats, and a few pods.
func (c *churning) next(changes int) *view.Frame {
	c.now = c.now.Add(time.Second)
	for range len(c.nodes) / 10 {
		i := c.rnd.IntN(len(c.nodes))
		n := *c.nodes[i]
		n.Renewed, n.RenewSeen = c.now, c.now
		c.nodes[i] = &n
		c.b.SetNode(&n)
	}
	for range changes {
		i := c.rnd.IntN(len(c.pods))
		p := *c.pods[i]
		p.Ready, p.ReadySince = !p.Ready, c.now
		c.pods[i] = &p
		c.b.SetPod(&p)
	}
	return &view.Frame{Now: c.now, Snapshot: c.b.Snapshot(cluster.Contents{At: c.now, Link: cluster.Link{State: cluster.LinkLive}})}
}

// The past of a quarter of an hour stays within its bound, at 50 requests and dozens of
// changes a second, and is soon on the disk.
func TestThePastOfALargeClusterIsBounded(t *testing.T) {
	testenv.Long(t, 60)
	for _, size := range []struct {
		name                 string
		nodes, pods, changes int
		most                 uint64
	}{{"S", 4, 50, 5, 64 << 20}, {"L", 1000, 30_000, 50, 256 << 20}} {
		t.Run(size.name, func(t *testing.T) {
			c := newChurning(size.nodes, size.pods)
			timeline, err := NewTimeline("", func() time.Time { return c.now })
			if err != nil {
				t.Fatal(err)
			}
			before := heap()
			r := newRolling(timeline, 64<<20, 15*time.Minute, func() time.Time { return c.now })
			defer r.Rest()
			var worst time.Duration
			for range 15 * time.Minute / time.Second {
				f := c.next(size.changes)
				begun := cpu(t)
				r.sampler.sample(f, false)
				worst = max(worst, cpu(t)-begun)
				for range 50 {
					r.Request(loadgen.Record{Run: 1, Class: loadgen.ClassOK, Scheduled: c.now, Sent: c.now, End: c.now})
				}
			}
			used := heap() - before // with the newest frame, which watching needs
			begun := cpu(t)
			if err := r.Spill(t.TempDir(), c.now); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d MB of memory; %d MB of samples, %d MB of requests; CPU time: %s for the longest sample, %s for writing all to the disk",
				used>>20, r.sampler.samples.past.size>>20, r.requests.past.size>>20, worst, cpu(t)-begun)
			if used > size.most {
				t.Errorf("%d MB", used>>20)
			}
			runtime.KeepAlive(c)
		})
	}
}

// cpu is the CPU time of this process.
func cpu(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

package cluster

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"lightsout/internal/testenv"

	corev1 "k8s.io/api/core/v1"
)

// wire stands between a Watcher and a fakeAPI as a network does: each connection
// can be frozen or slowed alone.
type wire struct {
	net.Listener
	wg sync.WaitGroup

	mu    sync.Mutex
	conns map[string]*cable // by the address that the server sees
	route func() *fakeAPI   // where the next connection leads
}

// cable is one connection of a wire.
type cable struct {
	of     *wire
	thawed chan struct{} // closed unless what is sent does not arrive
	delay  time.Duration // of each chunk
	ends   [2]net.Conn
}

// connect leads a new connection to where the route leads now. cut and leads wait for it: a
// connection that is being made to the old end would escape the cut.
func (x *wire) connect(near net.Conn) (*cable, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	far, err := net.Dial("tcp", x.route().Listener.Addr().String())
	if err != nil {
		return nil, err
	}
	c := &cable{of: x, thawed: make(chan struct{}), ends: [2]net.Conn{near, far}}
	close(c.thawed)
	x.conns[far.LocalAddr().String()] = c
	return c, nil
}

// watchThrough watches f through a wire.
func watchThrough(t *testing.T, f *fakeAPI) (*wire, *watching) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x := &wire{Listener: l, conns: map[string]*cable{}, route: func() *fakeAPI { return f }}
	x.wg.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			c, err := x.connect(near)
			if err != nil {
				near.Close()
				continue
			}
			far := c.ends[1]
			x.wg.Go(func() { c.carry(near, far) })
			x.wg.Go(func() { c.carry(far, near) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		x.mu.Lock()
		for _, c := range x.conns {
			c.thaw()
		}
		x.mu.Unlock()
		x.wg.Wait()
	})
	path := strings.TrimPrefix(f.URL, "https://")
	cfg, err := LoadConfig(Options{Path: f.kubeconfig()})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(cfg.rest.Host, path) {
		t.Fatalf("the kubeconfig leads to %s", cfg.rest.Host)
	}
	cfg.rest.Host = strings.Replace(cfg.rest.Host, path, l.Addr().String(), 1)
	return x, watchConfig(t, cfg)
}

func (c *cable) carry(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		c.of.mu.Lock()
		thawed, delay := c.thawed, c.delay
		c.of.mu.Unlock()
		<-thawed
		time.Sleep(delay)
		if _, failed := to.Write(buf[:n]); err != nil || failed != nil {
			return
		}
	}
}

// thaw lets through what was kept; the wire is locked.
func (c *cable) thaw() {
	select {
	case <-c.thawed:
	default:
		close(c.thawed)
	}
}

// leads has new connections lead elsewhere.
func (x *wire) leads(route func() *fakeAPI) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.route = route
}

// cut ends all connections.
func (x *wire) cut() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.conns {
		c.ends[0].Close()
	}
}

// of gives the connection that a resource was asked for on last.
func (x *wire) of(f *fakeAPI, resource string, do func(*cable)) {
	f.mu.Lock()
	from := f.from[resource]
	f.mu.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	do(x.conns[from])
}

func freeze(c *cable) { c.thawed = make(chan struct{}) }

// beat renews the Leases of nodes each second, as kubelets with leases of 4 s do, with leases of 10 s.
func (w *watching) beat(f *fakeAPI, nodes ...string) (stop func()) {
	ended, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			f.put("leases", apiLease(nodes[i%len(nodes)], 10))
			select {
			case <-ended:
				return
			case <-time.After(time.Second / time.Duration(len(nodes))):
			}
		}
	}()
	stop = sync.OnceFunc(func() { close(ended); <-stopped })
	w.t.Cleanup(stop)
	return stop
}

// TestWatcherReportsStuckHeartbeats: their last state keeps its age, no node becomes
// silent because of it, and the other connection continues.
func TestWatcherReportsStuckHeartbeats(t *testing.T) {
	testenv.Long(t, 9)
	t.Parallel()
	f := newFakeAPI(t)
	fill16(f)
	x, w := watchThrough(t, f)
	w.until("everything", synced)
	w.beat(f, "kube-node1", "kube-node2", "kube-node3", "kube-node4")
	w.until("heartbeats", func(s *Snapshot) bool { return s.Node("kube-node4").LeaseDuration == 10*time.Second })
	frozen := time.Now()
	x.of(f, "leases", freeze)
	stuck := w.until("heartbeats are stuck", func(s *Snapshot) bool { return s.Access[KindLease].Err != "" }).Access[KindLease]
	if !strings.Contains(stuck.Err, "is stuck") || stuck.Until.After(frozen.Add(time.Second)) {
		t.Errorf("since %v after it froze: %q", stuck.Until.Sub(frozen), stuck.Err)
	}
	f.put("deployments", apiDeployment(8))
	w.untilTold("deployment default/web replicas: 16/16 → 8/16")
	w.until("heartbeats again", func(s *Snapshot) bool {
		a := s.Access[KindLease]
		if a.Err != "" && !a.Until.Equal(stuck.Until) {
			t.Fatalf("they are as of %v, then as of %v", stuck.Until, a.Until)
		}
		if s.Link.State != LinkLive {
			t.Fatalf("all is lost: %+v", s.Link)
		}
		return a.Err == ""
	})
	back := time.Now()
	w.until("a heartbeat", func(s *Snapshot) bool { _, seen := s.Node("kube-node1").Heartbeat(); return seen.After(back) })
	if told := strings.Join(w.told(), "\n"); strings.Contains(told, heartbeatOverdue) {
		t.Errorf("silence is concluded from a line that is stuck:\n%s", told)
	}
}

// TestAskNeedsAnAnswerOnEveryConnection: recent data may still be wrong.
func TestAskNeedsAnAnswerOnEveryConnection(t *testing.T) {
	t.Parallel()
	for _, resource := range []string{"pods", "leases"} {
		f := newFakeAPI(t)
		fill16(f)
		x, w := watchThrough(t, f)
		w.until("everything", synced)
		if err := w.Confirm(t.Context()); err != nil {
			t.Errorf("an API server that answers: %v", err)
		}
		x.of(f, resource, freeze)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		err := w.Confirm(ctx)
		cancel()
		if age, known := w.Snapshot().Age(KindNode, time.Now()); err == nil || !known || age > 3*time.Second {
			t.Errorf("the connection of %s is stuck, and the data is %s old: %v", resource, age, err)
		}
		x.of(f, resource, (*cable).thaw)
		if err := w.Confirm(t.Context()); err != nil {
			t.Errorf("the connection of %s works again: %v", resource, err)
		}
	}
}

// A watch can be stuck while its connection answers. Then the nodes that lightsout shows
// are old, and only a list of them tells.
func TestAskNeedsTheNodesThatTheServerHas(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	fill16(f)
	_, w := watchThrough(t, f)
	w.until("everything", synced)
	f.mu.Lock() // no watch delivers this
	was := f.objects["nodes"]["/kube-node1"]
	tainted := was.DeepCopyObject().(*corev1.Node)
	tainted.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoSchedule}}
	f.objects["nodes"]["/kube-node1"] = tainted
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	err := w.Confirm(ctx)
	cancel()
	if err == nil || !strings.Contains(err.Error(), "kube-node1") {
		t.Errorf("the watch of the nodes is stuck: %v", err)
	}
	f.put("nodes", tainted)
	if err := w.Confirm(t.Context()); err != nil {
		t.Errorf("the watch of the nodes works again: %v", err)
	}
}

// TestTheAgeOfALostServerNeverRunsBackwards: heartbeats still come.
func TestTheAgeOfALostServerNeverRunsBackwards(t *testing.T) {
	testenv.Long(t, 9)
	t.Parallel()
	f := newFakeAPI(t)
	fill16(f)
	x, w := watchThrough(t, f)
	w.until("everything", synced)
	w.beat(f, "kube-node1", "kube-node2", "kube-node3", "kube-node4")
	w.until("heartbeats", func(s *Snapshot) bool { return s.Node("kube-node4").LeaseDuration == 10*time.Second })
	frozen := time.Now()
	x.of(f, "pods", freeze)
	w.checkLink(mainLine)
	lost := w.until("lost", func(s *Snapshot) bool { return s.Link.State == LinkDisconnected })
	if at := lost.Contact(); at.After(frozen.Add(time.Second)) || !strings.Contains(lost.Link.Err, "does not answer") {
		t.Errorf("heard %v after it froze: %q", at.Sub(frozen), lost.Link.Err)
	}
	w.until("live again", func(s *Snapshot) bool {
		if s.Link.State == LinkDisconnected && !s.Contact().Equal(lost.Link.LastContact) {
			t.Fatalf("heard at %v, then at %v", lost.Link.LastContact, s.Contact())
		}
		if a := s.Access[KindLease]; a.Err != "" {
			t.Fatalf("heartbeats: %+v", a)
		}
		return s.Link.State == LinkLive
	})
	f.put("deployments", apiDeployment(8))
	w.untilTold("deployment default/web replicas: 16/16 → 8/16")
	if told := strings.Join(w.told(), "\n"); strings.Contains(told, heartbeatOverdue) {
		t.Errorf("nodes are silent:\n%s", told)
	}
}

package cluster

import (
	"bytes"
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"lightsout/internal/testenv"
)

// kernelConn keeps what has come until it is read.
type kernelConn struct {
	net.Conn
	mu   sync.Mutex
	kept bytes.Buffer
	news chan struct{}
}

func (c *kernelConn) receive(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept.WriteString(text)
	select {
	case c.news <- struct{}{}:
	default:
	}
}

func (c *kernelConn) Read(p []byte) (int, error) {
	for {
		c.mu.Lock()
		n, _ := c.kept.Read(p)
		c.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		if _, more := <-c.news; !more {
			return 0, net.ErrClosed
		}
	}
}

func (c *kernelConn) Close() error {
	close(c.news)
	return nil
}

func TestAStreamOfHeartbeatsIsReadAtAPaceAndALoneOneAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kernel := &kernelConn{news: make(chan struct{}, 1)}
		c := paced(kernel)
		reads := make(chan string, 1000)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for p := make([]byte, 100); ; {
				n, err := c.Read(p)
				if err != nil {
					return
				}
				reads <- string(p[:n])
			}
		}()
		got := func() string { synctest.Wait(); return <-reads }
		for range 10 { // the list
			kernel.receive("list")
			if got() != "list" {
				t.Error("the list is not read at once")
			}
		}
		time.Sleep(readFreely)
		for range 3 {
			kernel.receive("lone")
			if got() != "lone" {
				t.Error("a lone heartbeat is not read at once")
			}
			time.Sleep(time.Second)
		}
		for range 1000 {
			kernel.receive("a")
			time.Sleep(10 * time.Millisecond)
		}
		if n := len(reads); n < 38 || n > 42 {
			t.Errorf("a stream of 10 s is read %d times", n)
		}
		for range 50 { // a pause is on
			kernel.receive(strings.Repeat("b", 10))
		}
		time.Sleep(readEvery)
		before := time.Now()
		c.Close()
		if <-ended; time.Since(before) != 0 {
			t.Errorf("a pause goes on for %v after Close", time.Since(before))
		}
	})
}

// stuckConn is a connection on which nothing comes any more, when it is stuck.
type stuckConn struct {
	net.Conn
	stuck  atomic.Bool
	closed chan struct{}
	once   sync.Once
}

func (c *stuckConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.stuck.Load() {
		<-c.closed
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *stuckConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// TestALineThatIsStuckIsGivenUp: the other line goes on, and says nothing about it.
func TestALineThatIsStuckIsGivenUp(t *testing.T) {
	testenv.Long(t, 9)
	t.Parallel()
	for resource, changes := range map[string]func(*fakeAPI, *watching){
		"leases": func(_ *fakeAPI, w *watching) {
			w.until("lost", func(s *Snapshot) bool { return s.Link.State == LinkLost })
		},
		"deployments": func(f *fakeAPI, w *watching) {
			f.put("deployments", apiDeployment(8))
			w.untilTold("deployment default/web replicas: 16/16 → 8/16")
		},
	} {
		t.Run(resource, func(t *testing.T) {
			t.Parallel()
			f := newFakeAPI(t)
			fill16(f)
			beating, stop := context.WithCancel(t.Context())
			defer stop()
			go func() {
				for beating.Err() == nil {
					f.put("leases", apiLease("kube-node1", 4))
					select {
					case <-beating.Done():
					case <-time.After(100 * time.Millisecond):
					}
				}
			}()
			var mu sync.Mutex
			var conns []*stuckConn
			cfg, err := LoadConfig(Options{Path: f.kubeconfig(), Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				c, err := (&net.Dialer{}).DialContext(ctx, network, address)
				if err != nil {
					return nil, err
				}
				s := &stuckConn{Conn: c, closed: make(chan struct{})}
				mu.Lock()
				defer mu.Unlock()
				conns = append(conns, s)
				return s, nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			w := watchConfig(t, cfg)
			w.until("everything", synced)
			var from string
			f.change(func() { from = f.from[resource] })
			mu.Lock()
			i := slices.IndexFunc(conns, func(c *stuckConn) bool { return c.LocalAddr().String() == from })
			conns[i].stuck.Store(true)
			mu.Unlock()
			changes(f, w)
			w.until("live again", func(s *Snapshot) bool { return s.Link.State == LinkLive })
			if told := strings.Join(w.told(), "\n"); strings.Contains(told, HeartbeatOverdue) {
				t.Errorf("silence is concluded from a line that is stuck:\n%s", told)
			}
		})
	}
}

package loadgen

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// netnsEnv asks for the tests against hosts that are really dead.
const netnsEnv = "LIGHTSOUT_NETNS"

// deadHost is a server on a machine of its own, a network namespace, whose
// cable can be cut.
type deadHost struct {
	t            *testing.T
	near, far    string // namespaces
	vNear, vFar  string // their ends of the cable
	addr         string // of the server
	mu           sync.Mutex
	reachedPaths map[string]int
}

// newDeadHost sets up two namespaces joined by a cable, and a server in the far
// one: /silent never answers, /stream sends a line each 100 ms, other paths
// answer at once. It skips the test where nobody has asked for it: it needs root
// and ip (iproute2).
func newDeadHost(t *testing.T) *deadHost {
	if os.Getenv(netnsEnv) != "1" {
		t.Skipf("needs root and network namespaces: set %s=1", netnsEnv)
	}
	tag := fmt.Sprintf("%d", os.Getpid()%10000)
	h := &deadHost{t: t, near: "lo-near-" + tag, far: "lo-far-" + tag, vNear: "loN" + tag, vFar: "loF" + tag,
		reachedPaths: map[string]int{}}
	h.ip("netns", "add", h.near)
	t.Cleanup(func() { h.ip("netns", "del", h.near) })
	h.ip("netns", "add", h.far)
	t.Cleanup(func() { h.ip("netns", "del", h.far) })
	h.ip("-n", h.near, "link", "add", h.vNear, "type", "veth", "peer", "name", h.vFar, "netns", h.far)
	for _, v := range []struct{ ns, dev, addr string }{{h.near, h.vNear, "10.77.0.1/24"}, {h.far, h.vFar, "10.77.0.2/24"}} {
		h.ip("-n", v.ns, "addr", "add", v.addr, "dev", v.dev)
		h.ip("-n", v.ns, "link", "set", v.dev, "up")
		h.ip("-n", v.ns, "link", "set", "lo", "up")
	}
	var ln net.Listener
	err := within(h.far, func() (err error) { ln, err = net.Listen("tcp", "10.77.0.2:8080"); return err })
	if err != nil {
		t.Fatal(err)
	}
	h.addr = ln.Addr().String()
	s := &http.Server{Handler: h, Protocols: new(http.Protocols)}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	var wg sync.WaitGroup
	wg.Go(func() { s.Serve(ln) })
	t.Cleanup(func() { s.Close(); wg.Wait() })
	return h
}

func (h *deadHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	h.mu.Lock()
	h.reachedPaths[r.URL.Path]++
	h.mu.Unlock()
	switch r.URL.Path {
	case "/silent":
		<-r.Context().Done()
	case "/stream":
		for r.Context().Err() == nil {
			io.WriteString(w, "data: x\n\n")
			w.(http.Flusher).Flush()
			select {
			case <-time.After(100 * time.Millisecond):
			case <-r.Context().Done():
			}
		}
	default:
		io.WriteString(w, "ok")
	}
}

func (h *deadHost) reached(path string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reachedPaths[path]
}

func (h *deadHost) ip(args ...string) {
	h.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		h.t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// cut takes the far end of the cable down, and plugs it in again.
func (h *deadHost) cut(down bool) time.Time {
	state := "up"
	if down {
		state = "down"
	}
	h.ip("-n", h.far, "link", "set", h.vFar, state)
	return time.Now()
}

// within runs f on a thread that is in a network namespace: sockets belong to
// the namespace of the thread that makes them.
func within(ns string, f func() error) error {
	result := make(chan error, 1)
	go func() {
		// Not unlocked: the thread ends with the goroutine, and the namespace with it.
		runtime.LockOSThread()
		fd, err := unix.Open("/run/netns/"+ns, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			result <- err
			return
		}
		defer unix.Close(fd)
		if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			result <- err
			return
		}
		result <- f()
	}()
	return <-result
}

// generator returns one that dials, as it does by default, from the near
// namespace.
func (h *deadHost) generator(o Options) (*Generator, *records) {
	recs := &records{}
	o.Record = recs.add
	dial := o.KeepAlive.withDefaults().dialer()
	o.Dial = func(ctx context.Context, network, addr string) (c net.Conn, err error) {
		err = within(h.near, func() (err error) { c, err = dial(ctx, network, addr); return err })
		return c, err
	}
	return start(h.t, o), recs
}

// A machine whose power is cut: what was in flight is found dead by the
// keep-alives, what is sent on its connections meanwhile too, and nothing new
// connects; each within a second of its bound.
func TestDeadHost(t *testing.T) {
	const aliveBound = 5 * time.Second // see KeepAlive
	for _, p := range []Protocol{HTTP1, HTTP2} {
		for _, kept := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s kept %v", strings.ReplaceAll(string(p), "/", ""), kept), func(t *testing.T) {
				h := newDeadHost(t)
				target := func(path string) Target {
					return Target{URL: "http://" + h.addr + path, Protocol: p, Reuse: kept}
				}
				silent, silentRecs := h.generator(Options{Target: target("/silent")})
				streams, streamRecs := h.generator(Options{Target: target("/stream")})
				quick, quickRecs := h.generator(Options{Target: target("/")})
				bounded, boundedRecs := h.generator(Options{Target: target("/silent"), KeepAlive: KeepAlive{Idle: -1, Unacked: -1, PingAfter: -1},
					Timeouts: Timeouts{FirstByte: 2 * time.Second}})

				mustStart(t, quick, Spec{Shape: Burst, N: 4}) // leaves idle connections when they are kept
				wait(t, quick)
				mustStart(t, silent, Spec{Shape: Burst, N: 3})
				mustStart(t, streams, Spec{Shape: Burst, N: 3})
				waitFor(t, "all at the server", func() bool { return h.reached("/silent") == 3 && h.reached("/stream") == 3 })
				waitFor(t, "the streams", func() bool { return streams.Run().Totals.Streaming == 3 })
				mustStart(t, bounded, Spec{Shape: Burst, N: 2})
				waitFor(t, "the bounded ones at the server", func() bool { return h.reached("/silent") == 5 })
				// Without TCP's own means, HTTP/2's ping finds it.
				pinged, pingedRecs := h.generator(Options{Target: target("/silent"), KeepAlive: KeepAlive{Idle: -1, Unacked: -1}})
				if p == HTTP2 {
					mustStart(t, pinged, Spec{Shape: Burst, N: 2})
					waitFor(t, "the pinged ones at the server", func() bool { return h.reached("/silent") == 7 })
				}
				cut := h.cut(true)
				mustStart(t, quick, Spec{Shape: Burst, N: 4})
				for _, g := range []*Generator{silent, streams, quick, bounded, pinged} {
					wait(t, g)
				}
				check := func(what string, list []Record, from func(Record) time.Time, least, bound time.Duration, want ...Class) {
					t.Helper()
					for _, r := range list {
						took := r.End.Sub(from(r))
						t.Logf("%s: %s after %v: %s", what, r.Class, took.Round(10*time.Millisecond), r.Error)
						ok := false
						for _, w := range want {
							ok = ok || r.Class == w
						}
						if !ok {
							t.Errorf("%s: class %q (%s), want %q", what, r.Class, r.Error, want)
						}
						// Without these bounds TCP takes a quarter of an hour. On a busy machine it
						// may begin to count late: when the first packet could not leave.
						if took > 4*bound || took < least {
							t.Errorf("%s: found after %v, the bound is %v", what, took, bound)
						}
					}
				}
				sinceCut := func(Record) time.Time { return cut }
				check("waiting", silentRecs.all(), sinceCut, 0, aliveBound, ClassPeerDead)
				check("streaming", streamRecs.all(), sinceCut, 0, aliveBound, ClassPeerDead)
				check("pinged", pingedRecs.all(), sinceCut, 0, aliveBound, ClassPeerDead)
				check("with a bound", boundedRecs.all(), func(r Record) time.Time { return r.Sent }, 2*time.Second, 2*time.Second, ClassFirstByte)
				after := quickRecs.all()[4:]
				var reused, fresh []Record
				for _, r := range after {
					if r.Reused {
						reused = append(reused, r)
					} else {
						fresh = append(fresh, r)
					}
				}
				if kept != (len(reused) > 0) {
					t.Errorf("%d on kept connections", len(reused))
				}
				check("sent into the void", reused, func(r Record) time.Time { return r.Sent }, 0, aliveBound, ClassPeerDead)
				check("connecting", fresh, func(r Record) time.Time { return r.Dial }, 0, 3*time.Second, ClassConnectTimeout, ClassUnreachable)

				// The machine comes back: new requests are served again.
				h.cut(false)
				waitFor(t, "requests to be ok again", func() bool {
					mustStart(t, quick, Spec{Shape: Burst, N: 1})
					wait(t, quick)
					return quick.Run().Totals.OK > 4
				})
			})
		}
	}
}

// Nobody listens, and nobody is there: refused, and unreachable.
func TestAbsentHost(t *testing.T) {
	h := newDeadHost(t)
	for addr, want := range map[string]Class{
		"10.77.0.2:81": ClassRefused,
		"10.77.0.9:80": ClassUnreachable, // ARP goes unanswered
		"10.78.0.1:80": ClassUnreachable, // no route
	} {
		g, recs := h.generator(Options{Target: Target{URL: "http://" + addr}, Timeouts: Timeouts{Connect: 8 * time.Second}})
		mustStart(t, g, Spec{Shape: Burst, N: 1})
		wait(t, g)
		r := recs.all()[0]
		t.Logf("%s: %s after %v: %s", addr, r.Class, r.End.Sub(r.Dial).Round(time.Millisecond), r.Error)
		if r.Class != want {
			t.Errorf("%s: class %q (%s), want %q", addr, r.Class, r.Error, want)
		}
	}
}

package simulator

import (
	"bytes"
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/session"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// target is the service that receives a trial's requests: an entry that always answers,
// and a pod on each worker. The entry passes a request to a pod whose node is Ready. A
// pod whose machine loses power stops answering, and nobody closes its connections.
type target struct {
	p  *process
	mu sync.Mutex
	// hung lists the requests without an answer.
	hung []*hung
}

// hung is a request to a machine that lost power before it answered.
type hung struct {
	node     string
	from, to time.Time // when it was sent and abandoned; zero while it waits
}

// requestTimeout is when a client abandons a request.
const requestTimeout = 2 * time.Minute

// generator returns a generator with the target.
func (t *target) generator(rec *session.RecordWriter) *loadgen.Generator {
	g, err := loadgen.New(loadgen.Options{
		Target: loadgen.Target{URL: "http://web.example/"}, Timeouts: loadgen.Timeouts{Total: requestTimeout}, Dial: t.dial, Record: rec.Request,
	})
	if err != nil {
		panic(err)
	}
	return g
}

func (t *target) dial(context.Context, string, string) (net.Conn, error) {
	if err := t.p.gate(); err != nil {
		return nil, err
	}
	client, server := net.Pipe()
	t.p.w.serving.Go(func() { t.serve(server) })
	return client, nil
}

// serve answers the request on a connection.
func (t *target) serve(c net.Conn) {
	defer c.Close()
	var head []byte
	for buf := make([]byte, 4096); !bytes.Contains(head, []byte("\r\n\r\n")); {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		head = append(head, buf[:n]...)
	}
	w := t.p.w
	r := w.dice("request " + t.p.name)
	ready := w.endpoints()
	if len(ready) == 0 {
		_, _ = c.Write([]byte("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"))
		return
	}
	h := &hung{node: ready[r.IntN(len(ready))], from: time.Now()}
	time.Sleep(between(r, 2*time.Second, 8*time.Second))
	if w.ranSince(h.node, h.from) {
		_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
		return
	}
	t.mu.Lock()
	t.hung = append(t.hung, h)
	t.mu.Unlock()
	_, _ = c.Read(make([]byte, 1)) // until the client closes it
	t.mu.Lock()
	defer t.mu.Unlock()
	h.to = time.Now()
}

// endpoints returns the workers whose pods are ready for the API server.
func (w *world) endpoints() (names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	now := time.Now()
	for _, v := range w.vms {
		if !v.cp && now.Sub(v.beat(now)) <= notReadyAfter {
			names = append(names, v.name)
		}
	}
	return names
}

// ranSince reports whether a machine and its pods have run since a time.
func (w *world) ranSince(name string, from time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	s := w.vm(name).now()
	return s.on && !s.ready.After(from)
}

// judged checks a verdict: a trial passes only if no client waited in vain for longer
// than the plan allows.
func (x *site) judged(t *target, p *outage, sum *record.Summary) {
	if sum == nil {
		return
	}
	x.w.tell(t.p.name, "the verdict of the trial: %s %.200v", sum.Verdict, sum.Why)
	if sum.Verdict != view.Pass && sum.Verdict != view.NoExpectations || p.allows == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, h := range t.hung {
		if h.to.IsZero() {
			h.to = sum.Ended
		}
		if h.from.Before(sum.Zero) {
			h.from = sum.Zero
		}
		outage := slices.Contains(p.nodes, h.node) && !t.p.askedAfter(power.ActionOn, h.node, h.to) && t.p.askedAfter(power.ActionOn, h.node, h.from)
		if waited := h.to.Sub(h.from); outage && waited > p.allows+time.Second {
			x.w.broken(verdict, "%s: the verdict is pass, but a client of %s hung for %s through the outage", t.p.program(), h.node, waited.Round(time.Second))
			return
		}
	}
}

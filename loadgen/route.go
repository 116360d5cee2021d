package loadgen

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
)

// route is the way to the target: the bytes to write, and the address to dial.
type route struct {
	wire      *wire
	tls       *tls.Config
	transport *http.Transport // HTTP/2 only
	entries   []*entry
	turn      atomic.Uint64
}

// entry is one address at which requests enter the service, with the
// connections that are kept to it.
type entry struct {
	addr   string // host:port
	idle   idlePool
	shared sharedPool
}

func newEntry(addr string) *entry {
	return &entry{addr: addr, shared: sharedPool{dialing: make(chan struct{}, 1)}}
}

// newRoute makes the route to a target.
func (cl *client) newRoute(t Target) (*route, error) {
	w, err := newWire(t)
	if err != nil {
		return nil, err
	}
	rt := &route{wire: w}
	for _, a := range t.Entries {
		addr, err := entryAddr(a, w.addr)
		if err != nil {
			return nil, err
		}
		rt.entries = append(rt.entries, newEntry(addr))
	}
	if len(rt.entries) == 0 {
		rt.entries = []*entry{newEntry(w.addr)}
	}
	if w.tls {
		rt.tls = &tls.Config{}
		if cl.opts.TLS != nil {
			rt.tls = cl.opts.TLS.Clone()
		}
		rt.tls.ServerName = cmp.Or(rt.tls.ServerName, w.serverName)
		rt.tls.NextProtos = []string{"http/1.1"}
		if t.Protocol == HTTP2 {
			rt.tls.NextProtos = []string{"h2"}
		}
	}
	if t.Protocol == HTTP2 {
		rt.transport = cl.newTransport(rt)
	}
	return rt, nil
}

// entryAddr completes an entry's address with the target's port.
func entryAddr(a, target string) (string, error) {
	host, port, err := net.SplitHostPort(a)
	if err != nil {
		host = a
		if _, port, err = net.SplitHostPort(target); err != nil {
			return "", fmt.Errorf("load: the URL's port is not valid")
		}
		if len(host) > 2 && host[0] == '[' && host[len(host)-1] == ']' {
			host = host[1 : len(host)-1]
		}
	}
	if host == "" || port == "" {
		return "", fmt.Errorf("load: the entry %q is not valid: give an address with or without a port", clean(a, 80))
	}
	return net.JoinHostPort(host, port), nil
}

// enter picks the entry of a request: each in turn.
func (rt *route) enter(r *request) *entry {
	if len(rt.entries) == 1 {
		return rt.entries[0]
	}
	e := rt.entries[int((rt.turn.Add(1)-1)%uint64(len(rt.entries)))]
	r.Entry = e.addr
	return e
}

// close closes the connections that are kept, when nobody uses them any more.
func (rt *route) close() {
	for _, e := range rt.entries {
		for _, c := range e.idle.conns {
			c.discard()
		}
		for _, c := range e.shared.conns {
			c.Close()
		}
	}
}

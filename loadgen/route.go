package loadgen

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
)

// route is a way to a server: what is written, and where to. The target is
// one; each place that it redirects to is another.
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

// maxRoutes bounds how many places redirects may lead to.
const maxRoutes = 64

// redirect returns the route to where an answer redirects to.
func (cl *client) redirect(from *route, status int, location string) (*route, error) {
	base, err := url.Parse(from.wire.target.URL)
	if err != nil {
		return nil, fmt.Errorf("load: the redirect can't be followed")
	}
	u, err := base.Parse(location)
	if err != nil {
		return nil, fmt.Errorf("the redirect to %q can't be followed", clean(location, 80))
	}
	t := from.wire.target
	t.URL = u.String()
	if u.Host != base.Host || u.Scheme != base.Scheme {
		// Another server gets no header that was set for this one, since each
		// may hold a secret, and has its own address.
		t.Host, t.APIKey, t.Entries, t.Header = "", "", nil, nil
	} else {
		u.User = base.User
		t.URL = u.String()
	}
	method := from.wire.request.Method
	if status < 307 && method != http.MethodGet && method != http.MethodHead {
		// RFC 9110, section 15.4: as every browser does.
		t.Profile, t.Method, t.Body = HTTP, http.MethodGet, nil
	}
	// With and without the key are two ways to the same place.
	key := fmt.Sprint(t.APIKey != "", " ", t.Method, " ", t.URL)
	cl.routesMu.Lock()
	defer cl.routesMu.Unlock()
	if rt := cl.routes[key]; rt != nil {
		return rt, nil
	}
	if len(cl.routes) >= maxRoutes {
		return nil, fmt.Errorf("redirects lead to more than %d places", maxRoutes)
	}
	rt, err := cl.newRoute(t)
	if err != nil {
		return nil, fmt.Errorf("the redirect to %q can't be followed", clean(location, 80))
	}
	cl.routes[key] = rt
	return rt, nil
}

// closeRoutes closes the connections of all routes, when no request is left.
func (cl *client) closeRoutes() {
	cl.route.close()
	for _, rt := range cl.routes {
		rt.close()
	}
}

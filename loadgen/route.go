package loadgen

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode"
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
	addresses, err := Addresses(t.URL, t.Entries)
	if err != nil {
		return nil, err
	}
	for _, a := range addresses {
		rt.entries = append(rt.entries, newEntry(a))
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
		rt.transport = cl.newTransport()
	}
	return rt, nil
}

// parseURL parses a target's URL, and returns the address to dial for it.
func parseURL(target string) (u *url.URL, addr string, err error) {
	u, err = url.Parse(target)
	if err != nil {
		// The error of url.Parse quotes the URL, which may hold a password.
		return nil, "", fmt.Errorf("load: the URL can't be parsed: give one like http://10.0.0.11:31080/path")
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nil, "", fmt.Errorf("load: the URL must be absolute and begin with http:// or https://")
	}
	addr, err = hostPort(u.Hostname(), portOf(u))
	if err != nil {
		return nil, "", fmt.Errorf("load: the URL's %w", err)
	}
	return u, addr, nil
}

func portOf(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

// Addresses returns what lightsout dials for a target, as host:port: its entries, which
// have the URL's port unless they have one of their own, or the URL's host.
func Addresses(target string, entries []string) ([]string, error) {
	u, addr, err := parseURL(target)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return []string{addr}, nil
	}
	var out []string
	for _, e := range entries {
		host, own, err := net.SplitHostPort(e)
		if err != nil {
			host, own = strings.TrimSuffix(strings.TrimPrefix(e, "["), "]"), portOf(u)
		}
		addr, err := hostPort(host, own)
		if err != nil || strings.ContainsAny(host, "/ \t") {
			return nil, fmt.Errorf("load: the entry %q is not valid: give an address with or without a port", clean(e, 80))
		}
		out = append(out, addr)
	}
	return out, nil
}

// hostPort joins a host and a port. A name is in the ASCII form that DNS has.
func hostPort(host, port string) (string, error) {
	foreign := strings.ContainsFunc(host, func(r rune) bool { return r > unicode.MaxASCII })
	if _, ip := netip.ParseAddr(host); foreign || host == "" || ip != nil && strings.Contains(host, ":") {
		return "", fmt.Errorf("host %q is not a name or an address", clean(host, 80))
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("port %q is not a number from 1 to 65535", clean(port, 20))
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

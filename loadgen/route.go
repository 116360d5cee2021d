package loadgen

import (
	"cmp"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// entry is one address at which requests enter the service, with the
// connections that are kept to it.
type entry struct {
	addr   string // host:port
	idle   idlePool
	shared sharedPool
}

// newClient makes the client for a target.
func newClient(c *common) (*client, error) {
	t := &c.opts.Target
	u, _, err := parseURL(t.URL)
	if err != nil {
		return nil, err
	}
	id := strings.ToLower(rand.Text())
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	cl := &client{common: c, idPrefix: id[:8], shown: clean(shown.String(), maxErrorText)}
	for i := range cl.messages {
		cl.messages[i], err = cl.newMessages(id, i == 1)
		if err != nil {
			return nil, err
		}
	}
	cl.mask = maskOf(*t, u, cl.template.Header.Get("Authorization"))
	addresses, err := Addresses(t.URL, t.Entries)
	if err != nil {
		return nil, err
	}
	for _, a := range addresses {
		cl.entries = append(cl.entries, &entry{addr: a, shared: sharedPool{dialing: make(chan struct{}, 1)}})
	}
	if u.Scheme == "https" {
		cl.tls = &tls.Config{}
		if c.opts.TLS != nil {
			cl.tls = c.opts.TLS.Clone()
		}
		cl.tls.ServerName = cmp.Or(cl.tls.ServerName, u.Hostname())
		cl.tls.NextProtos = []string{string(t.Protocol)}
	}
	if t.Protocol == HTTP2 {
		cl.transport = cl.newTransport()
	}
	return cl, nil
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
func Addresses(target string, entries []string) (out []string, err error) {
	u, addr, err := parseURL(target)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return []string{addr}, nil
	}
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
func (cl *client) enter(r *flight) *entry {
	if len(cl.entries) == 1 {
		return cl.entries[0]
	}
	e := cl.entries[(cl.turn.Add(1)-1)%uint64(len(cl.entries))]
	r.Entry = e.addr
	return e
}

// close closes the connections that are kept, when nobody uses them any more.
func (cl *client) close() {
	for _, e := range cl.entries {
		for _, c := range e.idle.conns {
			c.discard()
		}
		for _, c := range e.shared.conns {
			c.Close()
		}
	}
}

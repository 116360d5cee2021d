package network

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Times after which a dial gives up by itself, as Linux does: an address
// that no host has fails when its neighbour discovery does (three probes, one
// second apart), a silent host when its SYN retries are used up
// (tcp_syn_retries=6).
const (
	unreachableAfter = 3 * time.Second
	synTimeout       = 127 * time.Second
)

// backlog is the number of connections that wait to be accepted, as Linux's
// net.core.somaxconn. A dial beyond it waits.
const backlog = 4096

// ErrPowerCut is what everything on a host without power gets: reads, writes,
// accepts and dials of its own. The other side of a connection never sees it.
var ErrPowerCut = errors.New("the host has no power")

// Network is a set of hosts that can reach each other. It is safe for use by
// several goroutines at once.
type Network struct {
	mu      sync.Mutex
	byIP    map[netip.Addr]*Host
	byName  map[string]*Host
	changed chan struct{} // closed, and made anew, when a waiting dial should look again
}

// New returns a network without hosts.
func New() *Network {
	return &Network{
		byIP:    map[netip.Addr]*Host{},
		byName:  map[string]*Host{},
		changed: make(chan struct{}),
	}
}

// AddHost adds a host that is powered on and keeps ips for good. A name or an
// address that is taken moves to the new host. Strings that are no IP
// addresses are ignored.
func (n *Network) AddHost(name string, ips ...string) *Host {
	h := &Host{
		network:   n,
		name:      name,
		up:        true,
		listeners: map[*listener]struct{}{},
		conns:     map[*conn]struct{}{},
		nextPort:  32768,
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.byName[name] = h
	for _, s := range ips {
		ip, err := netip.ParseAddr(s)
		if err != nil {
			continue
		}
		h.own = append(h.own, ip)
		h.ips = append(h.ips, ip)
		n.byIP[ip] = h
	}
	n.wake()
	return h
}

// wake makes waiting dials look again. It is called with n.mu held.
func (n *Network) wake() {
	close(n.changed)
	n.changed = make(chan struct{})
}

// resolve splits addr and turns a host's name into its first address.
func (n *Network) resolve(addr string) (netip.AddrPort, error) {
	name, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return netip.AddrPort{}, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return netip.AddrPort{}, &net.AddrError{Err: "invalid port", Addr: addr}
	}
	ip, err := netip.ParseAddr(name)
	if err != nil {
		n.mu.Lock()
		h := n.byName[name]
		var own []netip.Addr
		if h != nil {
			own = h.own
		}
		n.mu.Unlock()
		if len(own) == 0 {
			return netip.AddrPort{}, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
		}
		ip = own[0]
	}
	return netip.AddrPortFrom(ip.Unmap(), uint16(port)), nil
}

// dial connects from h to addr. See Host.DialContext.
func (n *Network) dial(ctx context.Context, h *Host, network, addr string) (net.Conn, error) {
	fail := func(to net.Addr, err error) error {
		return &net.OpError{Op: "dial", Net: network, Addr: to, Err: err}
	}
	switch network {
	case "tcp", "tcp4", "tcp6":
	default:
		return nil, fail(nil, net.UnknownNetworkError(network))
	}
	target, err := n.resolve(addr)
	if err != nil {
		return nil, fail(nil, err)
	}
	to := net.TCPAddrFromAddrPort(target)
	start := time.Now()
	for {
		n.mu.Lock()
		changed := n.changed
		if !h.up {
			n.mu.Unlock()
			return nil, fail(to, ErrPowerCut)
		}
		peer := n.byIP[target.Addr()]
		if peer != nil && peer.up && (peer == h || !peer.detached && !h.detached) {
			l := peer.listening(target)
			if l == nil {
				n.mu.Unlock()
				return nil, fail(to, os.NewSyscallError("connect", syscall.ECONNREFUSED))
			}
			if l.forward != nil {
				n.mu.Unlock()
				c, err := n.through(ctx, h, l, to, start)
				if errors.Is(err, ErrPowerCut) {
					continue // of the host that forwards: as any other that is silent
				}
				if err != nil {
					return nil, fail(to, err)
				}
				return c, nil
			}
			if len(l.queue) < backlog {
				near, far := connect(h, peer, to)
				l.queue <- far // has room: only filled under n.mu
				n.mu.Unlock()
				return near, nil
			}
		}
		n.mu.Unlock()

		limit, give := synTimeout, syscall.ETIMEDOUT
		if peer == nil {
			limit, give = unreachableAfter, syscall.EHOSTUNREACH
		}
		wait := limit - time.Since(start)
		if wait <= 0 {
			return nil, fail(to, os.NewSyscallError("connect", give))
		}
		select {
		case <-ctx.Done():
			return nil, fail(to, ctx.Err())
		case <-changed:
		case <-time.After(wait):
		}
	}
}

// through connects from h by way of a host that forwards.
func (n *Network) through(ctx context.Context, h *Host, l *listener, to *net.TCPAddr, start time.Time) (net.Conn, error) {
	within, cancel := context.WithDeadline(ctx, start.Add(synTimeout))
	defer cancel()
	server, err := l.forward.to(within)
	var errno syscall.Errno
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case within.Err() != nil:
		return nil, os.NewSyscallError("connect", syscall.ETIMEDOUT)
	case errors.As(err, &errno):
		return nil, os.NewSyscallError("connect", errno)
	default:
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !h.up || !l.host.up {
		go server.Close()
		return nil, ErrPowerCut
	}
	near, far := connect(h, l.host, to)
	go l.forward.join(far, server)
	return near, nil
}

// Host is one machine on the network, or anything else that has an address of
// its own. It is safe for use by several goroutines at once.
type Host struct {
	network *Network
	name    string

	// Guarded by network.mu.
	up        bool
	own       []netip.Addr // for good
	ips       []netip.Addr // own, and those of AddIP
	listeners map[*listener]struct{}
	conns     map[*conn]struct{} // this host's ends
	silenced  []*conn            // the other ends of connections that a power cut froze
	detached  bool
	apart     []*conn // this host's ends of connections that Detach has parted
	nextPort  uint16
}

// Name returns the host's name.
func (h *Host) Name() string { return h.name }

// Up reports whether the host has power.
func (h *Host) Up() bool {
	h.network.mu.Lock()
	defer h.network.mu.Unlock()
	return h.up
}

// AddIP gives the host a further address until RemoveIP or Boot. It is how a
// pod's address comes to its node. A string that is no IP address is ignored.
func (h *Host) AddIP(ip string) {
	a, err := netip.ParseAddr(ip)
	if err != nil {
		return
	}
	n := h.network
	n.mu.Lock()
	defer n.mu.Unlock()
	h.drop(a)
	h.ips = append(h.ips, a)
	n.byIP[a] = h
	n.wake()
}

// RemoveIP takes an address away, and closes what listens on it and the
// connections that it has.
func (h *Host) RemoveIP(ip string) {
	a, err := netip.ParseAddr(ip)
	if err != nil {
		return
	}
	n := h.network
	n.mu.Lock()
	h.drop(a)
	var listeners []*listener
	for l := range h.listeners {
		if l.at.Addr() == a {
			listeners = append(listeners, l)
		}
	}
	var conns []*conn
	for c := range h.conns {
		if c.local.AddrPort().Addr() == a {
			conns = append(conns, c)
		}
	}
	n.mu.Unlock()
	for _, l := range listeners {
		l.Close()
	}
	for _, c := range conns {
		c.Close()
	}
}

// drop removes an address. It is called with network.mu held.
func (h *Host) drop(a netip.Addr) {
	h.ips = slices.DeleteFunc(h.ips, func(ip netip.Addr) bool { return ip == a })
	if h.network.byIP[a] == h {
		delete(h.network.byIP, a)
	}
}

// DialContext connects from this host to addr ("10.0.0.11:22" or
// "kube-node1:22"); network is "tcp" or "tcp4". Errors are *net.OpError.
//
// It fails with syscall.ECONNREFUSED when the target is up and nothing
// listens there. It hangs until ctx ends when the target has no power (and
// connects if it comes back in time); without an end to ctx it gives up with
// ETIMEDOUT after 127 s. An address that no host has is EHOSTUNREACH after
// 3 s. From a host without power it fails with ErrPowerCut.
func (h *Host) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return h.network.dial(ctx, h, network, addr)
}

// Listen listens on one of the host's addresses ("10.0.0.11:22"), or on all
// of them, those that come later included (":22"). Port 0 takes a free one.
// It fails with EADDRINUSE, with EADDRNOTAVAIL when the address is not the
// host's, and with ErrPowerCut when the host has no power. Boot ends it.
func (h *Host) Listen(addr string) (net.Listener, error) { return h.listen(addr, nil) }

// Forward leads connections to one of the host's addresses on, as a kernel's
// address translation does: a dial to it is answered only when to, which the
// host calls on behalf of the client, has connected, and fails as that fails.
// What passes then is join's, which must close both. Errors are as those of
// Listen; closing it, or a boot, leaves the connections alone.
func (h *Host) Forward(addr string, to func(context.Context) (net.Conn, error), join func(client, server net.Conn)) (io.Closer, error) {
	return h.listen(addr, &forward{to: to, join: join})
}

func (h *Host) listen(addr string, onward *forward) (*listener, error) {
	fail := func(err error) error { return &net.OpError{Op: "listen", Net: "tcp", Err: err} }
	name, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fail(err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fail(&net.AddrError{Err: "invalid port", Addr: addr})
	}
	ip := netip.IPv4Unspecified()
	if name != "" {
		if ip, err = netip.ParseAddr(name); err != nil {
			return nil, fail(&net.AddrError{Err: "not an IP address", Addr: addr})
		}
		ip = ip.Unmap()
	}

	n := h.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if !h.up {
		return nil, fail(ErrPowerCut)
	}
	if !ip.IsUnspecified() && n.byIP[ip] != h {
		return nil, fail(os.NewSyscallError("bind", syscall.EADDRNOTAVAIL))
	}
	if port == 0 {
		port = uint64(h.port())
	}
	at := netip.AddrPortFrom(ip, uint16(port))
	for l := range h.listeners {
		if l.at == at {
			return nil, fail(fmt.Errorf("%s: %w", at, os.NewSyscallError("bind", syscall.EADDRINUSE)))
		}
	}
	l := &listener{host: h, at: at, forward: onward, queue: make(chan *conn, backlog), done: make(chan struct{})}
	h.listeners[l] = struct{}{}
	return l, nil
}

// port returns the next ephemeral port. It is called with network.mu held.
func (h *Host) port() uint16 {
	p := h.nextPort
	h.nextPort++
	if h.nextPort > 60999 {
		h.nextPort = 32768
	}
	return p
}

// listening returns who listens at a, an exact address before all of them. It
// is called with network.mu held.
func (h *Host) listening(a netip.AddrPort) *listener {
	var any *listener
	for l := range h.listeners {
		if l.at == a {
			return l
		}
		if l.at.Port() == a.Port() && l.at.Addr().IsUnspecified() {
			any = l
		}
	}
	return any
}

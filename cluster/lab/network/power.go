package network

import "time"

// keepAlive is how long an idle connection takes to learn from a keepalive
// probe that the other host has booted since: package net's default.
const keepAlive = 15 * time.Second

// Cut takes the host's power away. From this moment nothing comes from it: no
// FIN, no RST. The other ends of its connections freeze: what had arrived can
// still be read, then reads block; writes are swallowed until 256 KiB are
// under way, then block; deadlines and Close work. Dials to it hang. On the
// host itself every read, write and accept fails with ErrPowerCut, so that
// what ran there ends, with no effect outside. Cutting twice does nothing.
func (h *Host) Cut() {
	// All of them die before anything on the host learns of it: a program that did would
	// close its other connections, and their peers would see that.
	for _, c := range h.down((*conn).die) {
		c.cut()
	}
}

// Halt is the end of an orderly shutdown: the host's listeners and
// connections are closed, which the other ends see as the end of the stream,
// and then it is silent as after Cut. On a host without power it does nothing.
func (h *Host) Halt() {
	for _, c := range h.down(nil) {
		c.Close()
	}
	h.network.mu.Lock()
	h.silenced = nil // they were told
	h.network.mu.Unlock()
}

// down marks the host as without power, does first to each of its ends of
// connections, ends its listeners and returns the ends. first may be nil.
func (h *Host) down(first func(*conn)) []*conn {
	n := h.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if !h.up {
		return nil
	}
	h.up = false
	conns := make([]*conn, 0, len(h.conns))
	for c := range h.conns {
		if first != nil {
			first(c)
		}
		conns = append(conns, c)
		if c.peer.host != h {
			h.silenced = append(h.silenced, c.peer)
		}
	}
	clear(h.conns)
	for l := range h.listeners {
		l.end(ErrPowerCut)
	}
	clear(h.listeners)
	n.wake() // dials from this host
	return conns
}

// Boot gives the power back. The host has its own addresses, nothing
// listens, and it knows no connection: the other end of one that a power cut
// froze gets ECONNRESET as soon as it writes (at once if what it wrote is
// still unanswered), or else when a keepalive probe is due, 15 s later.
// Booting a host that is up does nothing.
func (h *Host) Boot() {
	n := h.network
	n.mu.Lock()
	if h.up {
		n.mu.Unlock()
		return
	}
	for _, ip := range h.ips {
		if n.byIP[ip] == h {
			delete(n.byIP, ip)
		}
	}
	h.ips = append(h.ips[:0:0], h.own...)
	for _, ip := range h.own {
		n.byIP[ip] = h
	}
	h.up = true
	silenced := h.silenced
	h.silenced = nil
	n.wake()
	n.mu.Unlock()

	for _, c := range silenced {
		c.forgotten()
	}
}

// Detach takes the host off the network, while it runs on. What is sent from and to other
// hosts is under way until Attach: writes succeed until 256 KiB wait, reads block, and
// dials hang. Connections within the host work on. Detaching twice does nothing.
func (h *Host) Detach() {
	n := h.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if h.detached {
		return
	}
	h.detached = true
	for c := range h.conns {
		if c.peer.host != h {
			h.apart = append(h.apart, c)
			c.part()
		}
	}
	n.wake() // the network is another one for dials
}

// Attach puts the host back on the network: what is under way arrives.
func (h *Host) Attach() {
	n := h.network
	n.mu.Lock()
	defer n.mu.Unlock()
	h.detached = false
	for _, c := range h.apart {
		c.meet()
	}
	h.apart = nil
	n.wake()
}

package loadgen

import (
	"cmp"
	"context"
	"net"
	"time"
)

// KeepAlive is the means by which a peer that has gone silent is found dead: a
// machine without power sends neither FIN nor RST. By default each of them
// takes 5 s. A request ended by one has the class "peer dead". Zero means the
// default, a negative value that this means is not used.
type KeepAlive struct {
	// Idle, Interval and Count are TCP_KEEPIDLE (default 2 s), TCP_KEEPINTVL
	// (1 s) and TCP_KEEPCNT (3): probes when nothing is unacknowledged. They
	// see the TCP peer, which behind a proxy is the proxy.
	Idle     time.Duration `json:"idle"`
	Interval time.Duration `json:"interval"`
	Count    int           `json:"count"`
	// Unacked is TCP_USER_TIMEOUT (tcp(7), Linux only): how long data may stay
	// unacknowledged. It overrides Count, so its default of 4.5 s makes the
	// probe at 5 s the one that decides.
	Unacked time.Duration `json:"unacked"`
	// PingAfter is the silence on an HTTP/2 connection after which a PING is
	// sent (default 2 s), PingTimeout the wait for its answer (3 s). Some gRPC
	// servers take such pings for an attack: give a negative PingAfter there.
	PingAfter   time.Duration `json:"ping_after"`
	PingTimeout time.Duration `json:"ping_timeout"`
}

// withDefaults fills in the defaults; a value that is switched off becomes 0.
func (a KeepAlive) withDefaults() KeepAlive {
	orDefault(&a.Idle, 2*time.Second)
	orDefault(&a.Interval, time.Second)
	orDefault(&a.Unacked, 4500*time.Millisecond)
	orDefault(&a.PingAfter, 2*time.Second)
	orDefault(&a.PingTimeout, 3*time.Second)
	a.Count = cmp.Or(a.Count, 3)
	return a
}

// orDefault fills in a default for 0; a negative value, which switches off,
// becomes 0.
func orDefault(d *time.Duration, byDefault time.Duration) {
	*d = max(cmp.Or(*d, byDefault), 0)
}

// dialer returns the way to dial straight TCP with these means.
func (a KeepAlive) dialer() func(ctx context.Context, network, addr string) (net.Conn, error) {
	d := &net.Dialer{KeepAlive: -1}
	if a.Idle > 0 && a.Count > 0 {
		d.KeepAliveConfig = net.KeepAliveConfig{Enable: true, Idle: a.Idle, Interval: a.Interval, Count: a.Count}
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, addr)
		if err == nil && a.Unacked > 0 {
			// Only now: it would bound the set-up of the connection as well.
			setUserTimeout(c, a.Unacked)
		}
		return c, err
	}
}

// FailsWithin is the longest time that a request takes to fail when the machine at the
// other end of its connection goes silent; 0: no limit. A proxy in between that keeps
// the connection open makes it longer.
func (g *Generator) FailsWithin(s Spec) time.Duration {
	o := g.opts
	silent, total := o.KeepAlive.Unacked+o.KeepAlive.Interval, cmp.Or(s.Timeout, o.Timeouts.Total)
	if o.Target.Protocol == HTTP2 {
		silent = o.KeepAlive.PingAfter + o.KeepAlive.PingTimeout
	}
	silent = max(silent, o.Timeouts.Connect)
	if silent == 0 || total == 0 {
		return max(silent, total)
	}
	return min(silent, total)
}

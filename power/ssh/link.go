package ssh

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	cryptossh "golang.org/x/crypto/ssh"
	"golang.org/x/sync/semaphore"
)

func causeOf(err error) cause {
	var e *ConnectError
	if errors.As(err, &e) {
		return e.cause
	}
	return causeOther
}

// link is the kept connection to one host on the way, reached through the link
// before it.
type link struct {
	client *Client
	host   host
	via    *link
	// unusable is the error of looking up the host; nil without an error.
	unusable error
	// session is held while a command runs on the host itself.
	session *semaphore.Weighted

	mu      sync.Mutex
	ssh     *cryptossh.Client // nil: not connected
	dialing *dialing          // nil: nobody is dialling
	err     error             // the last failure, nil once connected
	retryAt time.Time         // until then a failure to connect stands
	aliveAt time.Time         // the last sign of life
}

// dialing is an attempt that several may wait for.
type dialing struct {
	done chan struct{} // closed when ssh and err are set
	ssh  *cryptossh.Client
	err  error
}

// get returns the connection, and opens it if necessary. A caller that gives up waiting
// leaves the attempt to the others: it ends by itself.
func (l *link) get(ctx context.Context) (*cryptossh.Client, error) {
	if l.unusable != nil {
		return nil, l.unusable
	}
	l.mu.Lock()
	if l.ssh != nil {
		defer l.mu.Unlock()
		return l.ssh, nil
	}
	d := l.dialing
	if d == nil {
		if l.err != nil && time.Now().Before(l.retryAt) {
			defer l.mu.Unlock()
			return nil, l.err
		}
		d = &dialing{done: make(chan struct{})}
		if !l.client.spawn(func() { l.connect(d) }) {
			l.mu.Unlock()
			return nil, errClosed
		}
		l.dialing = d
	}
	l.mu.Unlock()
	select {
	case <-d.done:
		return d.ssh, d.err
	case <-ctx.Done():
		return nil, connectError(l.host.String(), causeSilent, ctx.Err(), "there is no connection to %s yet", l.host)
	}
}

// connect makes the connection and keeps it until it is lost.
func (l *link) connect(d *dialing) {
	ctx := l.client.ctx
	d.ssh, d.err = l.client.connect(ctx, l.host, l.via)
	if ctx.Err() != nil { // keep closes a connection that was made meanwhile
		d.err = errClosed
	}
	l.mu.Lock()
	l.dialing, l.err, l.aliveAt = nil, d.err, time.Now()
	pause := l.client.opt.RetryPause
	switch causeOf(d.err) {
	case causeAuth, causeHostKey: // a server counts failed logins and shuts out who makes many
		pause *= 5
	}
	l.retryAt = l.aliveAt.Add(pause)
	l.ssh = d.ssh
	l.mu.Unlock()
	close(d.done)
	if d.ssh != nil {
		l.keep(d.ssh)
	}
}

// keep asks for signs of life and returns when the connection has ended.
func (l *link) keep(client *cryptossh.Client) {
	defer context.AfterFunc(l.client.ctx, func() { client.Close() })()
	lost := make(chan error, 1)
	go func() { lost <- client.Wait() }()
	ticker := time.NewTicker(l.client.opt.KeepAlive)
	defer ticker.Stop()
	for {
		select {
		case <-lost:
			l.drop(client)
			return
		case <-ticker.C:
		}
		// A request that waits holds up every later one: only closing the
		// connection gets rid of it.
		late := time.AfterFunc(l.client.opt.KeepAliveTimeout, func() {
			l.drop(client)
			client.Close()
		})
		// Any answer is a sign of life, a refusal too (RFC 4254, 4).
		if _, _, err := client.SendRequest("keepalive@openssh.com", true, nil); late.Stop() && err == nil {
			l.alive()
		}
	}
}

// drop forgets a connection that was lost.
func (l *link) drop(client *cryptossh.Client) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ssh != client {
		return
	}
	l.ssh, l.retryAt = nil, time.Time{}
	l.err = connectError(l.host.String(), causeLost, nil, "the connection to %s was lost; lightsout dials again when it needs it", l.host)
}

// dial opens a connection to an address as seen from the link's host. If the link
// itself is dead, it opens the link again, once.
func (l *link) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	for again := true; ; again = false {
		client, err := l.get(ctx)
		if err != nil {
			return nil, err
		}
		conn, err := client.DialContext(ctx, network, addr)
		if err == nil {
			l.alive()
			return newConn(conn, addr), nil
		}
		var refused *cryptossh.OpenChannelError
		if errors.As(err, &refused) {
			l.alive() // it was the link's host that said no
		}
		if !isLost(err) || ctx.Err() != nil {
			return nil, dialFailed(addr, err)
		}
		l.drop(client)
		client.Close()
		if !again {
			return nil, dialFailed(addr, err)
		}
	}
}

// alive notes a sign of life.
func (l *link) alive() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.aliveAt = time.Now()
}

// lastAlive is when the link's host last gave a sign of life.
func (l *link) lastAlive() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.aliveAt
}

package ssh

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	cryptossh "golang.org/x/crypto/ssh"
	"golang.org/x/sync/semaphore"
)

func causeOf(err error) cause {
	if e, ok := errors.AsType[*ConnectError](err); ok {
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

	// alive is the time of the last sign of life, since the first attempt to connect ended.
	alive atomic.Value

	mu   sync.Mutex
	last *attempt // nil: none, or its connection was lost
}

// attempt is an attempt to connect that several may wait for.
type attempt struct {
	done  chan struct{} // closed when the rest is set
	ssh   *cryptossh.Client
	err   error
	until time.Time // until then a failure stands
}

// get returns the connection, and opens it if necessary. A caller that gives up waiting
// leaves the attempt to the others: it ends by itself.
func (l *link) get(ctx context.Context) (*cryptossh.Client, error) {
	if l.unusable != nil {
		return nil, l.unusable
	}
	l.mu.Lock()
	a := l.last
	if a == nil || a.err != nil && !time.Now().Before(a.until) {
		a = &attempt{done: make(chan struct{})}
		if !l.client.spawn(func() { l.connect(a) }) {
			l.mu.Unlock()
			return nil, errClosed
		}
		l.last = a
	}
	l.mu.Unlock()
	select {
	case <-a.done:
		return a.ssh, a.err
	case <-ctx.Done():
		return nil, connectError(l.host.String(), causeSilent, ctx.Err(), "there is no connection to %s yet", l.host)
	}
}

// connect makes the connection and keeps it until it is lost.
func (l *link) connect(a *attempt) {
	client, err := l.client.connect(l.client.ctx, l.host, l.via)
	if l.client.ctx.Err() != nil { // keep closes a connection that was made meanwhile
		err = errClosed
	}
	pause := l.client.opt.RetryPause
	switch causeOf(err) {
	case causeAuth, causeSecond, causeHostKey: // a server counts failed logins and shuts out who makes many
		pause *= 5
	}
	l.alive.Store(time.Now())
	l.mu.Lock()
	a.ssh, a.err, a.until = client, err, time.Now().Add(pause)
	l.mu.Unlock()
	close(a.done)
	if client != nil {
		l.keep(client)
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
		late := time.AfterFunc(l.client.opt.KeepAliveTimeout, func() { l.drop(client) })
		// Any answer is a sign of life, a refusal too (RFC 4254, 4).
		if _, _, err := client.SendRequest("keepalive@openssh.com", true, nil); late.Stop() && err == nil {
			l.alive.Store(time.Now())
		}
	}
}

// drop closes and forgets a connection that was lost.
func (l *link) drop(client *cryptossh.Client) {
	defer client.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last != nil && l.last.ssh == client {
		l.last = nil
	}
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
			l.alive.Store(time.Now())
			return newConn(conn, addr), nil
		}
		if errors.As(err, new(*cryptossh.OpenChannelError)) {
			l.alive.Store(time.Now()) // it was the link's host that said no
		}
		if !isLost(err) || ctx.Err() != nil {
			return nil, dialFailed(addr, err)
		}
		l.drop(client)
		if !again {
			return nil, dialFailed(addr, err)
		}
	}
}

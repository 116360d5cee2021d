package ssh

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	cryptossh "golang.org/x/crypto/ssh"
)

// connect opens an authenticated connection to a host. It asks about host keys and
// passphrases between two attempts, never while a server waits. Passwords come last,
// after the host has accepted no key.
func (c *Client) connect(ctx context.Context, h host, via *link) (*cryptossh.Client, error) {
	const attempts = 5 // host key, passphrase, password, and two to spare
	var err error
	passwords := false
	for range attempts {
		offered := c.keys.offer(h)
		for _, file := range offered.leftOut {
			c.warn(file)
		}
		passwords = passwords || len(offered.locked) == 0
		var client *cryptossh.Client
		var unknown *errUnknownHost
		client, err = c.attempt(ctx, h, via, offered, passwords)
		offered.close()
		switch {
		case err == nil:
			return client, nil
		case errors.As(err, &unknown):
			if err := c.hosts.question(ctx, h, unknown.key); err != nil {
				return nil, handshakeFailed(h, &offer{}, err)
			}
		case causeOf(err) == causeAuth && offered.signed:
			return nil, err
		case causeOf(err) == causeAuth && len(offered.locked) > 0 && c.keys.unlock(ctx, offered.locked):
		case causeOf(err) == causeAuth && !passwords && c.mayAskPassword(h):
			passwords = true
		case causeOf(err) == causeAuth && len(offered.locked) > 0:
			return nil, connectError(h.String(), causeAuth, err, "%s (%s needs a passphrase that was not given; ssh-add it)", err, strings.Join(offered.locked, ", "))
		default:
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return nil, err
}

// attempt dials a host once and shakes hands.
func (c *Client) attempt(ctx context.Context, h host, via *link, o *offer, passwords bool) (*cryptossh.Client, error) {
	callback, algorithms, err := c.hosts.verifier(h)
	if err != nil {
		return nil, err
	}
	conn, err := c.dialPatiently(ctx, via, "tcp", h.addr(), c.opt.ConnectTimeout)
	if err != nil {
		return nil, dialFailed(h.String(), err)
	}
	asked := passwordQuestions{client: c, ctx: ctx, host: h, conn: conn, passwords: passwords, offered: o}
	client, err := handshake(ctx, conn, h, &cryptossh.ClientConfig{
		User: h.user, HostKeyCallback: callback, HostKeyAlgorithms: algorithms,
		Auth: append([]cryptossh.AuthMethod{cryptossh.PublicKeys(o.signers...)}, asked.methods()...),
	}, c.opt.ConnectTimeout)
	if err != nil {
		return nil, asked.explain(handshakeFailed(h, o, err))
	}
	return client, nil
}

// handshake makes an ssh client of a connection, within limit and ctx.
func handshake(ctx context.Context, conn net.Conn, h host, cfg *cryptossh.ClientConfig, limit time.Duration) (*cryptossh.Client, error) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	var client *cryptossh.Client
	err := conn.SetDeadline(time.Now().Add(limit))
	if err == nil {
		var inner cryptossh.Conn
		var channels <-chan cryptossh.NewChannel
		var requests <-chan *cryptossh.Request
		inner, channels, requests, err = cryptossh.NewClientConn(conn, h.addr(), cfg)
		if err == nil {
			client = cryptossh.NewClient(inner, channels, requests)
			err = conn.SetDeadline(time.Time{})
		}
	}
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
	}
	return client, err
}

package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
)

// identifying marks, in its context, the request that reads the cluster's UID. It receives
// the connection that carried the request; nil if that is unknown.
type identifying struct{ over *heldConn }

type identifyingKey struct{}

// onOneCluster sends a request only over a connection that leads to the cluster that c has
// identified: a tunnel or a load balancer may lead each connection elsewhere. It asks for
// the UID over each new connection, before anything else is sent there.
func (c *Client) onOneCluster(l line, rt http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		ctx, cancel := context.WithCancelCause(r.Context())
		trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
			if id, ok := ctx.Value(identifyingKey{}).(*identifying); ok {
				id.over = held(info.Conn)
			} else if err := c.sameConn(ctx, l, info.Conn); err != nil {
				cancel(&wrongConnError{err}) // so that the request is not sent
			}
		}}
		resp, err := rt.RoundTrip(r.WithContext(httptrace.WithClientTrace(ctx, trace)))
		if err != nil {
			var wrong *wrongConnError
			if errors.As(context.Cause(ctx), &wrong) {
				err = wrong.error
			}
			cancel(nil)
			return nil, err
		}
		resp.Body = &endingBody{resp.Body, func() { cancel(nil) }}
		return resp, nil
	})
}

// wrongConnError is the reason why a request was not sent over a connection.
type wrongConnError struct{ error }

// held returns the connection below c, after TLS; nil if c is none of traffic's.
func held(c net.Conn) *heldConn {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	h, _ := c.(*heldConn)
	return h
}

// sameConn returns an error unless a connection leads to the cluster that c has
// identified. It asks once for each connection. Over HTTP/1 a connection carries one
// request at a time, so another one carries the question; then its answer suffices.
func (c *Client) sameConn(ctx context.Context, l line, conn net.Conn) error {
	h := held(conn)
	if h == nil || c.known() == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	h.identity.Lock()
	defer h.identity.Unlock()
	for range 3 {
		if h.same {
			return nil
		}
		over, err := c.readUIDOver(ctx, l)
		if err != nil {
			return err
		}
		h.same = over == h || !multiplexed(conn)
	}
	if h.same {
		return nil
	}
	return fmt.Errorf("lightsout could not ask over a new connection to %s which cluster it leads to", hostOf(c.cfg.Server))
}

// multiplexed reports whether a connection carries several requests at once (HTTP/2).
func multiplexed(c net.Conn) bool {
	t, ok := c.(*tls.Conn)
	return ok && t.ConnectionState().NegotiatedProtocol == "h2"
}

// endingBody calls ended when the body is closed.
type endingBody struct {
	io.ReadCloser
	ended func()
}

func (b *endingBody) Close() error {
	defer b.ended()
	return b.ReadCloser.Close()
}

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
	"sync/atomic"
)

// identifying marks, in its context, the request that reads the cluster's UID. It receives
// the connection that carried the request; nil if that is unknown.
type identifying struct{ over atomic.Pointer[heldConn] }

type identifyingKey struct{}

// provesMost is how often a request over HTTP/1 looks for a connection that leads to the
// right cluster: other requests may take each one that has just been proven.
const provesMost = 10

// oneCluster is a RoundTripper of a line. It sends a request only over a connection that
// leads to the cluster that the Client has identified: a tunnel or a load balancer may lead
// each connection elsewhere. It reads the UID over each connection before it sends anything
// else there.
type oneCluster struct {
	client *Client
	on     line
	next   http.RoundTripper
	// closes: the server, or a proxy before it, closed the connection that carried the
	// last answer with a UID.
	closes atomic.Bool
}

// RoundTrip sends a request.
func (t *oneCluster) RoundTrip(r *http.Request) (*http.Response, error) {
	for range provesMost {
		resp, err := t.send(r)
		if !errors.Is(err, errUnproven) {
			return resp, err
		}
		if _, err := t.client.readUID(r.Context(), t.on); err != nil { // its connection is idle then, and the next one to be used
			return nil, err
		}
		if t.closes.Load() {
			break
		}
		if r, err = repeated(r); err != nil {
			return nil, err
		}
	}
	return nil, &noConnError{hostOf(t.client.cfg.Server), t.closes.Load()}
}

// noConnError reports that no connection to a server has carried both the question which
// cluster it leads to and another request: nothing was sent. closes: the server
// announced that it closes each.
type noConnError struct {
	server string
	closes bool
}

func (e *noConnError) Error() string {
	if e.closes {
		return e.server + " closes each connection after one answer, so lightsout cannot tell which cluster the next one leads to, and sends nothing: " +
			"connect without the proxy before the API server, or have it keep connections open"
	}
	return e.server + " keeps no connection open on which lightsout has read the cluster's UID, so lightsout sends nothing: connect without the proxy before the API server"
}

// isNoConn reports whether err is a noConnError.
func isNoConn(err error) bool {
	var e *noConnError
	return errors.As(err, &e)
}

// errUnproven reports that a request was not sent, because its connection may lead to
// another cluster.
var errUnproven = errors.New("the connection may lead to another cluster")

// repeated returns a copy of a request that was not sent.
func repeated(r *http.Request) (*http.Request, error) {
	copied := r.Clone(r.Context())
	if r.Body == nil {
		return copied, nil
	}
	if r.GetBody == nil {
		return nil, errUnproven
	}
	var err error
	copied.Body, err = r.GetBody()
	return copied, err
}

// send sends a request unless its connection leads to another cluster.
func (t *oneCluster) send(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if id, ok := ctx.Value(identifyingKey{}).(*identifying); ok {
			id.over.Store(held(info.Conn))
		} else if err := t.prove(ctx, info.Conn); err != nil {
			cancel(&wrongConnError{err}) // so that the request is not sent
		}
	}}
	resp, err := t.next.RoundTrip(r.WithContext(httptrace.WithClientTrace(ctx, trace)))
	if err != nil {
		var wrong *wrongConnError
		if errors.As(context.Cause(ctx), &wrong) {
			err = wrong.error
		}
		cancel(nil)
		return nil, err
	}
	if _, ok := ctx.Value(identifyingKey{}).(*identifying); ok {
		t.closes.Store(resp.Close)
	}
	resp.Body = &endingBody{resp.Body, func() { cancel(nil) }}
	return resp, nil
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

// prove returns an error unless a connection leads to the cluster that c has
// identified. Over HTTP/2 it asks for the UID on that connection. Over HTTP/1 a connection
// carries one request at a time: prove closes one that has not carried that question,
// so that nothing is sent over it, and returns errUnproven.
func (t *oneCluster) prove(ctx context.Context, conn net.Conn) error {
	h := held(conn)
	switch {
	case h == nil || h.same.Load() || !t.client.identified():
		return nil
	case !multiplexed(conn):
		h.Close()
		return errUnproven
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := h.asking.take(ctx); err != nil {
		return err
	}
	defer h.asking.give()
	for range 3 {
		if h.same.Load() {
			return nil
		}
		if _, err := t.client.readUID(ctx, t.on); err != nil {
			return err
		}
	}
	if h.same.Load() {
		return nil
	}
	return fmt.Errorf("lightsout could not ask over a new connection to %s which cluster it leads to", hostOf(t.client.cfg.Server))
}

// identified reports whether c has read the UID of its cluster.
func (c *Client) identified() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.uid != ""
}

// multiplexed reports whether a connection carries several requests at once (HTTP/2).
func multiplexed(c net.Conn) bool {
	over, ok := c.(*tls.Conn)
	return ok && over.ConnectionState().NegotiatedProtocol == "h2"
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

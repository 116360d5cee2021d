package cluster

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// brokenConn is a connection whose writes fail once broken is set.
type brokenConn struct {
	net.Conn
	broken *atomic.Bool
}

func (c brokenConn) Write(b []byte) (int, error) {
	if c.broken.Load() {
		return 0, &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}
	}
	return c.Conn.Write(b)
}

// A write fails on an HTTP/2 connection: net/http fails the requests on it with an error
// of its own, and lightsout says what happened.
func TestAnHTTP2ConnectionThatCannotBeWrittenTo(t *testing.T) {
	asked := make(chan struct{}, 2)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	var broken atomic.Bool
	transport := server.Client().Transport.(*http.Transport)
	transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return brokenConn{c, &broken}, err
	}
	errs := make(chan error, 2)
	get := func() {
		_, err := server.Client().Get(server.URL)
		errs <- err
	}
	go get()
	<-asked // it waits on the connection for its answer
	broken.Store(true)
	r, err := http.NewRequestWithContext(t.Context(), "POST", server.URL, strings.NewReader("x")) // net/http does not repeat it
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := server.Client().Do(r)
		errs <- err
	}()
	for range 2 {
		err := <-errs
		if got := describe(err, &Config{Server: server.URL}); !strings.HasSuffix(got, "closed the connection; it may be restarting") {
			t.Errorf("%v: %s", err, got)
		}
	}
}

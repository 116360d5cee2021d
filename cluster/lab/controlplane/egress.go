package controlplane

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"lightsout/cluster/lab/network"
)

// egressConfig tells the API server to reach the cluster through HTTP CONNECT
// on a unix socket. Etcd is not named: the Direct dialler does not know unix
// sockets, the default one does.
const egressConfig = `apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport:
      uds:
        udsName: %s
- name: controlplane
  connection:
    proxyProtocol: Direct
`

// connectTimeout is how long a dial on the API server's behalf may take. A machine
// without power does not answer; people who wait for its logs should see that.
const connectTimeout = 8 * time.Second

// egress answers the API server's CONNECT requests by dialling into the
// lab's network.
type egress struct {
	dial     Dial
	listener net.Listener
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup
}

func newEgress(config, socket string, dial Dial) (*egress, error) {
	if err := os.WriteFile(config, fmt.Appendf(nil, egressConfig, socket), 0o600); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("listen for the API server's egress: %w", err)
	}
	e := &egress{dial: dial, listener: l}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			e.wg.Go(func() { e.serve(c) })
		}
	})
	return e, nil
}

// serve handles one connection: one CONNECT, then bytes.
func (e *egress) serve(c net.Conn) {
	defer c.Close()
	stop := context.AfterFunc(e.ctx, func() { c.Close() })
	defer stop()

	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	r := bufio.NewReader(c)
	req, err := http.ReadRequest(r)
	if err != nil {
		return
	}
	c.SetReadDeadline(time.Time{})
	if req.Method != http.MethodConnect {
		fmt.Fprint(c, "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n")
		return
	}
	ctx, cancel := context.WithTimeout(e.ctx, connectTimeout)
	defer cancel()
	to, err := e.dial(ctx, "tcp", req.Host)
	if err != nil {
		body := err.Error()
		fmt.Fprintf(c, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		return
	}
	if _, err := fmt.Fprint(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		to.Close()
		return
	}
	// The API server speaks only after the answer, so r holds nothing.
	network.Splice(e.ctx, c, to)
}

func (e *egress) close() {
	e.cancel()
	e.listener.Close()
	e.wg.Wait()
}

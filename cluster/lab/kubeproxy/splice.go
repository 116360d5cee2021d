package kubeproxy

import (
	"context"
	"io"
	"net"
	"sync"
	"time"

	"lightsout/cluster/lab/network"
)

// finWait is how long a connection may last after one side has closed it:
// nf_conntrack_tcp_timeout_fin_wait of Linux.
const finWait = 120 * time.Second

// splice joins an accepted connection to a new one to addr until both ends
// have closed, one fails, or ctx ends. A client that goes away while the dial
// hangs ends the dial.
func splice(ctx context.Context, host *network.Host, client net.Conn, addr string) {
	defer client.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	first := make([]byte, 4<<10)
	var n int
	var readErr error
	read := make(chan struct{})
	go func() {
		defer close(read)
		if n, readErr = client.Read(first); readErr != nil {
			cancel()
		}
	}()
	server, err := host.DialContext(ctx, "tcp", addr)
	if err != nil {
		client.Close()
		<-read
		return
	}
	defer server.Close()
	stop := context.AfterFunc(ctx, func() {
		client.Close()
		server.Close()
	})
	defer stop()

	var wg sync.WaitGroup
	wg.Go(func() {
		<-read
		if readErr == nil {
			if _, err := server.Write(first[:n]); err == nil {
				io.Copy(server, client)
			}
		}
		closeWrite(server)
	})
	wg.Go(func() {
		io.Copy(client, server)
		closeWrite(client)
	})
	wg.Wait()
}

// closeWrite passes the end of a stream on, and gives the way back a limit.
func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	} else {
		c.Close()
	}
	c.SetReadDeadline(time.Now().Add(finWait))
}

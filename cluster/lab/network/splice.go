package network

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// finWait is how long a connection may last after one side has closed it:
// nf_conntrack_tcp_timeout_fin_wait of Linux.
const finWait = 120 * time.Second

// Splice passes bytes between a client and a server until both ends have closed,
// one fails, or ctx ends, and closes both. The end of one stream is passed on to
// the other side.
func Splice(ctx context.Context, client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	stop := context.AfterFunc(ctx, func() {
		client.Close()
		server.Close()
	})
	defer stop()
	var wg sync.WaitGroup
	for _, way := range [2][2]net.Conn{{server, client}, {client, server}} {
		wg.Go(func() {
			io.Copy(way[0], way[1])
			closeWrite(way[0])
		})
	}
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

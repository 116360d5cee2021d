package network

import (
	"context"
	"io"
	"net"
)

// Splice passes bytes between a client and a server until the client's
// stream, both streams or ctx end, and closes both. The end of the server's
// stream is passed on to the client.
func Splice(ctx context.Context, client, server net.Conn) {
	stop := context.AfterFunc(ctx, func() {
		client.Close()
		server.Close()
	})
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(client, server)
		if c, ok := client.(interface{ CloseWrite() error }); ok {
			c.CloseWrite()
		} else {
			client.Close()
		}
	}()
	io.Copy(server, client)
	server.Close()
	<-done
	client.Close()
}

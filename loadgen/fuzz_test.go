package loadgen

import (
	"context"
	"io"
	"net"
	"testing"
)

// FuzzAnswer has a server answer a request with any bytes: the request ends in
// exactly one class, the ledger balances, and what is kept of it is harmless.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "HTTP/1.0 200 \r\n\r\nto the end",
		"HTTP/1.1 503 Service Unavailable\r\n\r\n\x1b[2Jfull", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 302 Found\r\nLocation: /\x1b\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n", "", "\x16\x03\x01", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
	} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, answer []byte, chat bool) {
		target := Target{URL: "http://server/"}
		if chat {
			target.Profile, target.Model = Chat, "m"
		}
		rec := one(t, Options{Target: target, Dial: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			go func() { _, _ = theirs.Write(answer); theirs.Close() }()
			return ours, nil
		}})
		if rec.Error != clean(rec.Error, 1<<20) {
			t.Errorf("%q is not harmless", rec.Error)
		}
	})
}

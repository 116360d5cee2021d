package loadgen

import (
	"bytes"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// frames is an HTTP/2 server that answers each stream as a test wants.
type frames struct {
	url     string
	streams atomic.Int64 // how many came

}

// serveFrames calls answer for the nth stream of a connection; false ends the connection.
func serveFrames(t *testing.T, answer func(f *http2.Framer, n int, id uint32) bool) *frames {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &frames{url: "http://" + ln.Addr().String()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { defer c.Close(); s.serve(c, answer) })
		}
	})
	t.Cleanup(func() { ln.Close(); wg.Wait() })
	return s
}

func (s *frames) serve(c net.Conn, answer func(f *http2.Framer, n int, id uint32) bool) {
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	f := http2.NewFramer(c, c)
	f.WriteSettings()
	for n := 0; ; {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				f.WriteSettingsAck()
			}
		case *http2.PingFrame:
			if !frame.IsAck() {
				f.WritePing(true, frame.Data)
			}
		case *http2.HeadersFrame:
			s.streams.Add(1)
			if n++; !answer(f, n, frame.StreamID) {
				return
			}
		}
	}
}

// head writes the headers of an answer of two bytes.
func head(f *http2.Framer, id uint32) {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	e.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
	e.WriteField(hpack.HeaderField{Name: "content-length", Value: "2"})
	f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: b.Bytes(), EndHeaders: true})
}

// A request that an HTTP/2 server has certainly not processed (RFC 9113, 6.8 and 8.7) is sent
// again, and stays one request of one class; any other is sent once.
func TestUnprocessedStreamsAreSentAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		answer   func(f *http2.Framer, n int, id uint32) bool
		requests int
		want     Class
		streams  int // 0: more than the requests
	}{
		{"GOAWAY after each third stream", func(f *http2.Framer, n int, id uint32) bool {
			if n <= 3 {
				head(f, id)
				f.WriteData(id, true, []byte("ok"))
			}
			if n == 3 {
				f.WriteGoAway(id, http2.ErrCodeNo, nil)
			}
			return true
		}, 8, ClassOK, 0},
		{"every other stream refused", func(f *http2.Framer, n int, id uint32) bool {
			if n%2 == 1 {
				f.WriteRSTStream(id, http2.ErrCodeRefusedStream)
				return true
			}
			head(f, id)
			f.WriteData(id, true, []byte("ok"))
			return true
		}, 1, ClassOK, 2},
		{"every stream refused", func(f *http2.Framer, n int, id uint32) bool {
			f.WriteRSTStream(id, http2.ErrCodeRefusedStream)
			return true
		}, 1, ClassReset, maxTries},
		{"reset otherwise", func(f *http2.Framer, n int, id uint32) bool {
			f.WriteRSTStream(id, http2.ErrCodeInternal)
			return true
		}, 1, ClassReset, 1},
		{"refused within the answer", func(f *http2.Framer, n int, id uint32) bool {
			head(f, id)
			f.WriteRSTStream(id, http2.ErrCodeRefusedStream)
			return true
		}, 1, ClassReset, 1},
		{"GOAWAY of a server that has taken the stream, and closes", func(f *http2.Framer, n int, id uint32) bool {
			f.WriteGoAway(id, http2.ErrCodeNo, nil)
			return false
		}, 1, ClassReset, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serveFrames(t, c.answer)
			expectEach(t, Options{Target: Target{URL: s.url, Protocol: HTTP2, Reuse: true}}, 5, c.requests, c.want)
			if n := int(s.streams.Load()); c.streams > 0 && n != 5*c.streams || n < 5*c.requests {
				t.Errorf("the server saw %d streams, want 5 times %d", n, c.streams)
			}
		})
	}
}

// expectEach sends bursts, and checks the class and times of each request. A burst needs fewer
// than maxTries connections, and each of its requests fails on a connection once at most.
func expectEach(t *testing.T, o Options, bursts, n int, want Class) {
	t.Helper()
	var recs records
	o.Record, o.Timeouts = recs.add, unhurried
	g := start(t, o)
	for range bursts {
		mustStart(t, g, Spec{Shape: Burst, N: n})
		wait(t, g)
	}
	tt := g.Run().Totals
	if tt.Scheduled != bursts*n || !tt.Balanced() || len(recs.all()) != bursts*n {
		t.Fatalf("%+v, %d records", tt, len(recs.all()))
	}
	for _, r := range recs.all() {
		if r.Class != want {
			t.Errorf("%s: %s, want %s", r.Class, r.Error, want)
		}
		inOrder(t, r)
	}
}

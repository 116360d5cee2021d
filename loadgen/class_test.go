package loadgen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"lightsout/internal/testenv"
)

const stream = "text/event-stream"

func token(s string) string {
	return fmt.Sprintf("data: {\"choices\":[{\"delta\":{\"content\":%q}}]}\n\n", s)
}

const done = "data: [DONE]\n\n"

// hang keeps the connection open and silent until the client goes or the test
// ends.
func hang(c *net.TCPConn) {
	var b [1]byte
	c.Read(b[:])
}

// A request's class must be what happened to it, whatever the server did.
func TestClassOfEachFault(t *testing.T) {
	t.Parallel()
	short := 150 * time.Millisecond
	tests := []struct {
		name    string
		chat    bool
		bounds  Timeouts
		answer  func(c *net.TCPConn, r *http.Request)
		want    Class
		status  int
		says    string
		errno   string
		tokens  int
		minimal bool // an answer's first byte must have come
	}{
		{name: "page", answer: func(c *net.TCPConn, _ *http.Request) { page(c, 200, "hello") }, want: ClassOK, status: 200},
		{name: "chunked page", answer: func(c *net.TCPConn, _ *http.Request) { chunks(c, "text/plain", "a", "b"); lastChunk(c) }, want: ClassOK, status: 200},
		{name: "empty page", answer: func(c *net.TCPConn, _ *http.Request) { write(c, "HTTP/1.1 204 No Content\r\n\r\n") }, want: ClassOK, status: 204},
		{name: "interim answer first", answer: func(c *net.TCPConn, _ *http.Request) {
			write(c, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
			page(c, 200, "x")
		}, want: ClassOK, status: 200},
		{name: "redirect is not followed", answer: func(c *net.TCPConn, _ *http.Request) {
			write(c, "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")
		}, want: ClassOK, status: 302},
		{name: "reset before the first byte", answer: func(c *net.TCPConn, _ *http.Request) { reset(c) }, want: ClassReset, errno: "ECONNRESET"},
		{name: "closed before the first byte", answer: func(*net.TCPConn, *http.Request) {}, want: ClassReset, says: "without an answer"},
		{name: "reset in the body", answer: func(c *net.TCPConn, _ *http.Request) {
			write(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
			reset(c)
		}, want: ClassReset, errno: "ECONNRESET"},
		{name: "cut in the headers", answer: func(c *net.TCPConn, _ *http.Request) { write(c, "HTTP/1.1 200 OK\r\nConte") }, want: ClassTruncated},
		{name: "content-length cut", answer: func(c *net.TCPConn, _ *http.Request) {
			write(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
		}, want: ClassTruncated, status: 200, says: "cut", minimal: true},
		{name: "chunk cut", answer: func(c *net.TCPConn, _ *http.Request) {
			write(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\nhalf")
		}, want: ClassTruncated, status: 200},
		{name: "last chunk missing", answer: func(c *net.TCPConn, _ *http.Request) { chunks(c, "text/plain", "whole") }, want: ClassTruncated, status: 200},
		{name: "no HTTP", answer: func(c *net.TCPConn, _ *http.Request) { write(c, "SSH-2.0-OpenSSH_9.9\r\n\r\n") }, want: ClassTruncated},
		{name: "activator's timeout in a 200", answer: func(c *net.TCPConn, _ *http.Request) {
			chunks(c, "text/plain", "half a page", "activator request timeout")
			lastChunk(c)
		}, want: ClassTruncated, status: 200, says: "proxy"},
		{name: "queue-proxy's timeout in a 200", answer: func(c *net.TCPConn, _ *http.Request) {
			chunks(c, "text/plain", "half a page", "request ti", "meout")
			lastChunk(c)
		}, want: ClassTruncated, status: 200, says: "proxy"},
		{name: "no first byte", bounds: Timeouts{FirstByte: short}, answer: func(c *net.TCPConn, _ *http.Request) { hang(c) }, want: ClassFirstByte},
		{name: "silence in the body", bounds: Timeouts{Idle: short}, answer: func(c *net.TCPConn, _ *http.Request) {
			chunks(c, "text/plain", "a")
			hang(c)
		}, want: ClassIdle, status: 200, minimal: true},
		{name: "too long in all", bounds: Timeouts{Total: short}, answer: func(c *net.TCPConn, _ *http.Request) { hang(c) }, want: ClassTotal},
		{name: "too long in all, dripping", bounds: Timeouts{Total: short, Idle: 5 * time.Second}, answer: func(c *net.TCPConn, r *http.Request) {
			chunks(c, "text/plain")
			for {
				if _, err := fmt.Fprintf(c, "1\r\nx\r\n"); err != nil {
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		}, want: ClassTotal, status: 200},
		{name: "404", answer: func(c *net.TCPConn, _ *http.Request) { page(c, 404, "no such page") }, want: Class4xx, status: 404, says: "no such page"},
		{name: "500", answer: func(c *net.TCPConn, _ *http.Request) { page(c, 500, "") }, want: Class5xx, status: 500},
		{name: "502", answer: func(c *net.TCPConn, _ *http.Request) { page(c, 502, "timed out dialing") }, want: Class502, status: 502},
		{name: "503 queue full", answer: func(c *net.TCPConn, _ *http.Request) { page(c, 503, "pending request queue full\n") }, want: Class503, status: 503, says: "503: pending request queue full"},
		{name: "503 with a body that never ends", answer: func(c *net.TCPConn, _ *http.Request) {
			write(c, "HTTP/1.1 503 Busy\r\nContent-Length: 100\r\n\r\nwait")
			hang(c)
		}, want: Class503, status: 503, says: "wait"},
		{name: "504", answer: func(c *net.TCPConn, _ *http.Request) { page(c, 504, "") }, want: Class504, status: 504},

		{name: "chat", chat: true, answer: func(c *net.TCPConn, _ *http.Request) {
			chunks(c, stream, ": ping\n\n", token("a"), token("b"), done)
			lastChunk(c)
		}, want: ClassOK, status: 200, tokens: 2},
		{name: "chat that is held open after its end mark", chat: true, answer: func(c *net.TCPConn, _ *http.Request) {
			chunks(c, stream, token("a"), done)
			hang(c)
		}, want: ClassOK, status: 200, tokens: 1},
		{name: "chat without [DONE]", chat: true, answer: func(c *net.TCPConn, _ *http.Request) {
			chunks(c, stream, token("a"))
			lastChunk(c)
		}, want: ClassTruncated, status: 200, says: "[DONE]", tokens: 1},
		{name: "chat that a proxy ends", chat: true, answer: func(c *net.TCPConn, _ *http.Request) {
			chunks(c, stream, token("a"), "activator request timeout")
			lastChunk(c)
		}, want: ClassTruncated, status: 200, says: "activator request timeout", tokens: 1},
		{name: "chat with an error inside", chat: true, answer: func(c *net.TCPConn, _ *http.Request) {
			chunks(c, stream, token("a"), "data: {\"error\":{\"message\":\"slot\\u001b[31m lost\"}}\n\n", done)
			lastChunk(c)
		}, want: ClassTruncated, status: 200, says: "slot lost", tokens: 1},
		{name: "chat cut", chat: true, answer: func(c *net.TCPConn, _ *http.Request) {
			chunks(c, stream, token("a"))
		}, want: ClassTruncated, status: 200, says: "cut", tokens: 1},
		{name: "chat that is no stream", chat: true, answer: func(c *net.TCPConn, _ *http.Request) {
			page(c, 200, `{"choices":[]}`)
		}, want: ClassTruncated, status: 200, says: "no event stream"},
		{name: "chat whose model is dead behind comments", chat: true, bounds: Timeouts{Idle: short, Total: deadline}, answer: func(c *net.TCPConn, _ *http.Request) {
			chunks(c, stream, token("a"))
			for {
				if _, err := fmt.Fprintf(c, "8\r\n: ping\n\n\r\n"); err != nil {
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		}, want: ClassIdle, status: 200, says: "stopped", tokens: 1},
		{name: "chat without permission", chat: true, answer: func(c *net.TCPConn, _ *http.Request) {
			page(c, 401, `{"error":{"message":"Invalid API Key"}}`)
		}, want: Class4xx, status: 401, says: "Invalid API Key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serveRaw(t, tt.answer)
			o := Options{Target: Target{URL: s.url()}, Timeouts: tt.bounds}
			if tt.chat {
				o.Target.Profile, o.Target.Prompts = Chat, []string{"hello"}
			}
			rec := one(t, o)
			if rec.Class != tt.want {
				t.Fatalf("class %q (%s), want %q", rec.Class, rec.Error, tt.want)
			}
			// A cut in the very first bytes may hide the status.
			if tt.status != 0 && rec.Status != tt.status {
				t.Errorf("status %d, want %d", rec.Status, tt.status)
			}
			if (rec.Class == ClassOK) != (rec.Error == "") {
				t.Errorf("class %q with error %q", rec.Class, rec.Error)
			}
			mustContain(t, "error", rec.Error, tt.says)
			if tt.errno != "" && rec.Errno != tt.errno {
				t.Errorf("errno %q, want %q", rec.Errno, tt.errno)
			}
			if rec.Tokens != tt.tokens {
				t.Errorf("%d tokens, want %d", rec.Tokens, tt.tokens)
			}
			if tt.minimal && rec.FirstByte.IsZero() {
				t.Error("no time for the first byte")
			}
			if got := s.requests(); got > 1 || got == 0 && rec.Class != ClassTotal {
				t.Errorf("the server saw %d requests", got)
			}
			inOrder(t, rec)
		})
	}
}

// inOrder checks that a record's times follow each other.
func inOrder(t *testing.T, r Record) {
	t.Helper()
	last, name := r.Scheduled, "scheduled"
	for _, s := range []struct {
		name string
		at   time.Time
	}{{"dial", r.Dial}, {"connected", r.Connected}, {"sent", r.Sent}, {"first byte", r.FirstByte}, {"first token", r.FirstToken}, {"end", r.End}} {
		if s.at.IsZero() {
			continue
		}
		if s.at.Before(last) {
			t.Errorf("%s (%v) is before %s (%v)", s.name, s.at, name, last)
		}
		last, name = s.at, s.name
	}
	if r.LastByte.After(r.End) {
		t.Errorf("the last byte (%v) is after the end (%v)", r.LastByte, r.End)
	}
}

func TestRefusedPort(t *testing.T) {
	t.Parallel()
	rec := one(t, Options{Target: Target{URL: "http://" + testenv.Refusing(t)}})
	if rec.Class != ClassRefused || rec.Errno != "ECONNREFUSED" || rec.Dial.IsZero() || !rec.Connected.IsZero() {
		t.Fatalf("%+v", rec)
	}
}

// Dialing is bounded by the generator, also where a dialer has no bound.
// What lightsout itself says of a bastion ends with the next step, which is not cut off.
func TestTheReasonWhyTheWayFailedIsWhole(t *testing.T) {
	t.Parallel()
	reason := strings.Repeat("the host key is not the one on record; ", 12) + "connect again"
	rec := one(t, Options{Target: Target{URL: "http://127.0.0.1:1/"}, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, &WayError{errors.New(reason)}
	}})
	if rec.Class != ClassLocal || rec.Error != reason {
		t.Errorf("%s: %q", rec.Class, rec.Error)
	}
}

func TestConnectTimeoutIsTheGenerators(t *testing.T) {
	t.Parallel()
	rec := one(t, Options{
		Target:   Target{URL: "http://192.0.2.1"},
		Timeouts: Timeouts{Connect: 50 * time.Millisecond},
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	})
	if rec.Class != ClassConnectTimeout {
		t.Fatalf("%+v", rec)
	}
	mustContain(t, "error", rec.Error, "192.0.2.1:80", "50ms")
}

func TestClassify(t *testing.T) {
	t.Parallel()
	sys := func(e syscall.Errno) error { return &net.OpError{Op: "read", Net: "tcp", Err: e} }
	tests := []struct {
		err                 error
		connected, answered bool
		want                Class
	}{
		{sys(syscall.ECONNREFUSED), false, false, ClassRefused},
		{sys(syscall.EHOSTUNREACH), false, false, ClassUnreachable},
		{sys(syscall.ENETUNREACH), false, false, ClassUnreachable},
		{sys(syscall.ETIMEDOUT), false, false, ClassConnectTimeout},
		{sys(syscall.ECONNRESET), false, false, ClassReset},
		{sys(syscall.EADDRNOTAVAIL), false, false, ClassLocal},
		{sys(syscall.EMFILE), false, false, ClassLocal},
		{&net.DNSError{Err: "no such host", IsNotFound: true}, false, false, ClassLocal},
		{&net.DNSError{Err: "i/o timeout", IsTimeout: true}, false, false, ClassLocal},
		{errors.New("ssh: rejected: connect failed (Connection refused)"), false, false, ClassRefused},
		{errors.New("ssh: rejected: connect failed (No route to host)"), false, false, ClassUnreachable},
		{errors.New("ssh: rejected: connect failed (Connection timed out)"), false, false, ClassConnectTimeout},
		{errors.New("ssh: rejected: administratively prohibited"), false, false, ClassLocal},
		{fmt.Errorf("no TLS with timeout-refused.example.com:443: %w", errors.New("remote error: tls: handshake failure")), false, false, ClassLocal},
		{&WayError{errors.New("through the bastion: connection refused")}, false, false, ClassLocal},
		// The same ETIMEDOUT on a connection is unanswered keep-alives.
		{sys(syscall.ETIMEDOUT), true, false, ClassPeerDead},
		{sys(syscall.ETIMEDOUT), true, true, ClassPeerDead},
		{sys(syscall.EHOSTUNREACH), true, false, ClassPeerDead},
		{sys(syscall.ECONNRESET), true, true, ClassReset},
		{sys(syscall.EPIPE), true, false, ClassReset},
		{errors.New("malformed HTTP response"), true, true, ClassTruncated},
	}
	for _, tt := range tests {
		if got := classify(tt.connected, tt.answered, tt.err); got != tt.want {
			t.Errorf("%v (connected %v, answered %v): %q, want %q", tt.err, tt.connected, tt.answered, got, tt.want)
		}
	}
}

// The table has every class that class.go declares, each failure with a letter and a
// pattern of its own, and docs/reference/load.md has its row.
func TestEveryClassIsInTheTableAndTheDocuments(t *testing.T) {
	source, err := os.ReadFile("class.go")
	docs, err2 := os.ReadFile("../docs/reference/load.md")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^\tClass\w+ +Class = "(.+)"`).FindAllSubmatch(source, -1)
	patterns := map[string]Class{}
	for _, m := range declared {
		c := Class(m[1])
		tr, pattern := c.Traits(), c.Traits().Colour+" "+c.Traits().Texture
		if c.Failed() && (tr.Group == other || tr.Colour == "" || patterns[pattern] != "") {
			t.Errorf("%s: %+v; the pattern is also that of %q", c, tr, patterns[pattern])
		}
		patterns[pattern] = c
		if row := fmt.Sprintf("\n| %s | %d |", string(c), tr.Code); !strings.Contains(string(docs), row) {
			t.Errorf("docs/reference/load.md has no row %q", row)
		}
	}
	if len(declared) != len(traits) {
		t.Errorf("%d classes are declared, %d are in the table", len(declared), len(traits))
	}
}

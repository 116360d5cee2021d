package rest

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lightsout/internal/testenv"
	"lightsout/power"
)

func TestMain(m *testing.M) {
	testenv.SideBySide(8) // they mostly wait
	goleak.VerifyTestMain(m)
}

// api is a power API by one kind of connection, with what happened to it in order: a
// connection ("dial"), a judgement ("judge"), a request ("POST").
type api struct {
	*httptest.Server
	client Client
	t      *http.Transport
	// stall holds up the answers to /slow until it is closed.
	stall chan struct{}

	mu  sync.Mutex
	log []string
	// written is how many POSTs left, as far as they can be read on the way.
	written atomic.Int32
}

// spy counts the POSTs that are written.
type spy struct {
	net.Conn
	written *atomic.Int32
}

func (s spy) Write(p []byte) (int, error) {
	n, err := s.Conn.Write(p)
	if n > 0 && strings.HasPrefix(string(p), "POST ") {
		s.written.Add(1)
	}
	return n, err
}

// noPOST checks at the end that not even a part of a request left.
func (a *api) noPOST(t *testing.T) {
	a.t.CloseIdleConnections()
	a.Close()
	if n := a.written.Load(); n != 0 {
		t.Errorf("%d POSTs left", n)
	}
}

func (a *api) note(what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.log = append(a.log, what)
}

// took returns what happened since the last call.
func (a *api) took() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer func() { a.log = nil }()
	return strings.Join(a.log, " ")
}

func (a *api) judged(t *testing.T, verdict error) context.Context {
	return power.Permit(t.Context(), func(context.Context) error {
		a.note("judge")
		return verdict
	})
}

func (a *api) do(ctx context.Context, method, path string) error {
	err := a.client.Do(ctx, Request{Method: method, URL: a.URL + path}, nil)
	return err
}

// kinds are the kinds of connections: by HTTP/1.1, with and without TLS, by HTTP/2, and
// through a proxy.
var kinds = []string{"http", "https", "http2", "proxy"}

func newAPI(t *testing.T, kind string) *api {
	a := &api{stall: make(chan struct{})}
	a.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		a.note(r.Method)
		if r.URL.Path == "/slow" {
			select {
			case <-a.stall:
			case <-r.Context().Done():
				panic(http.ErrAbortHandler) // without a reply
			}
		}
	}))
	a.Config.ErrorLog = log.New(io.Discard, "", 0)
	a.EnableHTTP2 = kind == "http2"
	if kind == "http" || kind == "proxy" {
		a.Start()
	} else {
		a.StartTLS()
	}
	t.Cleanup(a.Close)
	a.t = Transport(func(ctx context.Context, network, addr string) (net.Conn, error) {
		a.note("dial")
		var d net.Dialer
		conn, err := d.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return spy{conn, &a.written}, nil
	}, "tcp")
	t.Cleanup(a.t.CloseIdleConnections)
	if a.TLS != nil {
		a.t.TLSClientConfig = a.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		a.t.TLSClientConfig.NextProtos = nil
		if kind == "https" {
			a.t.ForceAttemptHTTP2 = false
		}
	}
	if kind == "proxy" { // which passes requests on to the same server
		to, err := url.Parse(a.URL)
		if err != nil {
			t.Fatal(err)
		}
		a.t.Proxy = http.ProxyURL(to)
		a.URL = "http://portal.invalid"
	}
	a.client = Client{Name: "the portal", HTTP: HTTP(a.t)}
	return a
}

func TestTheJudgementComesAfterTheConnection(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, kind)
			allowed := a.judged(t, nil)
			for _, l := range []struct{ method, path, want string }{
				{"GET", "/", "dial GET"},         // which switches nothing
				{"POST", "/off", "judge POST"},   // on the connection of the GET
				{"POST", "/off", "judge POST"},   // that is kept
				{"", "", ""},                     // and closed
				{"POST", "/", "dial judge POST"}, // before the next request
			} {
				if l.method == "" {
					a.t.CloseIdleConnections()
					continue
				}
				if err := a.do(allowed, l.method, l.path); err != nil || a.took() != l.want {
					t.Errorf("%s: want %s: %v", l.method, l.want, err)
				}
			}
			if err := a.client.Do(Harmless(a.judged(t, errors.New("no"))), Request{Method: "POST", URL: a.URL}, nil); err != nil || a.took() != "POST" {
				t.Errorf("a login: %v", err)
			}
		})
	}
}

// A refusal writes nothing, on no connection.
func TestARefusedRequestIsNotWritten(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, kind)
			no := &power.RefusedError{Why: "the last other worker died meanwhile"}
			refused := a.judged(t, no)
			if err := a.do(refused, "POST", "/off"); err != error(no) || a.took() != "dial judge" {
				t.Errorf("on a new connection: %v", err)
			}
			if err := a.do(t.Context(), "GET", "/"); err != nil {
				t.Fatal(err)
			}
			a.took()
			if err := a.do(refused, "POST", "/off"); err != error(no) || a.took() != "judge" {
				t.Errorf("on a kept connection: %v", err)
			}
			a.noPOST(t)
		})
	}
}

func TestAContextThatEndsWhileLightsoutJudgesSendsNothing(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, kind)
			ctx, cancel := context.WithCancel(t.Context())
			ctx = power.Permit(ctx, func(context.Context) error {
				a.note("judge")
				cancel()
				return nil
			})
			if err := a.do(ctx, "POST", "/off"); err == nil || a.took() != "dial judge" {
				t.Errorf("%v", err)
			}
			a.noPOST(t)
		})
	}
}

// A judgement has time of its own: the answer is waited for from the request on.
func TestAPOSTWithoutAnAnswerInTimeIsUnconfirmed(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, kind)
			a.client.HTTP.Transport = careful{a.t, time.Second}
			var unconfirmed *power.UnconfirmedError
			if err := a.do(t.Context(), "POST", "/slow"); !errors.As(err, &unconfirmed) || !strings.Contains(err.Error(), "there was no answer in time") {
				t.Errorf("%T %v", err, err)
			}
			var silent *power.SilentError
			if err := a.do(t.Context(), "GET", "/slow"); !errors.As(err, &silent) || !strings.Contains(err.Error(), "there was no answer in time") {
				t.Errorf("%T %v", err, err)
			}
			ctx := power.Permit(t.Context(), func(ctx context.Context) error {
				select {
				case <-ctx.Done():
				case <-time.After(3 * time.Second / 2):
				}
				return ctx.Err()
			})
			if err := a.do(ctx, "POST", "/off"); err != nil {
				t.Errorf("after a slow judgement: %v", err)
			}
		})
	}
}

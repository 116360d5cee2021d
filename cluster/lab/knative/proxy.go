package knative

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"time"

	"lightsout/cluster/lab/network"
	"lightsout/cluster/lab/workload"
)

// The headers by which Knative's parts know each other
// (networking's pkg/http/header).
const (
	headerProbe     = "K-Network-Probe"
	headerProxy     = "K-Proxy-Request"
	headerNamespace = "Knative-Serving-Namespace"
	headerRevision  = "Knative-Serving-Revision"
	probeQueue      = "queue"
)

// silent is where complaints about broken connections go.
var silent = log.New(io.Discard, "", 0)

// dialer is what a transport dials with.
type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// transport returns a transport for as long as life lasts. A transport's dials
// outlive the requests that they were begun for: life is their end.
func transport(life context.Context, dial dialer) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(life, cancel)()
			return dial(ctx, network, addr)
		},
		MaxIdleConns:        1000,
		MaxIdleConnsPerHost: 100,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true,
	}
}

// forward sends a request on to addr over rt, and each piece of the answer
// back at once. What goes wrong becomes an answer: 504 for a timeout of limit,
// 502 for everything else.
func forward(w http.ResponseWriter, r *http.Request, rt http.RoundTripper, addr string, edit func(http.Header)) {
	proxy := httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme = "http"
			p.Out.URL.Host = addr
			p.Out.Host = p.In.Host
			p.Out.Header["X-Forwarded-For"] = p.In.Header["X-Forwarded-For"]
			p.SetXForwarded()
			edit(p.Out.Header)
		},
		Transport:     rt,
		FlushInterval: -1,
		ErrorLog:      silent,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if text, timeout := timedOut(r.Context()); timeout {
				http.Error(w, text, http.StatusGatewayTimeout)
				return
			}
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	proxy.ServeHTTP(w, r)
}

// refuse answers a request that got no slot.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	text, timeout := timedOut(r.Context())
	switch {
	case timeout:
		http.Error(w, text, http.StatusGatewayTimeout)
	case errors.Is(err, errQueueFull), errors.Is(err, context.DeadlineExceeded):
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// The activator's and queue-proxy's dials time out after a short while and are
// tried again with more time: 50 ms × 1.4^k, 15 steps, some 20 s in all
// (knative.dev/pkg's network/transports.go).
const (
	dialFirst = 50 * time.Millisecond
	dialGrow  = 1.4
	dialSteps = 15
	dialPause = 30 * time.Millisecond
)

// patient returns a dialer that retries dials which time out. Any other
// failure is final.
func patient(host *network.Host) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		start := time.Now()
		limit := dialFirst
		for range dialSteps {
			one, cancel := context.WithTimeout(ctx, limit)
			c, err := host.DialContext(one, network, addr)
			cancel()
			if err == nil {
				return c, nil
			}
			if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
				return nil, err
			}
			limit = time.Duration(float64(limit) * dialGrow)
			workload.Pause(ctx, dialPause+rand.N(dialPause))
		}
		return nil, fmt.Errorf("timed out dialing after %.2fs", time.Since(start).Seconds())
	}
}

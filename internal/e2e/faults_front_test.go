//go:build linux

package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"lightsout/internal/labtest"
)

// front stands before the lab's API server and misbehaves as it is told.
type front struct {
	t     *testing.T
	proxy *httputil.ReverseProxy
	addr  string
	cert  tls.Certificate

	mu      sync.Mutex
	server  *http.Server
	conns   map[net.Conn]bool
	fault   func(w http.ResponseWriter, r *http.Request) (answered bool)
	changed chan struct{} // closed when the fault is another
}

func newFront(t *testing.T, api *labtest.API) *front {
	t.Helper()
	host, transport := api.Front()
	to, err := url.Parse(host)
	if err != nil {
		t.Fatal(err)
	}
	f := &front{t: t, cert: newCertificate(t), conns: map[net.Conn]bool{}, changed: make(chan struct{})}
	f.proxy = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Header.Del("Authorization") },
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
	}
	f.addr = elsewhere
	f.start(f.cert)
	t.Cleanup(f.stop)
	return f
}

// newCertificate makes one for this host, signed by itself.
func newCertificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 2)}, DNSNames: []string{hostName}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// elsewhere is where a listener that is closed for a while finds its address free
// again: connections from here take none of it.
const elsewhere = "127.0.0.2:0"

// start listens, at the same address each time.
func (f *front) start(cert tls.Certificate) {
	f.t.Helper()
	l, err := net.Listen("tcp", f.addr)
	if err != nil {
		f.t.Fatal(err)
	}
	f.addr = l.Addr().String()
	s := &http.Server{
		Handler: f, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}},
		ConnState: func(c net.Conn, s http.ConnState) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if s == http.StateClosed {
				delete(f.conns, c)
			} else {
				f.conns[c] = true
			}
		},
	}
	f.mu.Lock()
	f.server = s
	f.mu.Unlock()
	go func() { _ = s.ServeTLS(l, "", "") }()
}

// stop closes the listener and every connection.
func (f *front) stop() {
	f.mu.Lock()
	s := f.server
	f.mu.Unlock()
	s.Close()
	f.cut()
}

// cut closes every connection.
func (f *front) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		c.Close()
	}
}

// behave makes every request from now on, and those under way, go through fault;
// nil mends.
func (f *front) behave(fault func(w http.ResponseWriter, r *http.Request) bool) {
	f.mu.Lock()
	f.fault = fault
	close(f.changed)
	f.changed = make(chan struct{})
	f.mu.Unlock()
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	fault, changed := f.fault, f.changed
	f.mu.Unlock()
	if fault != nil && fault(w, r) {
		return
	}
	// What is under way when the fault begins is under it as well: it is cut.
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() {
		select {
		case <-changed:
			cancel()
		case <-ctx.Done():
		}
	}()
	f.proxy.ServeHTTP(w, r.WithContext(ctx))
}

// kubeconfig leads to the front, which has a certificate of its own.
func (f *front) kubeconfig() string { return f.kubeconfigAt(f.addr) }

func (f *front) kubeconfigAt(addr string) string {
	dir := f.t.TempDir()
	ca := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.cert.Certificate[0]}), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return write(f.t, "kubeconfig", `apiVersion: v1
kind: Config
current-context: test
clusters: [{name: test, cluster: {server: "https://`+addr+`", certificate-authority: "`+ca+`"}}]
users: [{name: test, user: {token: s3cret-token}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
`)
}

// answers refuses every request.
func answers(code int, reason, retryAfter string) func(w http.ResponseWriter, r *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": reason})
		return true
	}
}

func isWatch(r *http.Request) bool { return r.URL.Query().Get("watch") != "" }

// onWatches has a fault for watches only.
func onWatches(fault func(w http.ResponseWriter, r *http.Request) bool) func(w http.ResponseWriter, r *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool { return isWatch(r) && fault(w, r) }
}

// slowly answers each request only after so long.
func slowly(d time.Duration) func(w http.ResponseWriter, r *http.Request) bool {
	return func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-time.After(d):
		case <-r.Context().Done():
		}
		return false
	}
}

// forASecond ends each watch after a second, in the middle of whatever it says.
func (f *front) forASecond(w http.ResponseWriter, r *http.Request) bool {
	ctx, cancel := context.WithTimeout(r.Context(), time.Second)
	defer cancel()
	f.proxy.ServeHTTP(w, r.WithContext(ctx))
	return true
}

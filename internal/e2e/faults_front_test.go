//go:build linux

package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
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
	"testing"
	"time"

	"lightsout/internal/labtest"
)

// front stands before the lab's API server.
type front struct {
	t      *testing.T
	proxy  *httputil.ReverseProxy
	addr   string
	cert   tls.Certificate
	server *http.Server
}

func newFront(t *testing.T, api *labtest.API) *front {
	t.Helper()
	host, transport := api.Front()
	to, err := url.Parse(host)
	if err != nil {
		t.Fatal(err)
	}
	f := &front{t: t, cert: newCertificate(t)}
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
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 2)}, IsCA: true, BasicConstraintsValid: true,
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
	}
	f.server = s
	go func() { _ = s.ServeTLS(l, "", "") }()
}

// stop closes the listener and every connection.
func (f *front) stop() { f.server.Close() }

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.proxy.ServeHTTP(w, r) }

// kubeconfig leads to the front, which has a certificate of its own.
func (f *front) kubeconfig() string {
	dir := f.t.TempDir()
	ca := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.cert.Certificate[0]}), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return write(f.t, "kubeconfig", `apiVersion: v1
kind: Config
current-context: test
clusters: [{name: test, cluster: {server: "https://`+f.addr+`", certificate-authority: "`+ca+`"}}]
users: [{name: test, user: {token: s3cret-token}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
`)
}

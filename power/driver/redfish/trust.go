package redfish

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"lightsout/internal/text"
	"lightsout/power"
	"lightsout/power/internal/rest"
)

// trust says whose certificates are taken.
type trust struct {
	roots  *x509.CertPool // nil: the system's
	pinned map[string]bool
	legacy bool // Options.LegacyTLS
}

func newTrust(opt Options) (trust, error) {
	t := trust{pinned: map[string]bool{}, legacy: opt.LegacyTLS}
	if opt.CAFile != "" {
		pem, err := text.ReadFile(opt.CAFile)
		if err != nil {
			return t, power.Wrong("power.redfish.ca_file", " can't be read: %s", err)
		}
		t.roots = x509.NewCertPool()
		if !t.roots.AppendCertsFromPEM(pem) {
			return t, power.Wrong("power.redfish.ca_file", ": there is no certificate in %s", opt.CAFile)
		}
	}
	for _, f := range opt.Fingerprints {
		sum := strings.ToLower(strings.ReplaceAll(f, ":", ""))
		if b, err := hex.DecodeString(sum); err != nil || len(b) != sha256.Size {
			return t, power.Wrong("power.redfish.cert_sha256", ": %q is not a SHA-256 sum in hex", power.Clean(f))
		}
		t.pinned[sum] = true
	}
	return t, nil
}

// verify checks the certificate that a controller showed for host: a pinned one
// needs no authority and no name. The program reads certificates with a negative serial number
// (go.mod, x509negativeserial), which RFC 5280 forbids and old controllers have.
func (t trust) verify(host string, c tls.ConnectionState) error {
	if !t.legacy && slices.ContainsFunc(c.PeerCertificates, func(cert *x509.Certificate) bool { return cert.SerialNumber.Sign() < 0 }) {
		return text.Advise(errors.New("its certificate has a negative serial number, as those of old controllers"), legacyAdvice)
	}
	leaf := c.PeerCertificates[0]
	raw := sha256.Sum256(leaf.Raw)
	sum := hex.EncodeToString(raw[:])
	if t.pinned[sum] {
		return nil
	}
	opts := x509.VerifyOptions{DNSName: host, Roots: t.roots, Intermediates: x509.NewCertPool()}
	for _, cert := range c.PeerCertificates[1:] {
		opts.Intermediates.AddCert(cert)
	}
	if _, err := leaf.Verify(opts); err != nil {
		return text.Advise(fmt.Errorf("its certificate is not trusted: %w", err),
			"if it is the right one, set cert_sha256: "+sum+" under power.redfish, or ca_file to its authority")
	}
	return nil
}

// legacyAdvice is what an error about an old controller ends with.
const legacyAdvice = "if it is the right one, set legacy_tls: true under power.redfish"

// suites returns the cipher suites for a controller: those of crypto/tls, and with LegacyTLS those
// of AES with RSA key exchange too.
func (t trust) suites() (ids []uint16) {
	if !t.legacy {
		return nil
	}
	for _, s := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if !s.Insecure || strings.HasPrefix(s.Name, "TLS_RSA_WITH_AES_") {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// explain adds to the error of a handshake what an old controller needs: crypto/tls has no values
// for the alerts.
func (t trust) explain(err error) error {
	said := err.Error()
	if !t.legacy && (strings.Contains(said, "tls: handshake failure") || strings.Contains(said, "tls: insufficient security level")) {
		return text.Advise(fmt.Errorf("an old controller may offer no cipher suite of today (%w)", err), legacyAdvice)
	}
	return err
}

// newTransport makes connections of which trust approves.
func newTransport(opt Options) (*http.Transport, error) {
	trusted, err := newTrust(opt)
	if err != nil {
		return nil, err
	}
	t := rest.Transport(opt.Dial, "tcp")
	t.Proxy = nil // controllers are near, and it would see the password
	t.IdleConnTimeout, t.MaxIdleConnsPerHost = 30*time.Second, 1
	t.DialTLSContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
		defer cancel()
		raw, err := t.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		conn := tls.Client(raw, &tls.Config{
			ServerName: host, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, CipherSuites: trusted.suites(),
			// trust verifies instead: crypto/tls knows no pinned certificates.
			InsecureSkipVerify: true,
			VerifyConnection:   func(c tls.ConnectionState) error { return trusted.verify(host, c) },
		})
		if err := conn.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, trusted.explain(err)
		}
		return conn, nil
	}
	return t, nil
}

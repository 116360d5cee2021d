package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"lightsout/internal/config"
)

// authorityOf returns the certificate, in PEM, of an authority with that name.
func authorityOf(t *testing.T, name string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// Two operators of one cluster use the same locks, even if the configuration of one of
// them began as a lab's and still has its marks.
func TestOnlyALabHasLocksOfItsOwn(t *testing.T) {
	for name, c := range map[string]struct {
		authority, pace string
		lab             bool
	}{
		"a lab":                               {labAuthority, "fast", true},
		"a cluster":                           {"kubernetes", "", false},
		"a cluster, and a lab's settings":     {"kubernetes", "fast", false},
		"a lab's cluster, other settings":     {labAuthority, "", true},
		"no authority, and a lab's settings":  {"none", "fast", false},
		"no kubeconfig, and a lab's settings": {"", "fast", false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := &config.Config{Pace: c.pace, Kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
			if c.authority != "" {
				authority := ""
				if c.authority != "none" { // a certificate that the system trusts
					authority = ", certificate-authority-data: " + base64.StdEncoding.EncodeToString(authorityOf(t, c.authority))
				}
				text := "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {}}], " +
					"clusters: [{name: c, cluster: {server: 'https://10.0.0.1:6443'" + authority + "}}]}"
				if err := os.WriteFile(cfg.Kubeconfig, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if lab := lockDir(cfg) != hostDir; lab != c.lab {
				t.Errorf("locks in %s", lockDir(cfg))
			}
		})
	}
}

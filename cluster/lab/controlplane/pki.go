package controlplane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// validity is how long the certificates of a lab hold: longer than any lab.
const validity = 30 * 24 * time.Hour

// authority is the cluster's certificate authority.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte // the certificate
}

// pair is a certificate and its key, both PEM.
type pair struct{ cert, key []byte }

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial(),
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(validity),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{cert: cert, key: key, pem: encode("CERTIFICATE", der)}, nil
}

// serving issues a server certificate for names, each an IP address or a DNS
// name.
func (a *authority) serving(name string, names ...string) (pair, error) {
	t := &x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, n)
		}
	}
	return a.issue(t)
}

// client issues a client certificate: Kubernetes takes the user from the
// common name and the groups from the organisations.
func (a *authority) client(user string, groups ...string) (pair, error) {
	return a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

func (a *authority) issue(t *x509.Certificate) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	t.SerialNumber = serial()
	t.NotBefore = a.cert.NotBefore
	t.NotAfter = a.cert.NotAfter
	t.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, key.Public(), a.key)
	if err != nil {
		return pair{}, err
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return pair{}, err
	}
	return pair{cert: encode("CERTIFICATE", der), key: keyPEM}, nil
}

func serial() *big.Int {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil { // the system has no randomness: nothing can go on
		return big.NewInt(time.Now().UnixNano())
	}
	return n
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func encodeKey(key crypto.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return encode("PRIVATE KEY", der), nil
}

// pki is everything that the components and their clients prove themselves
// with.
type pki struct {
	authority *authority
	users     map[string]pair
}

// newPKI makes the keys of a cluster and writes those that the API server
// reads into dir.
func newPKI(dir string, serverNames []string) (*pki, error) {
	ca, err := newAuthority("lightsout-lab")
	if err != nil {
		return nil, fmt.Errorf("make the lab's certificate authority: %w", err)
	}
	serving, err := ca.serving("kube-apiserver", serverNames...)
	if err != nil {
		return nil, fmt.Errorf("make the API server's certificate: %w", err)
	}
	p := &pki{authority: ca, users: map[string]pair{}}
	for user, groups := range users {
		p.users[user], err = ca.client(user, groups...)
		if err != nil {
			return nil, fmt.Errorf("make the certificate of user %s: %w", user, err)
		}
	}
	account, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	accountKey, err := encodeKey(account)
	if err != nil {
		return nil, err
	}
	accountPublic, err := x509.MarshalPKIXPublicKey(account.Public())
	if err != nil {
		return nil, err
	}
	kubelet := p.users[kubeletClient]
	for name, data := range map[string][]byte{
		"ca.crt":                       ca.pem,
		"apiserver.crt":                serving.cert,
		"apiserver.key":                serving.key,
		"sa.key":                       accountKey,
		"sa.pub":                       encode("PUBLIC KEY", accountPublic),
		"apiserver-kubelet-client.crt": kubelet.cert,
		"apiserver-kubelet-client.key": kubelet.key,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return nil, err
		}
	}
	return p, nil
}

package controlplane

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm"
	"k8s.io/kubernetes/cmd/kubeadm/app/util/pkiutil"
)

// validity is how long the certificates of a lab hold: longer than any lab.
const validity = 30 * 24 * time.Hour

// pair is a certificate and its key, both PEM.
type pair struct{ cert, key []byte }

// pki is everything that the components and their clients prove themselves
// with.
type pki struct {
	ca    []byte // the certificate of the cluster's authority, PEM
	users map[string]pair
}

// newPKI makes the keys of a cluster as kubeadm does, and writes those that the
// API server reads into dir.
func newPKI(dir string, serverNames []string) (*pki, error) {
	config := func(c certutil.Config) *pkiutil.CertConfig {
		return &pkiutil.CertConfig{Config: c, NotAfter: time.Now().Add(validity), EncryptionAlgorithm: kubeadm.EncryptionAlgorithmECDSAP256}
	}
	ca, caKey, err := pkiutil.NewCertificateAuthority(config(certutil.Config{CommonName: "lightsout-lab", NotBefore: time.Now().Add(-time.Hour)}))
	if err != nil {
		return nil, fmt.Errorf("make the lab's certificate authority: %w", err)
	}
	var names certutil.AltNames
	for _, n := range serverNames {
		if ip := net.ParseIP(n); ip != nil {
			names.IPs = append(names.IPs, ip)
		} else {
			names.DNSNames = append(names.DNSNames, n)
		}
	}
	serving, servingKey, err := pkiutil.NewCertAndKey(ca, caKey, config(certutil.Config{
		CommonName: "kube-apiserver", AltNames: names, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}))
	if err != nil {
		return nil, fmt.Errorf("make the API server's certificate: %w", err)
	}
	p := &pki{ca: pkiutil.EncodeCertPEM(ca), users: map[string]pair{}}
	for user, groups := range users {
		cert, key, err := pkiutil.NewCertAndKey(ca, caKey, config(certutil.Config{
			CommonName: user, Organization: groups, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}))
		if err != nil {
			return nil, fmt.Errorf("make the certificate of user %s: %w", user, err)
		}
		keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
		if err != nil {
			return nil, err
		}
		p.users[user] = pair{pkiutil.EncodeCertPEM(cert), keyPEM}
	}
	account, err := pkiutil.NewPrivateKey(kubeadm.EncryptionAlgorithmECDSAP256)
	if err != nil {
		return nil, err
	}
	kubelet := p.users[kubeletClient]
	return p, errors.Join(
		pkiutil.WriteCert(dir, "ca", ca),
		pkiutil.WriteCertAndKey(dir, "apiserver", serving, servingKey),
		pkiutil.WriteKey(dir, "sa", account),
		pkiutil.WritePublicKey(dir, "sa", account.Public()),
		os.WriteFile(filepath.Join(dir, "apiserver-kubelet-client.crt"), kubelet.cert, 0o600),
		os.WriteFile(filepath.Join(dir, "apiserver-kubelet-client.key"), kubelet.key, 0o600),
	)
}

package cluster

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Identity identifies a cluster, whatever the names of its contexts.
type Identity struct {
	// UID is that of the namespace kube-system, which lives as long as the
	// cluster; empty when it could not be read.
	UID string
	// CA is a hash of the certificate authority in the kubeconfig, else of the server's
	// URL, and Server a hash of that URL. Neither needs a request. Clusters may share a
	// CA, and a cluster may have several URLs.
	CA, Server string
}

// Identity returns the part of the cluster's identity that the kubeconfig contains: no
// UID.
func (c *Config) Identity() Identity {
	ca := c.authority()
	sum := sha256.New()
	certificates := 0
	for block, rest := pem.Decode(ca); block != nil; block, rest = pem.Decode(rest) {
		sum.Write(block.Bytes)
		certificates++
	}
	if certificates == 0 {
		sum.Write([]byte(c.Server))
	}
	url := sha256.Sum256([]byte(strings.ToLower(strings.TrimSuffix(c.Server, "/"))))
	return Identity{CA: hex.EncodeToString(sum.Sum(nil)[:16]), Server: hex.EncodeToString(url[:16])}
}

// authority returns the certificates of the cluster's authority in PEM; empty when the
// kubeconfig has none.
func (c *Config) authority() []byte {
	ca := c.rest.CAData
	if len(ca) == 0 && c.rest.CAFile != "" {
		ca, _ = os.ReadFile(c.rest.CAFile) // if unreadable, every request reports it
	}
	return ca
}

// Authority returns the common name of the cluster's certificate authority; empty when
// the kubeconfig has no readable one.
func (c *Config) Authority() string {
	block, _ := pem.Decode(c.authority())
	if block == nil {
		return ""
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return ""
	}
	return cert.Subject.CommonName
}

// identityTimeout bounds one request for a cluster's identity: a credential plugin or a
// passphrase prompt of the bastion may take this long.
const identityTimeout = 30 * time.Second

// Identity asks the API server for the cluster's UID, for 30 s at most. It needs get on
// the namespace kube-system. If it fails, the error is one sentence, and the identity
// holds only the values from the kubeconfig.
func (c *Client) Identity(ctx context.Context) (Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, identityTimeout)
	defer cancel()
	id := c.cfg.Identity()
	var ns corev1.Namespace
	if err := c.get().Resource("namespaces").Name("kube-system").Do(ctx).Into(&ns); err != nil {
		return id, sentence("the cluster's UID can't be read: "+c.why(ctx, err, "get on the namespace kube-system", "it has no namespace kube-system"), err)
	}
	id.UID = harmless(string(ns.UID))
	return id, nil
}

package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Identity tells clusters apart whatever their contexts are called.
type Identity struct {
	// UID is that of the namespace kube-system, which lives as long as the
	// cluster; empty when it could not be read.
	UID string
	// CA is a hash of the certificate authority in the kubeconfig, else of the
	// server's URL. It is known without asking anybody.
	CA string
}

// Identity is what the kubeconfig alone tells of the cluster's identity: no UID.
func (c *Config) Identity() Identity {
	ca := c.rest.CAData
	if len(ca) == 0 && c.rest.CAFile != "" {
		ca, _ = os.ReadFile(c.rest.CAFile) // unreadable: every request will say so
	}
	sum := sha256.New()
	certificates := 0
	for block, rest := pem.Decode(ca); block != nil; block, rest = pem.Decode(rest) {
		sum.Write(block.Bytes)
		certificates++
	}
	if certificates == 0 {
		sum.Write([]byte(c.Server))
	}
	return Identity{CA: hex.EncodeToString(sum.Sum(nil)[:16])}
}

// identityTimeout bounds the question for a cluster's identity: a start waits
// for it.
const identityTimeout = 5 * time.Second

// Identity is the cluster's identity, after 5 s at most. It needs get on the
// namespace kube-system; without it, or without an answer, it is what the
// kubeconfig tells.
func (c *Client) Identity(ctx context.Context) Identity {
	ctx, cancel := context.WithTimeout(ctx, identityTimeout)
	defer cancel()
	id := c.cfg.Identity()
	var ns corev1.Namespace
	if err := c.get().Resource("namespaces").Name("kube-system").Do(ctx).Into(&ns); err == nil {
		id.UID = harmless(string(ns.UID))
	}
	return id
}

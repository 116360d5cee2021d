package cluster

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
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
	all, sum := c.authority(), sha256.New()
	for _, certificate := range all {
		sum.Write(certificate.Raw)
	}
	if len(all) == 0 {
		sum.Write([]byte(c.Server))
	}
	url := sha256.Sum256([]byte(strings.ToLower(strings.TrimSuffix(c.Server, "/"))))
	return Identity{CA: hex.EncodeToString(sum.Sum(nil)[:16]), Server: hex.EncodeToString(url[:16])}
}

// authority returns the certificates of the cluster's authority; none when the kubeconfig has
// no readable ones.
func (c *Config) authority() []*x509.Certificate {
	if c.rest == nil { // made without a kubeconfig
		return nil
	}
	ca := c.rest.CAData
	if len(ca) == 0 && c.rest.CAFile != "" {
		ca, _ = os.ReadFile(c.rest.CAFile) // if unreadable, every request reports it
	}
	all, _ := cert.ParseCertsPEM(ca)
	return all
}

// Authority returns the common name of the cluster's certificate authority; empty when
// the kubeconfig has no readable one.
func (c *Config) Authority() string {
	if all := c.authority(); len(all) > 0 {
		return all[0].Subject.CommonName
	}
	return ""
}

// identityTimeout bounds one request for a cluster's identity: a credential plugin or a
// passphrase prompt of the bastion may take this long.
const identityTimeout = 30 * time.Second

// Identity asks the API server for the cluster's UID, for 30 s at most. It needs get on
// the namespace kube-system. If it fails, the error is one sentence, and the identity
// holds only the values from the kubeconfig. From the first UID on, which a Watcher reads
// too, c belongs to that cluster: a Watcher takes no data from another one, and Confirm
// fails.
func (c *Client) Identity(ctx context.Context) (id Identity, err error) {
	ctx, cancel := context.WithTimeout(ctx, identityTimeout)
	defer cancel()
	id = c.cfg.Identity()
	id.UID, err = c.readUID(ctx, mainLine)
	if err != nil {
		return id, sentence("the cluster's UID can't be read: "+c.why(ctx, err, "get on the namespace kube-system", "it has no namespace kube-system"), err)
	}
	return id, nil
}

// otherClusterError reports that the API server answers for another cluster than before,
// because a tunnel, a load balancer or the DNS leads elsewhere now. If is is empty, the
// server no longer reveals its UID, and nobody can tell.
type otherClusterError struct{ server, was, is string }

func (e *otherClusterError) Error() string {
	if e.is == "" {
		return e.server + " no longer lets lightsout read the namespace kube-system, so it may be another cluster now; lightsout shows the old data and " +
			"switches nothing off: grant the right again (docs/clusterrole.yaml), correct the tunnel or the address, or start lightsout again"
	}
	return fmt.Sprintf("%s answers for another cluster now (its UID begins with %s, before with %s); lightsout shows the old data and switches nothing off: "+
		"correct the tunnel or the address, or start lightsout again", e.server, short(e.is), short(e.was))
}

// short is the beginning of a UID, enough to compare two by eye.
func short(uid string) string { return uid[:min(len(uid), 8)] }

func isOtherCluster(err error) bool { return otherCluster(err) != nil }

// otherCluster returns the otherClusterError in err; nil if there is none.
func otherCluster(err error) (other *otherClusterError) {
	errors.As(err, &other)
	return other
}

// readUID reads the cluster's UID on a line. It returns an otherClusterError if that is
// not the first UID that c has read, or if the server reveals none any more.
func (c *Client) readUID(ctx context.Context, l line) (string, error) {
	var ns corev1.Namespace
	r := c.lines[l].Get().MaxRetries(0).Resource("namespaces").Name("kube-system")
	// Any version will do, so the API server answers from memory, even when etcd is slow.
	r.VersionedParams(&metav1.GetOptions{ResourceVersion: "0"}, parameterCodec)
	err := r.Do(ctx).Into(&ns)
	reveals := !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err)
	if err != nil && reveals {
		return "", err // the server has not answered
	}
	uid := harmless(string(ns.UID))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uid = cmp.Or(c.uid, uid)
	if uid != c.uid {
		return "", &otherClusterError{hostOf(c.cfg.Server), c.uid, uid}
	}
	return uid, err
}

// clusterWithin bounds the wait for the answer to which cluster a server belongs.
const clusterWithin = 10 * time.Second

// sameCluster returns an error unless a line leads to the cluster that c has identified: a
// tunnel or the DNS may lead elsewhere by now. If c has identified none, it does so now, or
// returns nil if it cannot. Each look of the guards, each new watch and each change of an
// object begins with it.
func (c *Client) sameCluster(ctx context.Context, l line) error {
	ctx, cancel := context.WithTimeout(ctx, clusterWithin)
	defer cancel()
	_, err := c.readUID(ctx, l)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.uid == "" {
		return nil
	}
	return err
}

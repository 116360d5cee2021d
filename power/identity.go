package power

import "cmp"

// Cluster says which cluster something belongs to. Name is for people: many
// clusters share one (every kubeadm cluster is kubernetes-admin@kubernetes), so
// it identifies nothing by itself.
type Cluster struct {
	// Name is the kubeconfig context's name.
	Name string
	// UID is the UID of the namespace kube-system; empty while it is not known.
	UID string
	// CA is a hash of the cluster's certificate authority; empty when the
	// kubeconfig holds none.
	CA string
}

// Same reports whether a and b are one cluster: by the UID where both have
// one, else by the CA, and by the name only where neither says more.
func (a Cluster) Same(b Cluster) bool {
	switch {
	case a.UID != "" && b.UID != "":
		return a.UID == b.UID
	case a.CA != "" && b.CA != "":
		return a.CA == b.CA
	}
	return a.Name == b.Name
}

// proves reports whether a and b are one cluster by as much as this program
// can tell: by the name only where it knows no more of either.
func (a Cluster) proves(b Cluster) bool {
	bare := a.UID+a.CA+b.UID+b.CA == ""
	return a.Same(b) && (a.UID != "" && b.UID != "" || a.CA != "" && b.CA != "" || bare)
}

// lockName is what programs that know the cluster in different ways agree on:
// the CA is in every kubeconfig, the UID known only to who has asked.
func (a Cluster) lockName() string { return cmp.Or(a.CA, a.UID, a.Name) }

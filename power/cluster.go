package power

import "slices"

// Cluster identifies a cluster. Name is for people: many clusters share one (every
// kubeadm cluster is kubernetes-admin@kubernetes), so it identifies nothing by itself.
type Cluster struct {
	// Name is the name of the kubeconfig context.
	Name string `json:"name,omitempty"`
	// UID is the UID of the namespace kube-system; empty until the API server
	// has answered.
	UID string `json:"uid,omitempty"`
	// CA is a hash of the cluster's certificate authority, and Server a hash of the API
	// server's URL; each is empty if the kubeconfig lacks it. Several clusters may
	// share a CA, and one cluster may have several of both.
	CA     string `json:"ca,omitempty"`
	Server string `json:"server,omitempty"`
}

// Same reports whether a and b are one cluster. It compares the UIDs if both are known,
// otherwise CA and server, and the names only if nothing else is known.
func (a Cluster) Same(b Cluster) bool {
	switch {
	case a.UID != "" && b.UID != "":
		return a.UID == b.UID
	case a.CA != "" && b.CA != "":
		return a.CA == b.CA && (a.Server == b.Server || a.Server == "" || b.Server == "")
	}
	return a.Name == b.Name
}

// Proves reports whether a and b are one cluster as far as this program can tell. It
// accepts equal names only if nothing more is known of either.
func (a Cluster) Proves(b Cluster) bool {
	bare := a.UID+a.CA+b.UID+b.CA == ""
	return a.Same(b) && (a.UID != "" && b.UID != "" || a.CA != "" && b.CA != "" || bare)
}

// provesNode reports whether a node of cluster b is certainly one of a: unlike for Proves,
// the same CA does not suffice if a's UID is known and b's is not, because a tunnel may
// lead to another cluster that does not reveal its UID.
func (a Cluster) provesNode(b Cluster) bool { return a.Proves(b) && (a.UID == "" || b.UID != "") }

// certain reports whether nobody can confuse this cluster with another one, because its
// UID is known. A cluster of which only the name is known has no kubeconfig, so there
// is no other one to confuse it with.
func (a Cluster) certain() bool { return a.UID != "" || a.CA == "" }

// keys are the cluster's names for locks. Two programs on one cluster share at least
// one key once both know its UID, whatever their kubeconfigs. All programs take the
// locks in this order, so no two wait for each other.
func (a Cluster) keys() []string {
	if keys := slices.DeleteFunc([]string{a.CA, a.UID}, func(key string) bool { return key == "" }); len(keys) > 0 {
		return keys
	}
	return []string{a.Name}
}

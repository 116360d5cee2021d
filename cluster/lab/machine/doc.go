// Package machine stands in for a computer that is a Kubernetes node: its power
// switch, and what its kubelet shows to the outside.
//
// A Machine registers its Node, renews its Lease, runs the pods that are bound
// to it as programs on the lab's network, probes them, reports them, restarts
// them after a boot, and deletes those that are to go. What it writes to the
// API is what a kubelet writes; what a controller writes (taints, conditions
// of silent nodes, evictions, endpoints) is none of its business. A machine
// without power writes nothing at all: its connections to the API go through
// its own host in the lab's network and stop with it.
//
// The facts imitated are those of kubelet v1.36 (pkg/kubelet); each file names
// its sources. Machines use an administrator's credentials, not a kubelet's.
package machine

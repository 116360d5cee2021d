// Package cluster is what the Kubernetes API server says: it watches nodes,
// leases, pods, deployments, replica sets, endpoint slices and events, keeps
// an immutable [Snapshot] of them, tells every [Transition], and forecasts what
// the control plane will do next.
//
// What lives here: reading a kubeconfig, the connection to the API server and
// its health, trimming API objects to the value types in types.go, status
// words (kubectl's and our own), forecasts as pure functions of a Snapshot, and
// the calls that are not watching: a kubelet's configuration through nodes/proxy,
// a GET through pods/proxy and a rollout restart.
//
// What does not: switching machines, sending load, drawing, and any decision
// about what to do. The package imports no other package of this module; a
// dialer through a bastion is handed in as a plain function.
//
// A Snapshot is built for 5,000 nodes and 150,000 pods: its tables share every
// chunk that has not changed with the Snapshot before it, so the cost of a new
// one follows what changed and not what there is.
package cluster

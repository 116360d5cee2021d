// Package kubeproxy stands in for kube-proxy: on every node it leads
// connections to a NodePort to one of the service's endpoints, chosen at
// random for each connection.
//
// What is imitated is what a client notices: a change of endpoints takes
// effect at the next sync, at most one a second; established connections are
// left alone whatever becomes of their endpoint; endpoints that are ready come
// first, then those that are terminating and still serving
// (pkg/proxy/topology.go); with none, connections are refused. An endpoint
// whose machine is dead and which the control plane has not noticed yet is
// chosen like any other, and the client's own connect hangs: as behind a
// kernel's address translation, it is the endpoint that answers it, or refuses.
//
// Cluster IPs are not served: nothing in the lab dials them. Who is behind a
// service is read from the API (package endpoints) and never decided here.
package kubeproxy

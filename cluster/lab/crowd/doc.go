// Package crowd fills a real API server with the nodes, pods and deployments of
// a cluster of any size, to measure on. There is nothing behind them: no
// controller runs, and the only sign of life is that every node's Lease is
// renewed as a kubelet does it.
//
// The objects go straight into etcd, which takes tens of thousands a second; the
// API server has them from there as if it had written them itself.
package crowd

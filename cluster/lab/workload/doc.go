// Package workload holds the programs that the lab's pods run: what answers
// behind a container's port.
//
// A Program is looked up by its image, is started by the machine that runs the
// pod, and serves HTTP on the pod's own address in the lab's network. Here live
// the programs that know nothing of Kubernetes: a llama.cpp-like server with
// one slot and an nginx-like page. Programs that are part of the cluster's own
// machinery have packages of their own (kubeproxy, knative). How pods are
// started, probed and reported is the machine's business, not this package's.
package workload

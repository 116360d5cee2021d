// Package workload holds the programs that the lab's pods run: what answers
// behind a container's port.
//
// The machine that runs a pod finds the Program by its image and starts it. The Program
// serves HTTP on the pod's own address in the lab's network. This package has the
// programs that do not depend on Kubernetes: a llama.cpp-like server with one slot and
// an nginx-like page. Programs that are part of the cluster's own machinery have
// packages of their own (kubeproxy, ingress, process). The machine starts, probes and
// reports pods, not this package.
package workload

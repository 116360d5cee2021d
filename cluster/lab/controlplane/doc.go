// Package controlplane runs a real Kubernetes control plane: etcd,
// kube-apiserver, kube-controller-manager and kube-scheduler, each a child
// process made by executing this very program again (see Main).
//
// It makes the certificates and keys, chooses the flags, starts the
// processes, waits until the API server is ready, and can stop, continue,
// kill and start each of them. What the API server wants to reach in the
// cluster (pods, kubelets) it reaches through an egress selector that leads
// into a dial function, the lab's network.
//
// Nothing here knows what runs in the cluster, and nothing here imitates
// Kubernetes: conditions, taints, evictions, replica counts and endpoint
// slices are made by the processes. It needs Linux, whose parent-death signal
// ends the children with their parent.
package controlplane

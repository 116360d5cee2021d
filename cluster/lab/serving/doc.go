// Command serving runs one component of Knative Serving for the lab: the controller,
// the webhook, the autoscaler, an activator or a queue-proxy. It assembles Knative's
// own packages as Knative's own commands do. Those commands cannot run here: they
// listen on fixed ports of every address, and one computer runs twenty of them.
//
// It is a separate module because Knative needs older Kubernetes packages than the
// lab's control plane.
//
// # How it meets the lab's network
//
// The lab starts it with a pod's environment and three additions. LAB_SOCKS is the
// address of a SOCKS5 server that connects into the lab's network from the pod's
// machine. Standard input ends when the process must end at once. File descriptor 3
// takes one line of JSON with the real address of each of the pod's ports. SIGTERM ends
// a component as it does in a pod.
package main

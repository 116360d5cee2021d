// Package knative stands in for the part of Knative Serving that a request
// passes through: the gateway that routes by host name, the activator that
// holds requests until a pod has room, and the queue-proxy in front of each
// pod's own container.
//
// Knative's own packages do not build against this Kubernetes version here,
// so what a client can notice is written anew, after the behaviour of
// serving's pkg/queue, pkg/activator and pkg/http: who queues and how deep,
// which pod is chosen, what a dead pod does to a request, the timeouts and
// their answers, the probe headers, and the queue-proxy's statistics message.
//
// There are no Knative resources, no autoscaler and no reconcilers: revisions
// are given as Routes, and the number of pods is the Deployment's. The
// activator is always in the path, as it is for a revision whose scale is
// below the target burst capacity (211 by default).
package knative

// Package place forecasts the fate of the pods of nodes that go down: the node that each
// pod gets, or the reason why it gets none. It follows the rules of kube-scheduler's
// default profile and of the controllers that recreate pods.
//
//	w := place.New(snapshot)                         // everything that counts, once
//	o := w.Lose([]string{"node-3"}, place.Options{}) // the fate of its pods
//	o.Pending                                        // how many find no node, as a range
//	o.Workloads[i].Reasons                           // why, in the scheduler's own words
//
// The scheduler picks at random among nodes of equal score, and timing decides the
// order of pods of equal priority. Lose therefore simulates an outage in several random
// orders, and returns a range where the results differ.
//
// This package has filters (k8s.io/kubernetes/pkg/scheduler/framework/plugins), scores,
// preemption, quotas, and the reaction of Jobs, ReplicaSets and StatefulSets to evicted
// pods. It does not forecast times: package cluster/forecast does.
package place

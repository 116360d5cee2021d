package tui

import "lightsout/cluster"

// otherKind is a kind of object without a pane of its own, and what the screen shows
// for it.
type otherKind struct {
	text  string   // in the palette
	names []string // in kubectl and k9s
	show  func(m *Model)
}

// otherKinds are the kinds that somebody who knows kubectl asks for in an outage.
var otherKinds = []otherKind{
	workloadsOf("workloads: all kinds beside deployments", "", "wl", "wk", "workload", "workloads"),
	workloadsOf("StatefulSets", cluster.KindStatefulSet, "sts", "statefulset", "statefulsets"),
	workloadsOf("DaemonSets", cluster.KindDaemonSet, "ds", "daemonset", "daemonsets"),
	workloadsOf("Jobs", cluster.KindJob, "job", "jobs", "cj", "cronjob", "cronjobs"),
	workloadsOf("services and their endpoints", cluster.KindService, "svc", "service", "services", "ep", "endpoints"),
	podsOfKind("ReplicaSets", "rs", "replicaset", "replicasets"),
}

// workloadsOf is a kind that the pane of workloads lists.
func workloadsOf(what string, kind cluster.Kind, names ...string) otherKind {
	return otherKind{"go to: " + what, names, showKind(kind)}
}

// podsOfKind is a kind of which the pods are shown.
func podsOfKind(kind string, names ...string) otherKind {
	return otherKind{kind + ": their pods are in the pane of pods", names, func(m *Model) {
		showPane("Pods")(m)
		m.s.showPods(scopeAll)
		m.say(kind + " have no pane of their own: this pane now lists all pods (a); / filters them by name, and the details (d) of a pod name its owner")
	}}
}

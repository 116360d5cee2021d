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
}

// workloadsOf is a kind that the pane of workloads lists.
func workloadsOf(what string, kind cluster.Kind, names ...string) otherKind {
	return otherKind{"go to: " + what, names, showKind(kind)}
}

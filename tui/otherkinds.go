package tui

// otherKind is a kind of object that has no pane, and what the screen shows instead.
type otherKind struct {
	text  string   // in the palette
	names []string // in kubectl and k9s
	show  func(m *Model)
}

// otherKinds are the kinds that somebody who knows kubectl asks for in an outage.
var otherKinds = []otherKind{
	{"services: in the details of a deployment or a pod", []string{"svc", "service", "services", "ep", "endpoints"}, func(m *Model) {
		focusOn("Deployments")(m)
		m.say("Services have no pane of their own: the details (d) of a deployment or a pod list its services and their ready endpoints")
	}},
	podsOfKind("StatefulSets", "sts", "statefulset", "statefulsets"),
	podsOfKind("DaemonSets", "ds", "daemonset", "daemonsets"),
	podsOfKind("Jobs", "job", "jobs", "cj", "cronjob", "cronjobs"),
	podsOfKind("ReplicaSets", "rs", "replicaset", "replicasets"),
}

// podsOfKind is a kind of which the pods are shown.
func podsOfKind(kind string, names ...string) otherKind {
	return otherKind{kind + ": their pods are in the pane of pods", names, func(m *Model) {
		focusOn("Pods")(m)
		m.s.look(scopeAll)
		m.say(kind + " have no pane of their own: this pane now lists all pods (a); / filters them by name, and the details (d) of a pod name its owner")
	}}
}

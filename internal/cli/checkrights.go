package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"lightsout/cluster"
)

// need is something that lightsout does with rights in the cluster.
type need struct {
	what   string
	rights []cluster.Right
	// without says what is lost.
	without string
	// role is the ClusterRole of docs/clusterrole.yaml that gives it.
	role string
	// spare: it is a convenience, which is not missed.
	spare bool
}

// Names of the ClusterRoles in docs/clusterrole.yaml.
const (
	roleView    = "lightsout-view"
	roleMeasure = "lightsout-measure"
	roleAct     = "lightsout-act"
	roleLogs    = "lightsout-logs"
)

// needs lists what is asked of the API server: what is watched, by the
// namespaces that are chosen, and what is changed when the operator says so.
func needs(namespaces []string, readOnly bool) []need {
	each := func(r cluster.Right) []cluster.Right {
		if len(namespaces) == 0 {
			return []cluster.Right{r}
		}
		var out []cluster.Right
		for _, ns := range namespaces {
			r.Namespace = ns
			out = append(out, r)
		}
		return out
	}
	events, kubeSystem := namespaces, []need(nil)
	if len(namespaces) > 0 {
		if !slices.Contains(events, "default") { // the nodes' are there
			events = append(slices.Clone(events), "default")
		}
		if !slices.Contains(namespaces, "kube-system") {
			kubeSystem = []need{{"see the control plane's settings", see("", "pods", "kube-system"), "its timings are assumed", roleView, false}}
		}
	}
	out := []need{
		{"see nodes", see("", "nodes"), "nothing can be shown or switched off", roleView, false},
		{"see heartbeats", see("coordination.k8s.io", "leases", "kube-node-lease"), "a silent node is noticed only with NotReady", roleView, false},
		{"see pods", see("", "pods", namespaces...), "no pods are shown", roleView, false},
		{"see deployments", see("apps", "deployments", namespaces...), "no deployments are shown", roleView, false},
		{"see replica sets", see("apps", "replicasets", namespaces...), "pods are not told by deployment", roleView, false},
		{"see endpoints", see("discovery.k8s.io", "endpointslices", namespaces...), "it can't be told who serves", roleView, false},
		{"see events", see("", "events", events...), "reasons are not shown", roleView, false},
	}
	out = append(append(out, kubeSystem...),
		need{"ask pods", each(cluster.Right{Resource: "pods", Subresource: "proxy", Verb: "get"}), "served and queued are estimated, not measured", roleMeasure, false},
		need{"ask kubelets", []cluster.Right{{Resource: "nodes", Subresource: "proxy", Verb: "get"}}, "the kubelets' settings are assumed", roleMeasure, false},
		need{"read pods' logs", each(cluster.Right{Resource: "pods", Subresource: "log", Verb: "get"}), "the screen shows no logs", roleLogs, true},
		need{"see services and usage", append(slices.Concat(each(cluster.Right{Resource: "services", Verb: "list"}), each(metrics("pods"))), metrics("nodes")), "details do not tell them", roleLogs, true},
		need{"see owners", owners(each), "stateful and daemon sets, jobs and what is Knative's are not told in details", roleLogs, true},
		need{"name namespaces", []cluster.Right{{Resource: "namespaces", Verb: "list"}}, "their names are not completed on the screen", roleLogs, true},
	)
	if readOnly {
		return out
	}
	return append(out,
		need{"restart a rollout", slices.Concat(each(cluster.Right{Group: "apps", Resource: "deployments", Verb: "get"}), each(cluster.Right{Group: "apps", Resource: "deployments", Verb: "patch"})),
			"pods can't be spread again after the nodes are back", roleAct, false},
		need{"cordon a node", []cluster.Right{{Resource: "nodes", Verb: "get"}, {Resource: "nodes", Verb: "patch"}}, "nodes can't be cordoned before a shutdown", roleAct, false},
		// Those of other namespaces, too, are on a node that is drained.
		need{"drain a node", []cluster.Right{{Resource: "pods", Verb: "list"}, {Resource: "pods", Subresource: "eviction", Verb: "create"}}, "nodes can't be drained before a shutdown", roleAct, false},
	)
}

// see are the rights to watch a kind, in all namespaces where none is named.
func see(group, resource string, in ...string) (out []cluster.Right) {
	if len(in) == 0 {
		in = []string{""}
	}
	for _, ns := range in {
		for _, verb := range []string{"list", "watch"} {
			out = append(out, cluster.Right{Group: group, Resource: resource, Verb: verb, Namespace: ns})
		}
	}
	return out
}

// owners are the rights to look at what owns pods and deployments and is not watched.
func owners(each func(cluster.Right) []cluster.Right) (out []cluster.Right) {
	for _, r := range []cluster.Right{
		{Group: "apps", Resource: "statefulsets"}, {Group: "apps", Resource: "daemonsets"}, {Group: "batch", Resource: "jobs"},
		{Group: "serving.knative.dev", Resource: "revisions"}, {Group: "serving.knative.dev", Resource: "services"},
	} {
		r.Verb = "list"
		out = append(out, each(r)...)
	}
	return out
}

// metrics is the right to ask metrics-server what things of that sort use.
func metrics(resource string) cluster.Right {
	return cluster.Right{Group: "metrics.k8s.io", Resource: resource, Verb: "get"}
}

// rights asks for each need whether the account may.
func (c *checkup) rights(ctx context.Context) []checkRow {
	wanted := needs(c.config.Namespaces, c.readOnly)
	rows := make([]checkRow, 0, len(wanted))
	for _, n := range wanted {
		rows = append(rows, c.right(ctx, n))
	}
	if c.readOnly {
		rows = append(rows, skipped("restart, cordon, drain", "--read-only"))
	}
	return rows
}

func (c *checkup) right(ctx context.Context, n need) checkRow {
	var lacks []cluster.Right
	for _, r := range n.rights {
		ok, err := c.api.May(ctx, r)
		if err != nil {
			return missing(n.what, err, "ask the cluster's administrators")
		}
		if !ok {
			lacks = append(lacks, r)
		}
	}
	if len(lacks) > 0 && n.spare {
		return skipped(n.what, "the account may not %s: %s; the ClusterRole %s gives it", inWords(lacks), n.without, n.role)
	}
	if len(lacks) > 0 {
		return missing(n.what, fmt.Errorf("the account may not %s: %s", inWords(lacks), n.without),
			fmt.Sprintf("bind the ClusterRole %s (docs/clusterrole.yaml) to it", n.role))
	}
	return works(n.what, "it may %s", inWords(n.rights))
}

// inWords puts rights into words: "list and watch pods in default, kube-system".
func inWords(rights []cluster.Right) string {
	type group struct {
		what              string
		verbs, namespaces []string
	}
	var groups []*group
	add := func(to *[]string, s string) {
		if s != "" && !slices.Contains(*to, s) {
			*to = append(*to, s)
		}
	}
	for _, r := range rights {
		what := strings.TrimPrefix(cluster.Right{Group: r.Group, Resource: r.Resource, Subresource: r.Subresource}.String(), " ")
		i := slices.IndexFunc(groups, func(g *group) bool { return g.what == what })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &group{what: what})
		}
		add(&groups[i].verbs, r.Verb)
		add(&groups[i].namespaces, r.Namespace)
	}
	var out []string
	for _, g := range groups {
		s := strings.Join(g.verbs, " and ") + " " + g.what
		if len(g.namespaces) > 0 {
			s += " in " + strings.Join(g.namespaces, ", ")
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

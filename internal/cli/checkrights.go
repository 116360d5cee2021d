package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"lightsout/cluster"
	"lightsout/internal/config"
	"lightsout/internal/text"
)

// need is something that lightsout does with rights in the cluster.
type need struct {
	what string
	// words lists the rights in kubectl's notation, separated by semicolons: verbs,
	// then resources. They apply in the chosen namespaces, or in the namespace after an
	// @, where * is all. The name after a = limits them to one object.
	words string
	// without describes the loss without the rights.
	without string
	// role is the ClusterRole of docs/clusterrole.yaml that gives it.
	role   string
	rights []cluster.Right // what words say
}

// Names of the ClusterRoles in docs/clusterrole.yaml. Check does not fail without
// rolePlace or roleLogs: they only add convenience.
const (
	roleView    = "lightsout-view"
	rolePlace   = "lightsout-place"
	roleMeasure = "lightsout-measure"
	roleAct     = "lightsout-act"
	roleLogs    = "lightsout-logs"
	roleLease   = "lightsout-recorder-lease" // a Role
)

// allNeeds lists the rights that lightsout uses: for watching, and for changes at the
// operator's request.
var allNeeds = []need{
	{"see nodes", "list,watch nodes", "lightsout can neither show nor switch off anything", roleView, nil},
	{"identify the cluster", "get namespaces=kube-system@kube-system", "lightsout cannot tell it from another cluster, and switches off only after a typed confirmation", roleView, nil},
	{"see heartbeats", "list,watch leases.coordination.k8s.io@kube-node-lease", "lightsout detects a silent node only when it is NotReady", roleView, nil},
	{"see pods", "list,watch pods", "no pods are shown", roleView, nil},
	{"see deployments", "list,watch deployments.apps", "no deployments are shown", roleView, nil},
	{"see endpoints", "list,watch endpointslices.discovery.k8s.io", "lightsout cannot tell who serves", roleView, nil},
	{"see events", "list,watch events", "reasons are not shown", roleView, nil},
	{"forecast where pods go", "list,watch persistentvolumeclaims; list,watch resourcequotas; list,watch jobs.batch; list,watch poddisruptionbudgets.policy",
		"forecasts ignore them", rolePlace, nil},
	{"forecast which pods volumes hold", "list,watch persistentvolumes; list,watch storageclasses.storage.k8s.io; list,watch csidrivers.storage.k8s.io; list,watch namespaces",
		"forecasts ignore them", rolePlace, nil},
	{"see Knative's objects", "list,watch services.serving.knative.dev; list,watch revisions.serving.knative.dev",
		"lightsout does not show whether Knative services are Ready, nor how they split requests", rolePlace, nil},
	{"see other workloads", "list,watch statefulsets.apps; list,watch daemonsets.apps", "the pane of workloads does not show StatefulSets and DaemonSets", rolePlace, nil},
	{"see the control plane's settings", "list,watch pods@kube-system", "lightsout assumes its timings", roleView, nil},
	{"query pods", "get pods/proxy", "served and queued are estimated, not measured", roleMeasure, nil},
	{"query kubelets", "get nodes/proxy", "lightsout assumes the kubelets' settings", roleMeasure, nil},
	{"read pods' logs", "get pods/log", "the screen shows no logs", roleLogs, nil},
	{"see services", "list services", "details do not show them", roleLogs, nil},
	{"see owners", "list replicasets.apps; list statefulsets.apps; list daemonsets.apps; list jobs.batch; list revisions.serving.knative.dev; list services.serving.knative.dev",
		"details do not show ReplicaSets, StatefulSets, DaemonSets, Jobs and Knative resources", roleLogs, nil},
	{"list namespaces", "list namespaces", "the screen does not complete their names", roleLogs, nil},
	{"restart a rollout", "get,patch deployments.apps", "pods can't be spread again after the nodes are back", roleAct, nil},
	{"cordon a node", "get,patch nodes", "nodes can't be cordoned before a shutdown", roleAct, nil},
	// Those of other namespaces, too, are on a node that is drained.
	{"drain a node", "list pods@*; create pods/eviction@*", "nodes can't be drained before a shutdown", roleAct, nil},
}

// needs returns the rights for the chosen namespaces, where none means all.
func needs(namespaces []string, readOnly bool) (out []need) {
	for _, n := range allNeeds {
		seen := n.words == "list,watch pods@kube-system" && (len(namespaces) == 0 || slices.Contains(namespaces, "kube-system"))
		if seen || readOnly && n.role == roleAct {
			continue
		}
		for words := range strings.SplitSeq(n.words, "; ") {
			n.rights = append(n.rights, rightsOf(words, namespaces)...)
		}
		out = append(out, n)
	}
	return out
}

// leaseNeeds returns the rights on the Lease by which several recorders choose the one that
// reports, if there is one.
func leaseNeeds(set config.Recorder) []need {
	if set.Lease == "" {
		return nil
	}
	k := keyOf(set.Lease)
	rights := rightsOf(fmt.Sprintf("get,update leases.coordination.k8s.io=%s@%s", k.Name, k.Namespace), nil)
	rights = append(rights, rightsOf("create leases.coordination.k8s.io@"+k.Namespace, nil)...)
	return []need{{"use the recorders' lease", "", "each recorder reports the same outages, a minute late", roleLease, rights}}
}

var clusterScoped = map[string]bool{"nodes": true, "namespaces": true, "persistentvolumes": true, "storageclasses": true, "csidrivers": true}

// rightsOf are the rights that words name.
func rightsOf(words string, namespaces []string) (out []cluster.Right) {
	verbs, what, _ := strings.Cut(words, " ")
	what, in, named := strings.Cut(what, "@")
	what, name, _ := strings.Cut(what, "=")
	what, sub, _ := strings.Cut(what, "/")
	resource, group, _ := strings.Cut(what, ".")
	switch {
	case named:
		namespaces = []string{strings.TrimSuffix(in, "*")}
	case len(namespaces) == 0, clusterScoped[resource]:
		namespaces = []string{""}
	case resource == "events" && !slices.Contains(namespaces, "default"): // the nodes' are there
		namespaces = append(slices.Clone(namespaces), "default")
	}
	for _, ns := range namespaces {
		for verb := range strings.SplitSeq(verbs, ",") {
			out = append(out, cluster.Right{Group: group, Resource: resource, Subresource: sub, Verb: verb, Namespace: ns, Name: name})
		}
	}
	return out
}

// rights asks for each need whether the account may.
func (c *checkup) rights(ctx context.Context) []checkRow {
	wanted := needs(c.config.Namespaces, c.readOnly)
	if c.recorder {
		wanted = slices.DeleteFunc(wanted, func(n need) bool { return n.role != roleView && n.role != rolePlace })
		wanted = append(wanted, leaseNeeds(c.config.Recorder)...)
	}
	rows := text.Each(wanted, func(n need) checkRow { return c.right(ctx, n) })
	if c.readOnly && !c.recorder {
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
	if len(lacks) > 0 && (n.role == roleLogs || n.role == rolePlace) {
		return skipped(n.what, "the account may not %s: %s; the ClusterRole %s gives it", inWords(lacks), n.without, n.role)
	}
	if len(lacks) > 0 {
		return missing(n.what, fmt.Errorf("the account may not %s: %s", inWords(lacks), n.without),
			fmt.Sprintf("bind the role %s (docs/clusterrole.yaml) to it", n.role))
	}
	return works(n.what, "it may %s", inWords(n.rights))
}

// inWords puts rights into words: "list pods in default, watch pods in default".
func inWords(rights []cluster.Right) string {
	return strings.Join(text.Each(rights, func(r cluster.Right) string {
		if r.Namespace != "" && r.Name == "" {
			return r.String() + " in " + r.Namespace
		}
		return r.String()
	}), ", ")
}

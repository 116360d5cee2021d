package trial

import (
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/trial/phase"
	"lightsout/internal/trial/plan"
	"lightsout/loadgen"
	"lightsout/power"
)

// emptyNode is a cluster whose node k8s3 runs the only pod of default/web, and whose node k8s2,
// which goes off at zero, runs none.
type emptyNode struct {
	cluster.Contents
	nodes    []string // that go off; k8s2 if empty
	requests []loadgen.Record
}

func newEmptyNode() *emptyNode {
	c := &emptyNode{nodes: []string{"k8s2"}, requests: []loadgen.Record{request(loadgen.ClassOK, -1, 0.1), request(loadgen.ClassOK, 8, 0.1)}}
	web := cluster.Key{Namespace: "default", Name: "web"}
	c.At, c.Link = at(-1), cluster.Link{State: cluster.LinkLive, LastContact: at(-1)}
	c.Access = map[cluster.Kind]cluster.Access{cluster.KindEndpointSlice: {Synced: true}, cluster.KindPod: {Synced: true}}
	c.Deployments = []*cluster.Deployment{{Key: web, Replicas: 1, Total: 1, Updated: 1, ReadyReplicas: 1, Available: 1}}
	for name, endpoints := range map[string]int{"k8s2": 0, "k8s3": 1} {
		c.Nodes = append(c.Nodes, &cluster.Node{Name: name, UID: name, Ready: cluster.TriTrue, ReadySince: at(-3600), Renewed: at(-2), RenewSeen: at(-2),
			LeaseDuration: 40 * time.Second, ReadyEndpoints: endpoints, CPUMilli: 4000, MaxPods: 110})
	}
	c.Pods = []*cluster.Pod{{Key: cluster.Key{Namespace: "default", Name: "web-1"}, Node: "k8s3", Phase: "Running", Status: "Running", Ready: true,
		Created: at(-3600), ReadySince: at(-3590), OwnerKind: "ReplicaSet", OwnerName: "web-1", Deployment: "web", UnreachableFor: 300 * time.Second, NotReadyFor: 300 * time.Second}}
	return c
}

// summary is what the outage leaves.
func (c *emptyNode) summary() *record.Summary {
	tr := phase.NewTracker(cluster.Key{Namespace: "default", Name: "web"})
	tr.Observe(cluster.NewSnapshot(c.Contents), at(-1))
	for _, node := range c.nodes {
		tr.Switched(node, power.ActionOff, zero)
	}
	c.At = at(1)
	tr.Observe(cluster.NewSnapshot(c.Contents), at(1))
	for _, r := range c.requests {
		tr.Request(r)
	}
	return &record.Summary{Zero: zero, Phases: tr.Table(), Load: []record.Load{{Step: "clients", Failures: record.FailuresOf(tr.Run(1).Window, zero)}}}
}

// Where no pod was on the nodes that went off, the forecast is that nothing fails and nothing is
// replaced: it can hold, or not, or nobody can observe that.
func TestTheForecastOfNothingHoldsIfNothingHappens(t *testing.T) {
	t.Parallel()
	type judged struct {
		got            string
		ok, unobserved bool
	}
	none, noReplacement := judged{"0 s, none failed; the forecast expected none", true, false}, judged{"default/web: no pod of it served on the nodes, and the forecast expected no replacement", true, false}
	noForecast := judged{"0 s, none failed, with no forecast", false, false}
	unforeseen := judged{"default/web at 0.0 s, with no forecast, none of its pods served on the nodes", false, false}
	for name, tc := range map[string]struct {
		is              func(c *emptyNode)
		errors, replace judged
	}{
		"no pod was there, and no request failed": {func(*emptyNode) {}, none, noReplacement},
		"a request failed": {func(c *emptyNode) {
			c.requests = []loadgen.Record{request(loadgen.ClassTotal, 2, 3), request(loadgen.ClassOK, 66, 0.1)}
		}, judged{"3 s, 1 request, and the forecast expected none", false, false}, noReplacement},
		"no request was sent": {func(c *emptyNode) { c.requests = c.requests[:1] },
			judged{"not observed: this load sent no request during the outage", false, true}, noReplacement},
		"nobody may read the endpoints": {func(c *emptyNode) { c.Access[cluster.KindEndpointSlice] = cluster.Access{Forbidden: true} }, noForecast, noReplacement},
		"nobody may read the pods": {func(c *emptyNode) {
			c.Access[cluster.KindPod], c.Pods = cluster.Access{Forbidden: true}, nil
		}, noForecast, unforeseen},
		"the API server does not answer": {func(c *emptyNode) { c.Link.State = cluster.LinkDisconnected }, noForecast, unforeseen},
		"another deployment had a pod there": {func(c *emptyNode) {
			p := *c.Pods[0]
			p.Name, p.Deployment, p.Node = "shop-1", "shop", "k8s2"
			c.Pods = append(c.Pods, &p)
			for _, n := range c.Nodes {
				n.ReadyEndpoints = 1
			}
		}, judged{"0 s, none failed", true, false}, noReplacement},
		"a node with its pod went off too": {func(c *emptyNode) { c.nodes = append(c.nodes, "k8s3") },
			noForecast, judged{"default/web not observed, zone rule: no node is ready, so nothing is evicted", false, true}},
		"its pod was there without an endpoint": {func(c *emptyNode) { c.Pods[0].Node = "k8s2" },
			judged{"0 s, none failed", true, false}, judged{"default/web not observed", false, true}},
		"its pod was there and not ready": {func(c *emptyNode) {
			p := *c.Pods[0]
			p.Name, p.Node, p.Ready = "web-2", "k8s2", false
			c.Pods = append(c.Pods, &p)
		}, none, noReplacement},
		"the node was not Ready before": {func(c *emptyNode) {
			for _, n := range c.Nodes {
				n.Ready = cluster.TriUnknown
			}
		}, noForecast, noReplacement},
	} {
		c := newEmptyNode()
		tc.is(c)
		sum := c.summary()
		for measure, want := range map[string]judged{"error_window": tc.errors, "replaced": tc.replace} {
			x := plan.Expectation{Measure: measure, Predicted: true}
			if measure == "error_window" {
				x.Step = "clients"
			}
			got := JudgeExpectation(x, sum)
			if (judged{got.Got, got.OK, got.Unobserved}) != want {
				t.Errorf("%s: %s: %+v, want %+v", name, measure, got, want)
			}
		}
	}
}

// The forecast of a node without pods that are subject to eviction holds if none is evicted.
func TestTheForecastOfNoEvictionHolds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		is func(c *emptyNode)
		ok bool
	}{
		"no pod was there":               {func(*emptyNode) {}, true},
		"its pod was there":              {func(c *emptyNode) { c.Pods[0].Node = "k8s2" }, false},
		"the API server does not answer": {func(c *emptyNode) { c.Link.State = cluster.LinkDisconnected }, false},
	} {
		c := newEmptyNode()
		tc.is(c)
		if got := JudgeExpectation(plan.Expectation{Measure: "evicted", Predicted: true}, c.summary()); got.OK != tc.ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

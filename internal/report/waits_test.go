package report

import (
	"slices"
	"strings"
	"testing"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/power"
)

// Two nodes that go down within a second share a row. Each waited for its own time.
func TestARowOfTwoNodesHasTheWaitOfEach(t *testing.T) {
	for name, tc := range map[string]struct {
		happen func(r *record.Record)
		want   string
	}{
		"the second one falls silent and is detected a second later": {func(r *record.Record) {
			falls(r, "a", 0, 5)
			falls(r, "b", 0.9, 5.9)
		}, "T+00:05.0|marks a, b NotReady (by T+00:05.9)|5 s after its last heartbeat|"},
		"the second one falls silent a second later": {func(r *record.Record) {
			falls(r, "a", 0, 3.9)
			falls(r, "b", 1, 3.9)
		}, "T+00:03.9|marks a, b NotReady|2.9–3.9 s after its last heartbeat|"},
		"the second one is detected before the first": {func(r *record.Record) {
			falls(r, "a", 0, 5.5)
			falls(r, "b", 1, 5)
		}, "T+00:05.0|marks a, b NotReady (by T+00:05.5)|4–5.5 s after its last heartbeat|"},
		"one of them": {func(r *record.Record) { falls(r, "a", 0, 5) }, "T+00:05.0|marks a NotReady|5 s after its last heartbeat|"},
		"they are tainted a second apart": {func(r *record.Record) {
			sees(r, view.PhaseTainted, "a", 4)
			sees(r, view.PhaseTainted, "b", 5.5)
			sees(r, view.PhaseEvicted, "a", 24.5)
			sees(r, view.PhaseEvicted, "b", 25.4)
		}, "T+00:24.5|begins to delete the pods on a, b (by T+00:25.4)|19.9–20.5 s after the taint|"},
		"its return from an earlier outage left another taint": {func(r *record.Record) {
			falls(r, "a", 0, 4)
			for s, taint := range map[float64]string{-40: cluster.TaintNotReady, 5: cluster.TaintUnreachable} {
				r.Events = append(r.Events, view.Event{Subject: "a", Change: cluster.ChangeTaint, To: taint + ":NoExecute", At: at(s), Seen: at(s)})
			}
			slices.SortFunc(r.Events, func(a, b view.Event) int { return a.Seen.Compare(b.Seen) })
			sees(r, view.PhaseTainted, "a", 5)
			sees(r, view.PhaseEvicted, "a", 25)
		}, "T+00:25.0|begins to delete the pods on a|20 s after the taint|tolerationSeconds of node.kubernetes.io/unreachable (unknown)"},
		"the API server answers again, and tells what happened": {func(r *record.Record) {
			signAPI(r, 0)
			loseAPI(r, 0, 46)
			down(r, "a", outage.SpanNotReady, 5, 35)
			shows(r, 46, cluster.Ref{Kind: cluster.KindDeployment, Key: cluster.Key{Namespace: "default", Name: "web"}}, "a", false, 35, "web-1-a") // its kubelet deleted it anew
			r.Events = append(r.Events, view.Event{Subject: "a", Change: cluster.ChangeTaint, To: cluster.TaintUnreachable + ":NoExecute", At: at(5), Seen: at(5)},
				view.Event{Namespace: "default", Subject: "web-1-a", Code: view.CodePodStatus, To: "Terminating", At: at(25), Seen: at(25)})
		}, "T+00:25.0|begins to delete the pods on a|20 s after the taint|tolerationSeconds of node.kubernetes.io/unreachable (unknown)|T+00:46.0"},
		"it went down twice": {func(r *record.Record) {
			web := cluster.Ref{Kind: cluster.KindDeployment, Key: cluster.Key{Namespace: "default", Name: "web"}}
			for i, s := range []float64{10, 200} {
				asks(r, "a", s, power.ActionOff, power.StageSending)
				down(r, "a", outage.SpanNotReady, s+5, s+90)
				shows(r, s, web, "a", true, 0, "web-1-"+itoa(i))
				shows(r, s+40, web, "a", false, s+40, "web-1-"+itoa(i))
			}
			sees(r, view.PhaseEvicted, "a", 240.5)
			sees(r, view.PhaseRestored, "default/web", 291) // none of its pods was missing
		}, "T+00:50.0|begins to delete the pods on a|–|its pods' tolerationSeconds; lightsout did not see the taint come\n" +
			"T+01:40.0|marks a Ready|–|its kubelet reports a new state at once, else every nodeStatusUpdateFrequency (unknown)\n" +
			"T+03:25.0|marks a NotReady|5 s after the request to cut the power|no heartbeat for node-monitor-grace-period (unknown), checked every node-monitor-period (unknown)\n" +
			"T+04:00.5|begins to delete the pods on a|–|its pods' tolerationSeconds; lightsout did not see the taint come\n" +
			"T+04:50.0|marks a Ready|–|its kubelet reports a new state at once, else every nodeStatusUpdateFrequency (unknown)\n"},
		"a node of an earlier outage was Ready before": {func(r *record.Record) {
			for node, s := range map[string]float64{"a": 10, "b": 200} {
				asks(r, node, s, power.ActionOff, power.StageSending)
				down(r, node, outage.SpanOff, s+1, s+90)
				sees(r, view.PhaseReady, node, s+90)
			}
			for _, x := range []struct {
				s  float64
				to string
			}{{1, "6/6"}, {210, "5/6"}, {264, "6/6"}} {
				countsOf(r, "shop", x.s, "", x.to)
			}
		}, "T+04:24.0|has all pods of default/shop available on other nodes|"},
	} {
		r := bare()
		tc.happen(r)
		if got := rowsOf(kube(r)); !strings.Contains("\n"+got+"\n", "\n"+tc.want) {
			t.Errorf("%s: no %q in\n%s", name, tc.want, got)
		}
	}
}

// What the tables tell of a node has one time, and the lengths are those of the offsets.
func TestATimeIsTheSameInEveryTable(t *testing.T) {
	r := bare()
	asks(r, "a", 0.04, power.ActionOff, power.StageSending)
	down(r, "a", outage.SpanOff, 2, 50)
	down(r, "a", outage.SpanNotReady, 5.06, 60.04)
	sees(r, view.PhaseOff, "a", 3.2) // by a later poll
	sees(r, view.PhaseReady, "a", 60.06)
	all := factsOf(r)
	nodes, phases := rowsOf(nodesTable(r, all)), rowsOf(phasesOf(r, nodesIn(all)))
	if nodes != "a|power cut by lightsout|T+00:00.0|T+00:02.0|T+00:05.1|T+01:00.0|60 s" || phases != "off|a|T+00:02.0\nready|a|T+01:00.0" ||
		!strings.Contains(rowsOf(kube(r)), "T+00:05.1|marks a NotReady|5.1 s after the request") {
		t.Errorf("%s\n%s\n%s", nodes, phases, rowsOf(kube(r)))
	}
}

// Nodes with different reasons, or that waited for different things, have rows of their own.
func TestARowHasOneReason(t *testing.T) {
	r := bare()
	falls(r, "a", 0, 5)
	falls(r, "b", 1, 5.5)
	e := view.NewEvent(view.CodeNodeStatus, "a", view.Facts{})
	e.Cause, e.Seen = cluster.CauseShutdown, at(4)
	r.Events = append(r.Events, e)
	asks(r, "c", 1, power.ActionOff, power.StageSending)
	down(r, "c", outage.SpanOff, 1.5, 0)
	sees(r, view.PhaseDetected, "c", 5.7)
	const late = "no heartbeat for node-monitor-grace-period (unknown), checked every node-monitor-period (unknown)"
	want := "T+00:05.0|marks a NotReady|5 s after its last heartbeat|its kubelet reported that it shuts down: shutdownGracePeriod (unknown)\n" +
		"T+00:05.5|marks b NotReady|4.5 s after its last heartbeat|" + late + "\n" +
		"T+00:05.7|marks c NotReady|4.7 s after the request to cut the power|" + late
	if got := rowsOf(kube(r)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Pods that find no node before one is Ready come back no sooner by tolerating less.
func TestPodsThatWaitedForANodeToReturn(t *testing.T) {
	for name, c := range map[string]struct {
		placed    float64
		why, then string
	}{
		"after the return":  {61, "its pods found no node until k8s3 was Ready", ""},
		"before the return": {59.5, "readiness: a new pod counts", "T+00:27.0"},
	} {
		r := bare()
		off(r, 300)
		down(r, "k8s2", outage.SpanNotReady, 25, 300)
		down(r, "k8s3", outage.SpanNotReady, 28, 60)
		r.Events = append(r.Events, view.Event{Lane: view.LaneTaint, Subject: "k8s2", Change: cluster.ChangeTaint, To: cluster.TaintUnreachable + ":NoExecute", At: at(25), Seen: at(25)})
		for s, to := range map[float64]string{1: "6/6", 26: "0/6", 61: "6/6"} {
			counts(r, s, "", to)
		}
		waits(r, 59, "web-1")
		waits(r, c.placed, "web-1")
		r.Samples[len(r.Samples)-1].Cluster.Pods[0].Node = "k8s3"
		for phase, s := range map[string]float64{view.PhaseDetected: 25, view.PhaseTainted: 25, view.PhaseEvicted: 59} {
			sees(r, phase, "k8s2", s)
		}
		sees(r, view.PhaseReplaced, "default/web", 61)
		all := factsOf(r)
		causes := causesOf(r, all)
		if got := rowsOf(kubernetesOf(r, causes)); !strings.Contains(got, "|"+c.why) || !strings.Contains(got, "marks k8s3 NotReady") {
			t.Errorf("%s: %s", name, got)
		}
		if got := rowsOf(shorterOf(r, causes, 0)); strings.Contains(got, " to 0") != (c.then != "") || !strings.Contains(got, c.then) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Room was missing only for pods that had no node until a node was Ready again, as the scheduler said: all wait for a
// moment to be placed, also at the return, and one whose volume is elsewhere needs no room.
func TestPodsThatFoundANodeNeededNoMoreRoom(t *testing.T) {
	const gpu = "0/3 nodes are available: 2 Insufficient nvidia.com/gpu, 1 node(s) had untolerated taint(s)."
	for name, c := range map[string]struct {
		placed, back float64
		why, want    string
	}{
		"placed at once":          {67, 67, gpu, ""},
		"placed after the return": {402, 402, gpu, "keep room for 2 more pods of default/web (nvidia.com/gpu) on other nodes"},
		"one placed at once":      {402, 67, gpu, "keep room for 1 more pod of default/web (nvidia.com/gpu) on other nodes"},
		"kept away by a rule": {402, 402, gpu[:len(gpu)-1] + ", 1 node(s) didn't match pod topology spread constraints.",
			"let 2 more pods of default/web run on other nodes: loosen their pod topology spread constraints"},
		"bound to its volume": {402, 402, gpu[:len(gpu)-1] + ", 1 node(s) didn't match PersistentVolume's node affinity.", ""},
		"no word of room":     {402, 402, "0/3 nodes are available: 3 node(s) had untolerated taint(s).", "keep room for 2 more pods of default/web on another worker"},
	} {
		r := bare()
		off(r, 400)
		replaces(r, 405)
		scales(r, 0, 6)
		waits(r, 66, "web-1", "web-2")
		tells(r, 66, cluster.KindPod, "web-1", "FailedScheduling", c.why)
		for _, x := range []struct {
			name string
			at   float64
		}{{"web-2", c.back}, {"web-1", c.placed}} {
			waits(r, x.at, x.name)
			r.Samples[len(r.Samples)-1].Cluster.Pods[0].Node = "k8s1"
		}
		waits(r, 401, "web-3")
		tells(r, 404, cluster.KindPod, "web-3", "FailedScheduling", "0/3 nodes are available: 3 node(s) had untolerated taint(s).") // for a moment
		sees(r, view.PhaseEvicted, "k8s2", 60)
		sees(r, view.PhaseReady, "k8s2", 400)
		all := factsOf(r)
		if pods := rowsOf(podsTable(r, all)); name == "one placed at once" && !strings.Contains(pods, "|2, 1 of them until T+06:4") {
			t.Errorf("%s: %s", name, pods)
		}
		got := rowsOf(shorterOf(r, causesOf(r, all), 0))
		if (got != "") != (c.want != "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// The opening names six workloads that lost pods: each of them may be the one that somebody looks for.
func TestTheOpeningNamesWhatLostPods(t *testing.T) {
	for lost, more := range map[int]bool{5: false, 6: true} {
		r := bare()
		off(r, 400)
		replaces(r, 405)
		for i := range lost {
			for s, to := range map[float64]string{1: "2/2", 66: "1/2", 405: "2/2"} {
				countsOf(r, "shop-"+itoa(i), s, "", to)
			}
		}
		said := strings.Join(Opening(r), " ")
		if strings.Contains(said, "more workload") != more || strings.Count(said, "default/shop-") != 5 {
			t.Errorf("%d: %s", lost, said)
		}
	}
}

// The worst workload is the one that had no pod left for longest, then the one whose pods were missing for longest,
// all together.
func TestTheWorstWorkloadLackedMostForLongest(t *testing.T) {
	r := bare()
	off(r, 400)
	for s, to := range map[float64]string{1: "16/16", 66: "5/16", 115: "16/16"} {
		counts(r, s, "", to)
	}
	for s, to := range map[float64]string{1: "1/1", 66: "0/1", 70: "1/1"} {
		countsOf(r, "controller", s, "", to)
	}
	for s, to := range map[float64]string{1: "2/2", 66: "1/2", 68: "0/2", 70: "1/2", 114: "2/2"} {
		countsOf(r, "api", s, "", to)
	}
	if said := strings.Join(Opening(r), " "); !strings.Contains(said, "0 of 1 pod of default/controller were available at the lowest (pods missing for 4 s); 0 of 2 of default/api (48 s); 5 of 16 of default/web (49 s)") {
		t.Error(said)
	}
}

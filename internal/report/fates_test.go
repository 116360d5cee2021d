package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/power"
)

// shows adds a sample of pods of one workload, ready or not, on a node; deleting is 0 for none.
func shows(r *record.Record, s float64, of cluster.Ref, node string, ready bool, deleting float64, names ...string) {
	c := &record.Cluster{At: at(s)}
	for _, n := range names {
		p := &cluster.Pod{Key: cluster.Key{Namespace: of.Namespace, Name: n}, Node: node, Phase: "Running", Ready: ready, Created: at(-60), UnreachableFor: 300 * time.Second}
		if of.Kind == cluster.KindStatefulSet {
			p.OwnerKind, p.OwnerName = "StatefulSet", of.Name
		} else {
			p.OwnerKind, p.OwnerName, p.Deployment = "ReplicaSet", of.Name+"-1", of.Name
		}
		if deleting > 0 {
			p.Deleting = at(deleting)
		}
		c.Pods = append(c.Pods, p)
	}
	r.Samples = append(r.Samples, record.Sample{At: at(s), Key: len(r.Samples) == 0, Cluster: c})
}

// Each workload that lost pods is in the table with its own reason, the worst first, whichever the
// load goes to.
func TestEachWorkloadHasItsOwnReason(t *testing.T) {
	deployment := func(name string) cluster.Ref {
		return cluster.Ref{Kind: cluster.KindDeployment, Key: cluster.Key{Namespace: "default", Name: name}}
	}
	database := cluster.Ref{Kind: cluster.KindStatefulSet, Key: cluster.Key{Namespace: "default", Name: "database"}}
	goesDown := func(r *record.Record, deleted float64) {
		lose(r, 5, 60, 390)
		down(r, "k8s2", "off", 20, 400)
		asks(r, "k8s2", 20, "off", "sending")
		shows(r, 1, deployment("web"), "k8s2", true, 0, "web-1-a")
		shows(r, 1, deployment("web-gpu"), "k8s2", true, 0, "web-gpu-1-a", "web-gpu-1-b")
		shows(r, 1, database, "k8s2", true, 0, "database-0")
		shows(r, 1, database, "k8s3", true, 0, "database-1")
		shows(r, 60, database, "k8s2", false, deleted, "database-0")
		shows(r, 60, deployment("web"), "k8s2", false, deleted, "web-1-a")
		shows(r, 60, deployment("web-gpu"), "k8s2", false, deleted, "web-gpu-1-a", "web-gpu-1-b")
		countsOf(r, "web-gpu", 1, "", "2/2")
		countsOf(r, "web", 1, "", "6/6")
		countsOf(r, "web", 60, "", "5/6")
		countsOf(r, "web-gpu", 60, "", "0/2")
		countsOf(r, "web", 390, "", "6/6")
		shows(r, 395, database, "k8s2", true, 0, "database-0")
	}
	for name, c := range map[string]struct {
		deleted float64
		want    []string
	}{
		"deleted": {350, []string{
			"default/web-gpu|0 of 2|T+01:00.0|2 pods when the record ended|at least 9m00s|2 pods on k8s2; deleted after tolerationSeconds 5m00s; then the scheduler found no node: no GPU",
			"default/database|1 of 2|T+01:00.0|T+06:35.0|5m35s|1 pod on k8s2; a StatefulSet makes a new pod only when the old one has ended: on a silent node it stays Terminating until the node is back",
			"default/web|5 of 6|T+01:00.0|T+06:30.0|5m30s|1 pod on k8s2; deleted after tolerationSeconds 5m00s",
		}},
		"back before that": {0, []string{
			"default/web-gpu|0 of 2|T+01:00.0|2 pods when the record ended|at least 9m00s|2 pods on k8s2; not deleted: back with their node, which was Ready again within tolerationSeconds 5m00s; then the scheduler found no node: no GPU",
			"default/database|1 of 2|T+01:00.0|T+06:35.0|5m35s|1 pod on k8s2; not deleted: back with their node, which was Ready again within tolerationSeconds 5m00s",
			"default/web|5 of 6|T+01:00.0|T+06:30.0|5m30s|1 pod on k8s2; not deleted: back with their node, which was Ready again within tolerationSeconds 5m00s",
		}},
	} {
		r := bare()
		goesDown(r, c.deleted)
		tells(r, 70, cluster.KindPod, "web-gpu-1-c", "FailedScheduling", "no GPU")
		r.Samples = append(r.Samples, record.Sample{At: at(70), Cluster: &record.Cluster{At: at(70), Pods: []*cluster.Pod{
			{Key: cluster.Key{Namespace: "default", Name: "web-gpu-1-c"}, Created: at(70), Deployment: "web-gpu", OwnerKind: "ReplicaSet", OwnerName: "web-gpu-1"}}}})
		if got, want := rowsOf(podsTable(r, factsOf(r))), "T+00:20.0|"+strings.Join(c.want, "\nT+00:20.0|"); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
		all := factsOf(r)
		if got := rowsOf(shorterOf(r, causesOf(r, all), 0)); !strings.HasPrefix(got, "spread the pods of default/web-gpu: topology") {
			t.Errorf("%s: %q", name, got)
		}
		advice := shorterOf(r, causesOf(r, all), 0).Items[0].Text
		if hangs := strings.Contains(advice, "of default/database come") && strings.Contains(advice, cluster.TaintOutOfService); hangs != (c.deleted > 0) {
			t.Errorf("%s: %q", name, advice)
		}
		if kept := strings.HasPrefix(advice, "With shorter tolerationSeconds for its taints, new pods of default/web and default/web-gpu come before the node is back, if other nodes have room."); kept != (c.deleted == 0) {
			t.Errorf("%s: %q", name, advice)
		}
	}
}

// No drain and no taint frees pods whose volumes keep them on a node.
func TestPodsThatTheirVolumesKeepAreNotToBeDrained(t *testing.T) {
	r, database := bare(), cluster.Ref{Kind: cluster.KindStatefulSet, Key: cluster.Key{Namespace: "default", Name: "database"}}
	down(r, "k8s2", "off", 20, 400)
	asks(r, "k8s2", 20, power.ActionShutdown, power.StageSending)
	shows(r, 1, database, "k8s2", true, 0, "database-0")
	shows(r, 60, database, "k8s2", false, 350, "database-0")
	shows(r, 410, database, "k8s2", true, 0, "database-0")
	for _, why := range []string{"0/3 nodes are available: 3 node(s) didn't match PersistentVolume's node affinity.", "0/3 nodes are available: 3 node(s) had volume node affinity conflict."} {
		tells(r, 370, cluster.KindPod, "database-0", "FailedScheduling", why)
		all := factsOf(r)
		if said := fmt.Sprint(shorterOf(r, causesOf(r, all), 0).Items); strings.Contains(said, "rain") || strings.Contains(said, cluster.TaintOutOfService) || !strings.Contains(said, "The volumes of default/database keep its pods on their nodes") {
			t.Error(said)
		}
	}
}

// A pod ended with the shutdown if it had ended before anybody deleted it: a kubelet that is back reports those as ended
// that were deleted meanwhile, too.
func TestAPodThatWasDeletedDidNotEndWithTheShutdown(t *testing.T) {
	web := cluster.Ref{Kind: cluster.KindDeployment, Key: cluster.Key{Namespace: "default", Name: "web"}}
	for ended, want := range map[float64]string{22: "ended with the shutdown", 400: "deleted after tolerationSeconds 5m00s"} {
		r := bare()
		replaces(r, 405)
		down(r, "k8s2", outage.SpanNotReady, 20, 401)
		asks(r, "k8s2", 20, power.ActionShutdown, power.StageSending)
		shows(r, 1, web, "k8s2", true, 0, "web-1")
		for _, x := range []struct{ s, deleting float64 }{{22, 0}, {366, 366}, {400, 366}} {
			shows(r, x.s, web, "k8s2", false, x.deleting, "web-1")
			if x.s >= ended {
				r.Samples[len(r.Samples)-1].Cluster.Pods[0].Phase = "Failed"
			}
		}
		if w := factsOf(r)[0].Workloads; len(w) == 0 || w[0].Why != "1 pod on k8s2; "+want {
			t.Errorf("got %+v, want %q", w, want)
		}
	}
}

// A StatefulSet whose pod hung when the record began had that pod.
func TestAStatefulSetThatLackedAPodAtTheBeginningIsNamed(t *testing.T) {
	r := bare()
	database := cluster.Ref{Kind: cluster.KindStatefulSet, Key: cluster.Key{Namespace: "default", Name: "database"}}
	down(r, "k8s2", "off", 0.5, 100)
	asks(r, "k8s2", 0.5, "off", "sending")
	shows(r, 1, database, "k8s2", false, 0, "database-0")
	shows(r, 1, database, "k8s3", true, 0, "database-1")
	first := &r.Samples[len(r.Samples)-2]
	first.More = true // the next one belongs to it
	shows(r, 110, database, "k8s2", true, 0, "database-0")
	if got := rowsOf(podsTable(r, factsOf(r))); !strings.Contains(got, "|default/database|1 of 2|") {
		t.Errorf("got %s", got)
	}
}

// A pod that made room for another one lacks for that reason, and the other one is named if the record shows it.
func TestAPreemptedPodIsNamedWithWhatTookItsPlace(t *testing.T) {
	web := cluster.Ref{Kind: cluster.KindDeployment, Key: cluster.Key{Namespace: "default", Name: "web"}}
	model := cluster.Ref{Kind: cluster.KindDeployment, Key: cluster.Key{Namespace: "default", Name: "model"}}
	for uid, want := range map[string]string{"0e4c": "1 pod on k8s2; not deleted: back with their node, which was Ready again within tolerationSeconds 5m00s; 1 preempted by default/model",
		"": "1 pod on k8s2; not deleted: back with their node, which was Ready again within tolerationSeconds 5m00s; 1 preempted"} {
		r := bare()
		replaces(r, 405)
		off(r, 400)
		shows(r, 1, web, "k8s2", true, 0, "web-1")
		shows(r, 1, web, "k8s3", true, 0, "web-2")
		shows(r, 66, model, "k8s3", true, 0, "model-1")
		r.Samples[len(r.Samples)-1].Cluster.Pods[0].UID = uid
		for _, s := range []float64{67, 68} {
			tells(r, s, cluster.KindPod, "web-2", "Preempted", "Preempted by pod 0e4c on node k8s3")
		}
		if w := factsOf(r)[0].Workloads; len(w) == 0 || w[0].Why != want {
			t.Errorf("got %+v, want %q", w, want)
		}
	}
}

// What the scheduler reports once the node is back does not explain why pods lacked before; what it reports before does.
func TestWhatIsReportedAfterTheReturnCameAfterWhatHeldThePods(t *testing.T) {
	const pinned = "FailedScheduling: 0/3 nodes are available: 3 node(s) didn't match PersistentVolume's node affinity."
	const short = "the scheduler found no node: the place of its volume"
	database := cluster.Ref{Kind: cluster.KindStatefulSet, Key: cluster.Key{Namespace: "default", Name: "database"}}
	for told, want := range map[float64]string{402: hangs + "; then " + short, 360: stays + "; " + short, 404.5: hangs} {
		r := bare()
		off(r, 400)
		shows(r, 1, database, "k8s2", true, 0, "database-0")
		shows(r, 1, database, "k8s3", true, 0, "database-1")
		shows(r, 60, database, "k8s2", false, 350, "database-0")
		tells(r, told, cluster.KindPod, "database-0", "FailedScheduling", strings.TrimPrefix(pinned, "FailedScheduling: "))
		shows(r, 405, database, "k8s2", true, 0, "database-0")
		all := factsOf(r)
		if w := all[0].Workloads; len(w) == 0 || w[0].Why != "1 pod on k8s2; "+want {
			t.Errorf("%v: %+v", told, w)
		}
		if got := shorterOf(r, causesOf(r, all), 0).Brief; !strings.HasPrefix(got, "the volumes of default/database keep") {
			t.Errorf("%v: %q", told, got)
		}
	}
}

// A pod that came back to a node whose Ready did not last is not on another one, and one of its name that was there
// before is not lost again. So it is in a trial, in one that is aborted, and in an outage that nobody planned.
func TestAPodThatReturnsToANodeThatFlaps(t *testing.T) {
	database := cluster.Ref{Kind: cluster.KindStatefulSet, Key: cluster.Key{Namespace: "default", Name: "database"}}
	for name, begins := range begun {
		r := bare()
		begins(r)
		down(r, "k8s2", outage.SpanSilent, 23, 87)
		down(r, "k8s2", outage.SpanNotReady, 25, 78.4)
		down(r, "k8s2", outage.SpanNotReady, 84.3, 84.4)
		sees(r, view.PhaseTainted, "k8s2", 25)
		r.Events = append(r.Events, view.Event{Lane: view.LaneTaint, Subject: "k8s2", Change: cluster.ChangeTaint, To: cluster.TaintUnreachable + ":NoExecute", At: at(25), Seen: at(25)})
		shows(r, 1, database, "k8s3", true, 0, "database-1")
		for i, s := range []float64{1, 4, 45, 79.4} {
			shows(r, s, database, "k8s2", s != 45, map[float64]float64{45: 45}[s], "database-0")
			p := r.Samples[len(r.Samples)-1].Cluster.Pods[0]
			p.UID, p.Created = []string{"replaced", "lost", "lost", "new"}[i], at([]float64{-60, -60, -60, 79}[i])
		}
		all := factsOf(r)
		c := causesOf(r, all)
		why, did, brief := all[0].Workloads[0].Why, rowsOf(kubernetesOf(r, c)), shorterOf(r, c, 0).Brief
		if why != "1 pod on k8s2; "+hangs || !strings.Contains(did, "has all pods of default/database available|1 s after Ready") || strings.Contains(brief, " to 0") {
			t.Errorf("%s: %s\n%s\n%s", name, why, did, brief)
		}
	}
}

// A workload that lacked pods before the outage is not its loss: it comes last, without a reason of the outage's.
// A drain of another node took none of the pods of the node that is lost.
func TestADrainDuringAnOutageIsNotTheLostNodes(t *testing.T) {
	r, web := bare(), cluster.Ref{Kind: cluster.KindDeployment, Key: cluster.Key{Namespace: "default", Name: "web"}}
	falls(r, "k8s2", 20, 60)
	shows(r, 1, web, "k8s2", true, 0, "web-1-a")
	shows(r, 1, web, "k8s3", true, 0, "web-1-b", "web-1-c")
	occurs(r, 80, view.NewEvent(view.CodeDrainBegun, "k8s3", view.Facts{}))
	counts(r, 1, "", "6/6")
	counts(r, 61, "", "5/6")
	shows(r, 81, web, "k8s3", false, 81, "web-1-b", "web-1-c")
	counts(r, 82, "", "3/6")
	if w := factsOf(r)[0].Workloads[0]; !strings.HasPrefix(w.Why, "1 pod on k8s2; ") || strings.Contains(w.Why, "drain") {
		t.Errorf("%q", w.Why)
	}
}

func TestWhatLackedBeforeIsNotTheOutages(t *testing.T) {
	broken := cluster.Ref{Kind: cluster.KindDeployment, Key: cluster.Key{Namespace: "shop", Name: "web"}}
	r := bare()
	fallsAndReturns(r)
	counts(r, 1, "", "6/6")
	counts(r, 1, "", "0/3")
	r.Events[len(r.Events)-1].Namespace = "shop"
	counts(r, 300, "0/3", "0/3")
	r.Events[len(r.Events)-1].Namespace = "shop"
	shows(r, 1, broken, "k8s2", false, 0, "web-2-a", "web-2-b")
	shows(r, 60, broken, "k8s2", false, 50, "web-2-a", "web-2-b")
	counts(r, 60, "6/6", "5/6")
	lose(r, 5, 60, 390)
	counts(r, 390, "5/6", "6/6")
	want := "T+00:00.0|default/web|5 of 6|T+00:40.0|T+06:10.0|5m30s\n" +
		"T+00:00.0|shop/web|already 0 of 3 before|T-00:19.0 or before|3 pods when the record ended|at least 9m59s"
	if got := rowsOf(podsTable(r, factsOf(r))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := podsOf(r, &factsOf(r)[0]); got != "5 of 6 pods of default/web were available at the lowest (pods missing for 5m30s); already 0 of 3 of shop/web before" {
		t.Error(got)
	}
}

// Without a power API nobody knows whether a machine failed or its network, before the node returns.
func TestWhatFailedIsUnknownBeforeTheReturn(t *testing.T) {
	r := bare()
	signs(r, 20, "k8s2", view.SignSilent)
	down(r, "k8s2", outage.SpanSilent, 23, 0)
	told := func() bool { return len(nodesTable(r, factsOf(r)).Items) > 0 }
	if !told() {
		t.Error("a node that is only silent")
	}
	down(r, "k8s2", outage.SpanOff, 24, 0)
	if told() {
		t.Error("a power API reported it off")
	}
}

package tui

import (
	"regexp"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"lightsout/cluster"
	"lightsout/internal/view"
)

func ptr[T any](v T) *T { return &v }

// withWorkloads is outage in a cluster that has other workloads too.
func withWorkloads() *view.Frame {
	f := mdxOutage()
	c := f.Snapshot.Contents()
	key := func(name string) cluster.Key { return cluster.Key{Namespace: "default", Name: name} }
	pod := func(name, node, kind, owner string) *cluster.Pod {
		p := &cluster.Pod{Key: key(name), UID: name, Node: node, Phase: "Running", Status: "Running", ReadyContainers: 1, Containers: 1, Ready: node == "kube-node1",
			OwnerKind: kind, OwnerName: owner, UnreachableFor: 300 * time.Second, NotReadyFor: 300 * time.Second}
		c.Pods = append(c.Pods, p)
		return p
	}
	pod("db-0", "kube-node1", "StatefulSet", "db")
	db1 := pod("db-1", "kube-node3", "StatefulSet", "db")
	db1.Deleting, db1.Status = t0.Add(60*time.Second), "Terminating"
	pod("cache-0", "kube-node4", "StatefulSet", "cache")
	pod("agent-4wtpx", "kube-node3", "DaemonSet", "agent")
	pod("import-x2b7k", "kube-node4", "Job", "import")
	workload := func(kind cluster.Kind, name string, ready, desired int, word string) {
		c.Objects = append(c.Objects, &cluster.Object{Kind: kind, Key: key(name), Value: &cluster.Workload{Kind: kind, Key: key(name), Ready: ready, Desired: desired, Word: word}})
	}
	workload(cluster.KindStatefulSet, "db", 1, 2, "Partly")
	workload(cluster.KindStatefulSet, "cache", 0, 1, "Down")
	workload(cluster.KindStatefulSet, "calm", 3, 3, "Running")
	workload(cluster.KindDaemonSet, "agent", 3, 4, "Partly")
	c.Objects = append(c.Objects, &cluster.Object{Kind: cluster.KindJob, Key: key("import"), Value: &batchv1.Job{
		Spec: batchv1.JobSpec{Completions: ptr(int32(3)), BackoffLimit: ptr(int32(4))}, Status: batchv1.JobStatus{Succeeded: 1, Failed: 1}}})
	c.Endpoints = []*cluster.Endpoints{{Service: key("web"), Ready: 8, Total: 16}, {Service: key("old"), Total: 2}, {Service: key("empty")}}
	access := map[cluster.Kind]cluster.Access{cluster.KindStatefulSet: {Synced: true}, cluster.KindDaemonSet: {Synced: true}, cluster.KindJob: {Synced: true}}
	for k, a := range c.Access {
		access[k] = a
	}
	c.Access = access
	f.Snapshot = cluster.NewSnapshot(c)
	return f
}

func TestWorkloadsTellWhatTheLossOfANodeMeans(t *testing.T) {
	m, _, _ := testModel(withWorkloads(), 120, 36, Options{})
	typeKeys(m, "W")
	v := plainView(m)
	for _, want := range []string{
		"db .*statefulset +1/2 +Partly +db-1 hangs until kube-node3 is back",
		"cache .*statefulset +0/1 +Down +cache-0 hangs until kube-node4 is back",
		"calm .*statefulset +3/3 +Running +its pod hangs until the node is back",
		"agent .*daemonset +3/4 +Partly +its pod waits on kube-node3",
		"import .*job +1/3 +Running +its pod counts as failed: 1 of 4",
		"web .*service +8/16 +Partly +8 of 16 endpoints left",
		"old .*service +0/2 +Down +no endpoint is ready: requests fail",
	} {
		if !regexp.MustCompile(want).MatchString(v) {
			t.Errorf("%q is not on the screen:\n%s", want, v)
		}
	}
	typeKeys(m, "1 z : s t s enter z 1")
	if m.zoom {
		t.Error("a kind that took the whole screen has left a zoom behind")
	}
	typeKeys(m, ": s t s enter")
	if v := plainView(m); !strings.Contains(v, "StatefulSets") || strings.Contains(v, "daemonset") {
		t.Errorf(":sts does not show the stateful sets alone:\n%s", v)
	}
	if v := plainView(m); !strings.Contains(v, "default/db") {
		t.Errorf("of all namespaces, a stateful set does not show its own:\n%s", v)
	}
	typeKeys(m, "d")
	if v := plainView(m); !strings.Contains(v, "node.kubernetes.io/out-of-service") {
		t.Errorf("the details do not explain how to go on:\n%s", v)
	}
	typeKeys(m, "esc esc 7")
	if v := plainView(m); !strings.Contains(v, "daemonset") {
		t.Errorf("7 shows the kind of the command before it alone:\n%s", v)
	}
}

// What lacks pods is on the first screen, whatever its kind, and the details of each kind name its pods and
// the scheduler's reason.
func TestTheFirstScreenAndTheDetailsShowWhatLacksPods(t *testing.T) {
	f := withWorkloads()
	c := f.Snapshot.Contents()
	dep := c.Deployments[0]
	for _, name := range []string{"waits", "waits-2"} {
		c.Pods = append(c.Pods, &cluster.Pod{Key: cluster.Key{Namespace: dep.Namespace, Name: name}, Phase: "Pending", Status: "Pending", Deployment: dep.Name, Unplaced: "3 Insufficient nvidia.com/gpu"})
	}
	f.Snapshot, f.Focus = cluster.NewSnapshot(c), dep.Key
	off, cordoned, waits := "kube-node3 and kube-node4 are off (o)", "kube-node1 is cordoned (:uncordon)", "llm-jp 8/16: 2 pods wait for a node: Insufficient nvidia.com/gpu"
	f.Next = []string{off, cordoned, waits, waits, waits, waits}
	for s, next := range map[size]string{{80, 24}: off + " +5 more: 5 z", {120, 36}: off + " · " + cordoned} {
		m, _, _ := testModel(f, s.w, s.h, Options{})
		if v := plainView(m); !strings.Contains(v, "W: cache 0/1 and 2 more lack pods") || !strings.Contains(v, next) || !regexp.MustCompile(`\+[35] more`).MatchString(v) {
			t.Errorf("the first screen does not show what lacks pods, or hides forecasts:\n%s", v)
		}
		if typeKeys(m, "5 z"); strings.Count(plainView(m), ": 2 pods wait for a node") != 4 {
			t.Errorf("5 z does not show all that is next:\n%s", plainView(m))
		}
		typeKeys(m, "z 2 enter")
		if v := plainView(m); !regexp.MustCompile(`no node +waits and waits-2: Pending: 3 Insufficient nvidia.com/gpu`).MatchString(v) {
			t.Errorf("the details of a deployment do not show why its pod waits:\n%s", v)
		}
	}
}

func TestThePaneOfWorkloadsNamesWhatItCannotRead(t *testing.T) {
	f := withWorkloads()
	c := f.Snapshot.Contents()
	c.Access[cluster.KindStatefulSet] = cluster.Access{Forbidden: true}
	c.Access[cluster.KindDaemonSet] = cluster.Access{Read: 1200}
	f.Snapshot = cluster.NewSnapshot(c)
	for _, s := range []size{{80, 24}, {120, 36}} {
		m, _, _ := testModel(f, s.w, s.h, Options{})
		typeKeys(m, "W")
		for _, want := range []string{"StatefulSets: forbidden: this account may not list statefulsets", "DaemonSets: reading daemonsets (1,200 so far)"} {
			if v := plainView(m); !strings.Contains(v, want) {
				t.Errorf("%q is not on the screen:\n%s", want, v)
			}
		}
	}
	c.Objects = nil
	unread := c
	unread.Access, unread.Link = nil, cluster.Link{State: cluster.LinkDisconnected, Err: "no route to host"}
	f.Snapshot = cluster.NewSnapshot(unread)
	m, _, _ := testModel(f, 120, 24, Options{})
	typeKeys(m, "W")
	if v := plainView(m); strings.Count(v, "lightsout has not seen any yet: no route to host") != 1 || !strings.Contains(v, "StatefulSets, DaemonSets, Jobs and Services:") {
		t.Errorf("without an API server:\n%s", v)
	}
	f.Snapshot = cluster.NewSnapshot(c)
	m, _, _ = testModel(f, 80, 24, Options{})
	typeKeys(m, ": d s enter")
	if v := plainView(m); strings.Contains(v, "no workloads") || !strings.Contains(v, "reading daemonsets") {
		t.Errorf("the screen shows a list as empty that lightsout is still reading:\n%s", v)
	}
}

// TestALongNameLeavesRoomForTheFate: it is shortened before that says nothing.
func TestALongNameLeavesRoomForTheFate(t *testing.T) {
	f := withWorkloads()
	c := f.Snapshot.Contents()
	c.Endpoints = append(c.Endpoints, &cluster.Endpoints{Service: cluster.Key{Namespace: "default", Name: "inference-gateway-of-the-llm-jp-31-13b-model"}, Ready: 2, Total: 2})
	f.Snapshot = cluster.NewSnapshot(c)
	m, _, _ := testModel(f, 80, 24, Options{})
	typeKeys(m, "W")
	if v := plainView(m); !strings.Contains(v, "WHEN ITS NODE GOES DOWN") || !regexp.MustCompile(`inference-g.*model +service .* it loses the endpoints`).MatchString(v) {
		t.Errorf("a name leaves no room for what happens when a node goes down:\n%s", v)
	}
}

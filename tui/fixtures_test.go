package tui

import (
	"fmt"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// t0 is the zero of the frames below; it is when the nodes are shut down.
var t0 = time.Date(2026, 3, 4, 10, 20, 30, 0, time.UTC)

var llm = cluster.Key{Namespace: "default", Name: "llm-jp-31-13b-00001-deployment"}

var synced = map[cluster.Kind]cluster.Access{
	cluster.KindNode: {Synced: true}, cluster.KindPod: {Synced: true}, cluster.KindDeployment: {Synced: true},
	cluster.KindLease:         {Synced: true},
	cluster.KindEndpointSlice: {Synced: true}, cluster.KindEvent: {Synced: true},
}

// mdxContents is the mdx cluster: a control plane, four workers, 16 pods.
func mdxContents(now time.Time) cluster.Contents {
	c := cluster.Contents{
		Version: 1, At: now, Context: "mdx", Server: "https://10.0.0.10:6443", ServerVersion: "v1.36.3",
		Link: cluster.Link{State: cluster.LinkLive, LastContact: now}, Access: synced,
	}
	for i := range 5 {
		n := &cluster.Node{
			Name: fmt.Sprintf("kube-node%d", i), UID: fmt.Sprint("n", i), Ready: cluster.TriTrue, Reason: "KubeletReady",
			Message: "kubelet is posting ready status", ReadySince: t0.Add(-9 * time.Hour),
			Renewed: now.Add(-4 * time.Second), RenewSeen: now.Add(-4 * time.Second), LeaseDuration: 40 * time.Second,
			Addresses: []string{fmt.Sprintf("10.0.0.%d", 10+i)}, KubeletVersion: "v1.36.3", OSImage: "Ubuntu 24.04.2 LTS",
			CPUMilli: 152000, MemoryBytes: 256 << 30, MaxPods: 110, BootID: fmt.Sprintf("0c4e5d1e-%04d", i),
			Created: t0.Add(-31 * 24 * time.Hour), Labels: fmt.Sprintf("kubernetes.io/hostname=kube-node%d,pool=%s", i, []string{"a", "b"}[i%2]),
		}
		if i == 0 {
			n.Name, n.ControlPlane, n.Roles = "kube-master", true, []string{"control-plane"}
		}
		c.Nodes = append(c.Nodes, n)
	}
	names := strings.Fields("2xk4q 4hv7s 5wd9c 6qpxb 7mznl 8kt2f 9ddfr bcx5h c4r8w dgl6j f7tvn gnz9m hs2kd jw8pc kx5rt mv4zb")
	for i, end := range names {
		c.Pods = append(c.Pods, &cluster.Pod{
			Key: cluster.Key{Namespace: "default", Name: "llm-jp-31-13b-00001-deployment-7c9b7f6c9-" + end},
			UID: "p" + end, Node: fmt.Sprintf("kube-node%d", i%4+1), Phase: "Running", Status: "Running",
			ReadyContainers: 2, Containers: 2, Ready: true, ReadySince: t0.Add(-time.Hour), Created: t0.Add(-2 * time.Hour),
			IP: fmt.Sprintf("10.244.%d.%d", i%4+1, i+2), OwnerKind: "ReplicaSet", OwnerName: "llm-jp-31-13b-00001-deployment-7c9b7f6c9",
			Deployment: llm.Name, Labels: "app=llm,serving.knative.dev/revision=llm-jp-31-13b-00001", UnreachableFor: 300 * time.Second, NotReadyFor: 300 * time.Second, Concurrency: 1, CPUMilli: 32000, Ports: []int32{8080},
		})
	}
	c.Deployments = []*cluster.Deployment{{
		Key: llm, UID: "d1", Replicas: 16, Total: 16, Updated: 16, ReadyReplicas: 16, Available: 16, Word: "Running",
		Knative: &cluster.Knative{Service: "llm-jp-31-13b", Revision: "llm-jp-31-13b-00001", MinScale: 16, MaxScale: 16, ContainerConcurrency: 1, TimeoutSeconds: 1800},
	}}
	return c
}

func mdxPower(at time.Time) map[string]view.MachineView {
	out := map[string]view.MachineView{}
	for i := 1; i <= 4; i++ {
		name := fmt.Sprintf("kube-node%d", i)
		out[name] = view.MachineView{
			Reading: power.Reading{State: power.On, Proof: power.Proven, Detail: "PowerON", RequestedAt: at, Arrived: at},
			Machine: "mdx " + name + " by address",
		}
	}
	return out
}

// calm is the mdx cluster with nothing wrong and nothing sent.
func calm() *view.Frame {
	now := t0.Add(-time.Minute)
	history := make([]int, 60)
	for i := range history {
		history[i] = 16
	}
	return &view.Frame{Title: view.Title{Cluster: "mdx", Via: "mdxuser@bastion"}, Now: now, Snapshot: cluster.NewSnapshot(mdxContents(now)),
		Power: mdxPower(now), History: map[cluster.Key][]int{llm: history}, Focus: llm, Recording: true,
		Load: loadgen.Run{
			URL:   "http://10.0.0.11:31080/v1/chat/completions",
			Gauge: loadgen.Gauge{At: now, Capacity: 16, Target: 16, Basis: loadgen.BasisIdle},
		},
		Events: []view.Event{
			{Seq: 1, At: now.Add(-20 * time.Second), Seen: now.Add(-20 * time.Second), Lane: "link", Subject: "mdx", Text: "connected to https://10.0.0.10:6443 (v1.36.3)", Level: view.Good},
			{Seq: 2, At: now.Add(-19 * time.Second), Seen: now.Add(-19 * time.Second), Lane: "power", Subject: "4 machines", Text: "found at mdx by address: 4 on"},
		},
	}
}

// mdxOutage is 52 s after two nodes were shut down: 8 of 16, with 8 served and 4
// queued, after a hold that lost 8 requests.
func mdxOutage() *view.Frame {
	now := t0.Add(83400 * time.Millisecond)
	f := calm()
	f.Now, f.Zero = now, t0
	c := mdxContents(now)
	c.Version = 2
	for _, i := range []int{3, 4} {
		n := c.Nodes[i]
		n.Ready, n.Reason, n.Message = cluster.TriUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status."
		n.RenewSeen = t0.Add(time.Duration(3*(i-3)) * time.Second).Add(2 * time.Second)
		n.Renewed = n.RenewSeen
		n.ReadySince = now.Add(time.Duration(i-6) * time.Second).Truncate(time.Second)
		n.Changed = n.ReadySince
		n.Taints = []cluster.Taint{{Key: "node.kubernetes.io/unreachable", Effect: "NoExecute", TimeAdded: n.ReadySince}}
	}
	for _, p := range c.Pods {
		if p.Node == "kube-node3" || p.Node == "kube-node4" {
			p.Ready, p.ReadySince = false, now.Add(-2*time.Second)
			if p.Node == "kube-node4" {
				p.Changed = now.Add(-2 * time.Second)
			}
		}
	}
	d := c.Deployments[0]
	d.Available, d.ReadyReplicas, d.Word, d.Changed = 8, 8, "Partly", now.Add(-2*time.Second)
	f.Snapshot = cluster.NewSnapshot(c)
	f.Power = mdxPower(now)
	for _, name := range []string{"kube-node3", "kube-node4"} {
		m := f.Power[name]
		m.Reading, m.LeftOff, m.Text = power.Reading{State: power.Off, Proof: power.Proven, Detail: "PowerOFF", RequestedAt: now, Arrived: now}, true, "off by mdx (PowerOFF)"
		f.Power[name] = m
	}
	history := make([]int, 100)
	for i := range history {
		history[i] = 16
		if i >= 98 {
			history[i] = 8
		}
	}
	f.History = map[cluster.Key][]int{llm: history}
	f.Load = outageLoad(now)
	for i, e := range []view.Event{
		{At: t0, Lane: "operator", Subject: "kube-node3, kube-node4", Text: "shut down, answered yes", Level: view.Warning},
		{At: t0.Add(100 * time.Millisecond), Lane: "power", Subject: "kube-node3", Text: "shutdown asked for (ssh)"},
		{At: t0.Add(100 * time.Millisecond), Lane: "power", Subject: "kube-node4", Text: "shutdown asked for (ssh)"},
		{At: t0.Add(3200 * time.Millisecond), Lane: "power", Subject: "kube-node3", Text: "machine off (mdx)", Level: view.Warning},
		{At: t0.Add(3900 * time.Millisecond), Lane: "power", Subject: "kube-node4", Text: "machine off (mdx)", Level: view.Warning},
		{At: t0.Add(18 * time.Second), Lane: "heartbeat", Subject: "kube-node3", Text: "silent: no heartbeat for 16s", Level: view.Warning},
		{At: t0.Add(21 * time.Second), Lane: "heartbeat", Subject: "kube-node4", Text: "silent: no heartbeat for 16s", Level: view.Warning},
		{At: now.Add(-3 * time.Second), Lane: "node", Subject: "kube-node3", From: "Ready (silent 49s)", To: "NotReady (silent 49s)", Level: view.Bad},
		{At: now.Add(-2 * time.Second), Lane: "node", Subject: "kube-node4", From: "Ready (silent 46s)", To: "NotReady (silent 46s)", Level: view.Bad},
		{At: now.Add(-2 * time.Second), Lane: "endpoints", Subject: "llm-jp-31-13b-00001-private", Text: "16 → 8 ready", Level: view.Bad},
		{At: now.Add(-2 * time.Second), Lane: "deployment", Subject: "llm-jp-31-13b-00001-deployment", Text: "Partly: 8 of 16 available", Level: view.Bad},
	} {
		e.Seq, e.Seen = i+3, e.At
		off := e.At.Sub(t0).Seconds()
		e.Offset = &off
		f.Events = append(f.Events, e)
	}
	f.Next = []string{
		"8 pods of kube-node3 and kube-node4 are evicted in 4m57s (tolerations of 300s)",
		"none of the 8 has anywhere to go: 32 CPUs asked for, 24 free at most on kube-node1",
	}
	return f
}

func outageLoad(now time.Time) loadgen.Run {
	r := loadgen.Run{
		Spec: loadgen.Spec{Shape: loadgen.Burst, N: 12}, URL: "http://10.0.0.11:31080/v1/chat/completions",
		Totals: loadgen.Totals{Scheduled: 92, OK: 72, Failed: map[loadgen.Class]int{loadgen.ClassIdle: 5, loadgen.Class502: 3}, Sent: 4, Streaming: 8},
		Gauge: loadgen.Gauge{At: now, Capacity: 8, Target: 16, Served: 8, Queued: 4, Outstanding: 12,
			Basis: loadgen.BasisMeasured, Source: "queue-proxy"},
		LastError: "kube-node3: no byte for 30s",
	}
	start := now.Truncate(time.Second).Add(-119 * time.Second)
	for i := range 120 {
		w := loadgen.Second{At: start.Add(time.Duration(i) * time.Second), Sampled: true, Capacity: 16, Target: 16}
		switch {
		case i >= 50 && i < 62:
			w.Served, w.Sent, w.OK = 16, 1, 1
		case i >= 62 && i < 82:
			w.Served = 16 - (i-62)/3
		}
		if i >= 66 && i < 70 {
			w.Sent, w.Failed = 2, map[loadgen.Class]int{loadgen.ClassIdle: 1 + i%2}
		}
		if i >= 90 && i < 96 {
			w.Sampled = i == 95
		}
		if i >= 106 {
			w.Capacity = 8
		}
		if i >= 110 {
			w.Served, w.Queued = 8, 4
		}
		if i == 110 {
			w.Sent, w.Unresolved = 12, 12
		}
		r.Seconds = append(r.Seconds, w)
	}
	return r
}

// asked is the outage's beginning: the question before two nodes are shut down.
func asked() *view.Frame {
	f := calm()
	f.Question = &view.Question{
		ID: "switch-1", Kind: "switch", Title: "Shut down kube-node3 and kube-node4?",
		Lines: []view.Line{
			{Heading: true, Text: "What goes down:"},
			{Text: "8 pods of 1 deployment, as of 2 s ago"},
			{Level: view.Warning, Text: "default/llm-jp-31-13b-00001-deployment: 16 → 8 of 16, capacity 16 → 8 requests at once"},
			{Heading: true, Text: "What follows:"},
			{Text: "about T+00:40 both are marked NotReady (grace period 40s, assumed for v1.36)"},
			{Text: "about T+05:40 the 8 pods are evicted; none of them fits on the nodes that stay"},
			{Level: view.Good, Text: "both can be powered on again by mdx"},
		},
		Choices: []view.Choice{{ID: "no", Label: "Leave them on"}, {ID: "yes", Label: "Shut down 2 nodes"}},
	}
	return f
}

// stale is the outage with the API server away for 12 s.
func stale() *view.Frame {
	f := mdxOutage()
	c := f.Snapshot.Contents()
	c.Link = cluster.Link{State: cluster.LinkDisconnected, LastContact: f.Now.Add(-12 * time.Second),
		Err: "https://10.0.0.10:6443 through mdxuser@bastion: connection timed out", NextTry: f.Now.Add(4 * time.Second)}
	f.Snapshot = cluster.NewSnapshot(c)
	return f
}

// names is a cluster of names that are hard to draw.
func names() *view.Frame {
	f := mdxOutage()
	c := f.Snapshot.Contents()
	long := strings.Repeat("very-long-name.", 16) + "worker-0001-x"
	c.Nodes[1].Name = long[:253]
	c.Nodes[2].Name = "計算ノード二号機のとても長い名前"
	c.Nodes[3].Name = "ne\u0301ud\u200b-\u202eabc\x1b[31m"
	for i, p := range c.Pods {
		switch i % 4 {
		case 0:
			p.Node = c.Nodes[1].Name
			p.Name = strings.Repeat("pod-", 61) + p.Name[len(p.Name)-9:]
		case 1:
			p.Node = c.Nodes[2].Name
			p.Name = "言語ﾓﾃﾞﾙ-か\u3099-" + p.Name[len(p.Name)-15:]
		case 2:
			p.Node = c.Nodes[3].Name
		}
	}
	c.Deployments[0].Name = strings.Repeat("deployment-", 22) + "end"
	other := *c.Deployments[0]
	other.Name, other.Namespace, other.Available, other.Word = "日本語の配備", "名前空間", 0, "Down"
	c.Deployments = append(c.Deployments, &other)
	f.Snapshot = cluster.NewSnapshot(c)
	f.Cluster, f.Via = "研究用クラスタ・東京第二データセンター", strings.Repeat("user@bastion.", 20)
	f.Events = append(f.Events, view.Event{Seq: 99, At: f.Now, Seen: f.Now, Lane: "event", Subject: "計算ノード二号機のとても長い名前",
		Text: "メッセージ\x1b[2J\r\nsecond line\tand 👩‍👩‍👧 ไทย " + strings.Repeat("長", 200), Level: view.Warning})
	f.Notice = view.Notice{Text: "注意: " + strings.Repeat("long ", 60), At: f.Now, Level: view.Warning}
	return f
}

// testModel is a Model of w x h cells that shows f, with a clock that stands
// still, and the intents it sends.
func testModel(f *view.Frame, w, h int, o Options) (*Model, *[]view.Intent, *time.Time) {
	now := t0
	var sent []view.Intent
	o.Now = func() time.Time { return now }
	o.Send = func(i view.Intent) { sent = append(sent, i) }
	m := New(o)
	if f != nil {
		m.Update(FrameMsg{f})
		m.s.start = f.Now.Add(-time.Hour) // all changes are news
	}
	resize(m, w, h)
	return m, &sent, &now
}

// told is the outage with nothing failed, as Knative's activator tells of it.
func told() *view.Frame {
	f := mdxOutage()
	served, queued := 8, 4
	f.Load.Gauge.Reported = []loadgen.Report{{Source: "activator", Served: &served, Queued: &queued, Asked: 1, Answered: 1}}
	f.Load.Totals = loadgen.Totals{Scheduled: 84, OK: 72, Sent: 4, Streaming: 8, Failed: map[loadgen.Class]int{}}
	f.Load.LastError = ""
	for i := range f.Load.Seconds {
		w := &f.Load.Seconds[i]
		w.OK, w.Failed = w.OK+w.FailedSum(), nil
	}
	return f
}

// differs is the outage where one of two activators tells of other requests.
func differs() *view.Frame {
	f := mdxOutage()
	served, queued := 8, 9
	f.Load.Gauge.Reported = []loadgen.Report{{Source: "activator", Served: &served, Queued: &queued, Asked: 2, Answered: 2}}
	f.Load.Gauge.Disagreement = "activator reports 8 served and 9 queued, but the ledger has 8 and 4"
	return f
}

package record_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

var t0 = time.Date(2026, 11, 21, 6, 10, 0, 0, time.UTC)

// madeUp is a synthetic trial: a node of four is switched off and comes back,
// its pods are replaced, requests fail and are resolved late, a question is
// asked, a verdict is given.
type madeUp struct {
	dir      string
	timeline *record.Timeline
	requests *record.Requests
	now      time.Time
	f        view.Frame // the newest
	c        cluster.Contents
	frames   []*view.Frame
}

const outageSeconds = 100

func newOutage(t *testing.T) *madeUp {
	o := &madeUp{dir: t.TempDir(), now: t0}
	var err error
	if o.timeline, err = record.NewTimeline(filepath.Join(o.dir, record.EventsFile), func() time.Time { return o.now }); err != nil {
		t.Fatal(err)
	}
	if o.requests, err = record.NewRequests(filepath.Join(o.dir, record.RequestsFile)); err != nil {
		t.Fatal(err)
	}
	o.begin()
	for step := range outageSeconds * 2 {
		o.now = t0.Add(time.Duration(step) * 500 * time.Millisecond)
		if step%2 == 0 {
			o.second(step / 2)
		}
		o.show()
	}
	_ = o.timeline.Close()
	_ = o.requests.Close()
	return o
}

func (o *madeUp) begin() {
	o.f = view.Frame{Title: view.Title{Cluster: "lab-mdx", Via: "via someone@bastion", Pace: "fast"}, Focus: cluster.Key{Namespace: "default", Name: "web"}, Recording: true}
	o.f.Power = map[string]view.MachineView{}
	o.c = cluster.Contents{
		Context: "lab-mdx", Server: "https://10.0.0.10:6443", ServerVersion: "v1.36.3", HeartbeatsSince: t0.Add(-time.Minute),
		Access:   map[cluster.Kind]cluster.Access{cluster.KindNode: {Synced: true}, cluster.KindPod: {Forbidden: true, Err: "no"}},
		Settings: cluster.DefaultSettings("v1.36.3"),
	}
	for i := range 4 {
		name := fmt.Sprintf("node%d", i)
		o.c.Nodes = append(o.c.Nodes, &cluster.Node{
			Name: name, UID: name, Ready: cluster.TriTrue, Renewed: t0, RenewSeen: t0, LeaseDuration: 4 * time.Second, BootID: "one",
			Roles: []string{"worker"}, Addresses: []string{"10.0.0.1"}, Annotations: map[string]string{"lightsout.dev/machine": "x"},
		})
		o.f.Power[name] = view.MachineView{Reading: power.Reading{State: power.On, Proof: power.Proven, Detail: "PowerON", RequestedAt: t0, Arrived: t0}, Machine: "mdx " + name}
	}
	for i := range 8 {
		o.c.Pods = append(o.c.Pods, o.pod(fmt.Sprintf("web-%d", i), fmt.Sprintf("node%d", i%4)))
	}
	o.c.Deployments = []*cluster.Deployment{{Key: o.f.Focus, Replicas: 8, Total: 8, Updated: 8, Available: 8, Word: "Running", Knative: &cluster.Knative{ContainerConcurrency: 1}}}
	o.c.Endpoints = []*cluster.Endpoints{{Service: o.f.Focus, Ready: 8, Total: 8}}
	o.say("operator", "lightsout", "session started")
}

func (o *madeUp) pod(name, node string) *cluster.Pod {
	return &cluster.Pod{
		Key: cluster.Key{Namespace: "default", Name: name}, UID: name, Node: node, Phase: "Running", Status: "Running", Ready: true,
		ReadyContainers: 2, Containers: 2, Created: o.now, Deployment: "web", UnreachableFor: 5 * time.Second, Ports: []int32{8012},
	}
}

func (o *madeUp) say(lane view.Lane, subject, text string) {
	o.timeline.Add(view.Event{Lane: lane, Subject: subject, Text: text})
}

// node puts a changed copy in a node's place: earlier frames hold the old one.
func (o *madeUp) node(i int, change func(*cluster.Node)) {
	n := *o.c.Nodes[i]
	change(&n)
	o.c.Nodes = append([]*cluster.Node(nil), o.c.Nodes...)
	o.c.Nodes[i] = &n
}

func (o *madeUp) pods(on string, change func(*cluster.Pod)) {
	o.c.Pods = append([]*cluster.Pod(nil), o.c.Pods...)
	for i, p := range o.c.Pods {
		if p.Node == on {
			x := *p
			change(&x)
			o.c.Pods[i] = &x
		}
	}
}

func (o *madeUp) deployment(available int, word string) {
	d := *o.c.Deployments[0]
	d.Available, d.Word, d.Changed = available, word, o.now
	o.c.Deployments = []*cluster.Deployment{&d}
}

func (o *madeUp) view(doing string, next int, v view.Verdict) {
	t := &view.TrialView{Name: "one-of-four", Next: next, Doing: doing, Started: t0, Verdict: v}
	for i, name := range []string{"burst", "off", "on"} {
		state := view.StepToCome
		if i < next {
			state = view.StepDone
		}
		t.Steps = append(t.Steps, view.StepView{Name: name, Text: "does " + name, State: state})
	}
	seen := 6.5
	t.Phases = []view.Phase{{Name: view.PhaseDetected, Subject: "node3", Predicted: &[2]float64{4, 8}, Observed: &seen}}
	if v != "" {
		t.Why = []string{"everything was seen"}
		t.Expectations = []view.Expectation{{Name: "ok", Want: "8", Got: "8", OK: true}}
	}
	o.f.Trial = t
}

// second is what happens in each second.
func (o *madeUp) second(s int) {
	off := s >= 14 && s < 60
	for i := range 4 {
		if i != 3 || !off {
			o.node(i, func(n *cluster.Node) { n.Renewed, n.RenewSeen = o.now.Add(-20*time.Millisecond), o.now })
		}
	}
	machines := map[string]view.MachineView{}
	for name, v := range o.f.Power {
		v.Reading.Arrived = o.now
		machines[name] = v
	}
	machine := func(change func(*view.MachineView)) {
		v := machines["node3"]
		change(&v)
		machines["node3"] = v
	}
	o.f.Next = nil
	o.load(s)
	switch s {
	case 5:
		o.view("burst of 8", 0, "")
	case 10:
		o.f.Question = &view.Question{ID: "q1", Kind: "switch", Title: "Shut down node3?", Lines: []view.Line{{Level: view.Warning, Text: "web: 8 → 6"}}, Choices: []view.Choice{{ID: "no", Label: "Leave it on"}, {ID: "yes", Label: "Shut down 1 node"}}}
	case 13:
		o.f.Question, o.f.Zero = nil, o.now
		o.timeline.Start(o.now)
		o.say("operator", "trial", "zero of the clock")
		machine(func(v *view.MachineView) {
			v.Busy, v.Stage, v.Text = power.ActionShutdown, power.StageSending, "asking"
		})
		o.view("shut down node3", 1, "")
	case 14:
		machine(func(v *view.MachineView) {
			v.Reading.State, v.Busy, v.Stage, v.LeftOff = power.Off, "", power.StageDone, true
		})
		o.timeline.Add(view.Event{Lane: "power", Subject: "node3", Text: "machine off", Level: view.Bad, From: "on", To: "off", Code: view.CodeMachineState})
		o.f.Outages = []outage.Span{{Node: "node3", Kind: outage.SpanOff, From: o.now}}
	case 17:
		o.node(3, func(n *cluster.Node) { n.Overdue = true })
		o.timeline.Add(view.Event{Lane: "heartbeat", Kind: "node", Subject: "node3", Text: "heartbeat overdue", Level: view.Bad, From: "on time", To: "overdue", Code: view.CodeNodeHeartbeat, Change: cluster.ChangeHeartbeat, Is: cluster.HealthBad})
	case 20:
		o.node(3, func(n *cluster.Node) {
			n.Ready, n.Reason = cluster.TriUnknown, "NodeStatusUnknown"
			n.Taints = []cluster.Taint{{Key: "node.kubernetes.io/unreachable", Effect: "NoExecute", TimeAdded: o.now}}
		})
		o.pods("node3", func(p *cluster.Pod) { p.Ready = false })
		o.deployment(6, "Partly")
		o.timeline.Add(view.Event{Lane: "node", Kind: "node", Subject: "node3", Text: "Ready → NotReady (silent)", Level: view.Bad, From: "Ready", To: "NotReady (silent)", Code: view.CodeNodeStatus, Change: cluster.ChangeStatus, Was: cluster.HealthGood, Is: cluster.HealthBad})
		o.f.Outages = append(o.f.Outages[:1:1], outage.Span{Node: "node3", Kind: outage.SpanNotReady, From: o.now})
	case 25:
		o.pods("node3", func(p *cluster.Pod) { p.Deleting, p.Status = o.now, "Terminating" })
		o.c.Pods = append(o.c.Pods, o.pod("web-8", "node0"), o.pod("web-9", "node1"))
		o.timeline.Add(view.Event{Lane: "pod", Kind: "pod", Subject: "web-3", Text: "Running → Terminating", From: "Running", To: "Terminating", Why: "node node3 is NotReady (silent)", Code: view.CodePodStatus, Change: cluster.ChangeStatus, Is: cluster.HealthChanging, Cause: cluster.CauseNodeNotReady})
	case 28:
		o.deployment(8, "Running")
		o.f.Notice = view.Notice{Text: "something to know", At: o.now}
	case 33:
		o.c.Link.State, o.c.Link.Err = cluster.LinkDisconnected, "no answer"
	case 36:
		o.c.Link.State, o.c.Link.Err = cluster.LinkLive, ""
	case 60:
		machine(func(v *view.MachineView) { v.Reading.State, v.LeftOff = power.On, false })
		o.timeline.Add(view.Event{Lane: "power", Subject: "node3", Text: "machine on", Level: view.Good, From: "off", To: "on", Code: view.CodeMachineState})
		o.view("power on node3", 2, "")
	case 66:
		o.node(3, func(n *cluster.Node) { n.Ready, n.BootID, n.Taints, n.Overdue = cluster.TriTrue, "two", nil, false })
		o.timeline.Add(view.Event{Lane: "heartbeat", Kind: "node", Subject: "node3", Text: "heartbeat on time", From: "overdue", To: "on time", Code: view.CodeNodeHeartbeat, Change: cluster.ChangeHeartbeat, Is: cluster.HealthGood})
		o.timeline.Add(view.Event{Lane: "node", Kind: "node", Subject: "node3", Text: "NotReady → Ready", Level: view.Good, From: "NotReady", To: "Ready", Code: view.CodeNodeStatus, Change: cluster.ChangeStatus, Was: cluster.HealthBad, Is: cluster.HealthGood})
		ended := append([]outage.Span(nil), o.f.Outages...)
		for i := range ended {
			ended[i].To = o.now
		}
		o.f.Outages = ended
		var left []*cluster.Pod
		for _, p := range o.c.Pods {
			if p.Node != "node3" {
				left = append(left, p)
			}
		}
		o.c.Pods = left
	case 70:
		o.say("operator", "mark", "look here")
	case 90:
		o.view("", 3, view.Pass)
		o.say("operator", "trial", "verdict: pass")
	}
	if off {
		o.f.Next = []string{fmt.Sprintf("pods of node3 are evicted in %ds", 60-s)}
	}
	o.f.Power = machines
}

// load sends one request a second from 6 to 40; those of 15 to 19 fail five
// seconds later.
func (o *madeUp) load(s int) {
	run := o.f.Load
	run.Seconds = append(append([]loadgen.Second(nil), run.Seconds...), loadgen.Second{At: o.now})
	at := func(second int) *loadgen.Second {
		first := int(run.Seconds[0].At.Sub(t0) / time.Second)
		return &run.Seconds[second-first]
	}
	end := func(second int, class loadgen.Class) {
		w := at(second)
		w.Unresolved--
		due := t0.Add(time.Duration(second) * time.Second)
		r := loadgen.Record{ID: fmt.Sprint(second), Run: 1, Class: class, Scheduled: due, Sent: due.Add(time.Millisecond), End: o.now}
		if class == loadgen.ClassOK {
			w.OK++
			run.Totals.OK++
		} else {
			w.Failed = map[loadgen.Class]int{class: 1}
			run.Totals.Failed = map[loadgen.Class]int{class: run.Totals.Failed[class] + 1}
			run.LastError = "peer dead"
		}
		run.Totals.Sent--
		o.requests.Add(r)
	}
	if s >= 6 && s < 40 {
		w := at(s)
		w.Sent, w.Unresolved, w.Served, w.Capacity, w.Target, w.Sampled = 1, 1, 3, 8, 8, true
		run.Active, run.Spec = true, loadgen.Spec{Shape: loadgen.Rate, PerSecond: 1}
		run.Totals.Scheduled++
		run.Totals.Sent++
		run.Gauge = loadgen.Gauge{At: o.now, Served: 3, Capacity: 8, Target: 8, Basis: loadgen.BasisMeasured, Source: "queue-proxy"}
	} else {
		run.Active, run.Gauge = false, loadgen.Gauge{At: o.now, Basis: loadgen.BasisIdle}
	}
	if s >= 20 && s < 25 {
		end(s-5, loadgen.ClassPeerDead)
	}
	if s >= 7 && s < 41 && (s-1 < 15 || s-1 > 19) {
		end(s-1, loadgen.ClassOK)
	}
	o.f.Load = run
}

func (o *madeUp) show() {
	f := o.f
	f.Now = o.now
	o.c.Version++
	o.c.At, o.c.Link.LastContact = o.now, o.now
	if o.c.Link.State == cluster.LinkConnecting {
		o.c.Link.State = cluster.LinkLive
	}
	if o.now.Sub(t0) >= time.Second { // at first there is none
		f.Snapshot = cluster.NewSnapshot(o.c)
	}
	f.Events = o.timeline.Last(500)
	o.frames = append(o.frames, &f)
}

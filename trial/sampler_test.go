package trial_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/loadgen"
	"lightsout/power"
	"lightsout/trial"
	"lightsout/trial/record"
	"lightsout/trial/replay"
)

var t0 = time.Date(2026, 11, 21, 6, 10, 0, 0, time.UTC)

// outage is a synthetic trial: a node of four is switched off and comes back,
// its pods are replaced, requests fail and are resolved late, a question is
// asked, a verdict is given.
type outage struct {
	dir      string
	timeline *record.Timeline
	requests *record.Requests
	now      time.Time
	f        trial.Frame // the newest
	c        cluster.Contents
	frames   []*trial.Frame
}

const outageSeconds = 100

func newOutage(t *testing.T) *outage {
	o := &outage{dir: t.TempDir(), now: t0}
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

func (o *outage) begin() {
	o.f = trial.Frame{Cluster: "lab-mdx", Via: "via someone@bastion", Pace: "fast", Focus: cluster.Key{Namespace: "default", Name: "web"}, Recording: true}
	o.f.Power = map[string]trial.MachineView{}
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
		o.f.Power[name] = trial.MachineView{Reading: power.Reading{State: power.On, Proof: power.Proven, Detail: "PowerON", At: t0}, Machine: "mdx " + name}
	}
	for i := range 8 {
		o.c.Pods = append(o.c.Pods, o.pod(fmt.Sprintf("web-%d", i), fmt.Sprintf("node%d", i%4)))
	}
	o.c.Deployments = []*cluster.Deployment{{Key: o.f.Focus, Replicas: 8, Total: 8, Updated: 8, Available: 8, Word: "Running", Knative: &cluster.Knative{ContainerConcurrency: 1}}}
	o.c.Endpoints = []*cluster.Endpoints{{Service: o.f.Focus, Ready: 8, Total: 8}}
	o.say("operator", "lightsout", "session started")
}

func (o *outage) pod(name, node string) *cluster.Pod {
	return &cluster.Pod{
		Key: cluster.Key{Namespace: "default", Name: name}, UID: name, Node: node, Phase: "Running", Status: "Running", Ready: true,
		ReadyContainers: 2, Containers: 2, Created: o.now, Deployment: "web", UnreachableFor: 5 * time.Second, Ports: []int32{8012},
	}
}

func (o *outage) say(lane, subject, text string) {
	o.timeline.Add(record.Event{Lane: lane, Subject: subject, Text: text})
}

// change puts copies of what it changes in place: others hold the old ones.
func (o *outage) node(i int, change func(*cluster.Node)) {
	n := *o.c.Nodes[i]
	change(&n)
	o.c.Nodes = append([]*cluster.Node(nil), o.c.Nodes...)
	o.c.Nodes[i] = &n
}

func (o *outage) pods(on string, change func(*cluster.Pod)) {
	o.c.Pods = append([]*cluster.Pod(nil), o.c.Pods...)
	for i, p := range o.c.Pods {
		if p.Node == on {
			x := *p
			change(&x)
			o.c.Pods[i] = &x
		}
	}
}

func (o *outage) deployment(available int, word string) {
	d := *o.c.Deployments[0]
	d.Available, d.Word, d.Changed = available, word, o.now
	o.c.Deployments = []*cluster.Deployment{&d}
}

func (o *outage) view(doing string, next int, v record.Verdict) {
	t := &trial.TrialView{Name: "one-of-four", Next: next, Doing: doing, Started: t0, Verdict: v}
	for i, name := range []string{"burst", "off", "on"} {
		state := "to come"
		if i < next {
			state = "done"
		}
		t.Steps = append(t.Steps, trial.StepView{Name: name, Text: "does " + name, State: state})
	}
	seen := 6.5
	t.Phases = []record.Phase{{Name: record.PhaseDetected, Subject: "node3", Predicted: &[2]float64{4, 8}, Observed: &seen}}
	if v != "" {
		t.Why = []string{"everything was seen"}
		t.Expectations = []record.Expectation{{Name: "ok", Want: "8", Got: "8", OK: true}}
	}
	o.f.Trial = t
}

// second is what happens in each second.
func (o *outage) second(s int) {
	off := s >= 14 && s < 60
	for i := range 4 {
		if i != 3 || !off {
			o.node(i, func(n *cluster.Node) { n.Renewed, n.RenewSeen = o.now.Add(-20*time.Millisecond), o.now })
		}
	}
	machines := map[string]trial.MachineView{}
	for name, v := range o.f.Power {
		v.Reading.At = o.now
		machines[name] = v
	}
	machine := func(change func(*trial.MachineView)) {
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
		o.f.Question = &trial.Question{ID: "q1", Kind: "switch", Title: "Shut down node3?", Lines: []trial.Line{{Level: record.Warning, Text: "web: 8 → 6"}}, Choices: []trial.Choice{{ID: "no", Label: "Leave it on"}, {ID: "yes", Label: "Shut down 1 node"}}}
	case 13:
		o.f.Question, o.f.Zero = nil, o.now
		o.timeline.Start(o.now)
		o.say("operator", "trial", "zero of the clock")
		machine(func(v *trial.MachineView) {
			v.Busy, v.Phase, v.Text = power.ActionShutdown, power.PhaseAsking, "asking"
		})
		o.view("shut down node3", 1, "")
	case 14:
		machine(func(v *trial.MachineView) {
			v.Reading.State, v.Busy, v.Phase, v.LeftOff = power.Off, "", power.PhaseDone, true
		})
		o.timeline.Add(record.Event{Lane: "power", Subject: "node3", Text: "machine off", Level: record.Bad, From: "on", To: "off"})
		o.f.Outages = []trial.Outage{{Node: "node3", Kind: trial.OutageOff, From: o.now}}
	case 17:
		o.node(3, func(n *cluster.Node) { n.Overdue = true })
		o.timeline.Add(record.Event{Lane: "heartbeat", Kind: "node", Subject: "node3", Text: "heartbeat overdue", Level: record.Bad, From: "on time", To: "overdue"})
	case 20:
		o.node(3, func(n *cluster.Node) {
			n.Ready, n.Reason = cluster.TriUnknown, "NodeStatusUnknown"
			n.Taints = []cluster.Taint{{Key: "node.kubernetes.io/unreachable", Effect: "NoExecute", TimeAdded: o.now}}
		})
		o.pods("node3", func(p *cluster.Pod) { p.Ready = false })
		o.deployment(6, "Scaling")
		o.timeline.Add(record.Event{Lane: "node", Kind: "node", Subject: "node3", Text: "Ready → NotReady (silent)", Level: record.Bad, From: "Ready", To: "NotReady (silent)"})
		o.f.Outages = append(o.f.Outages[:1:1], trial.Outage{Node: "node3", Kind: trial.OutageNotReady, From: o.now})
	case 25:
		o.pods("node3", func(p *cluster.Pod) { p.Deleting, p.Status = o.now, "Terminating" })
		o.c.Pods = append(o.c.Pods, o.pod("web-8", "node0"), o.pod("web-9", "node1"))
		o.timeline.Add(record.Event{Lane: "pod", Kind: "pod", Subject: "web-3", Text: "Running → Terminating", From: "Running", To: "Terminating", Why: "node node3 is NotReady (silent)"})
	case 28:
		o.deployment(8, "Running")
		o.f.Notice, o.f.NoticeAt = "something to know", o.now
	case 33:
		o.c.Link.State, o.c.Link.Err = cluster.LinkLost, "no answer"
	case 36:
		o.c.Link.State, o.c.Link.Err = cluster.LinkLive, ""
	case 60:
		machine(func(v *trial.MachineView) { v.Reading.State, v.LeftOff = power.On, false })
		o.timeline.Add(record.Event{Lane: "power", Subject: "node3", Text: "machine on", Level: record.Good, From: "off", To: "on"})
		o.view("power on node3", 2, "")
	case 66:
		o.node(3, func(n *cluster.Node) { n.Ready, n.BootID, n.Taints, n.Overdue = cluster.TriTrue, "two", nil, false })
		o.timeline.Add(record.Event{Lane: "heartbeat", Kind: "node", Subject: "node3", Text: "heartbeat on time", From: "overdue", To: "on time"})
		o.timeline.Add(record.Event{Lane: "node", Kind: "node", Subject: "node3", Text: "NotReady → Ready", Level: record.Good, From: "NotReady", To: "Ready"})
		ended := append([]trial.Outage(nil), o.f.Outages...)
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
		o.view("", 3, record.Pass)
		o.say("operator", "trial", "verdict: pass")
	}
	if off {
		o.f.Next = []string{fmt.Sprintf("pods of node3 are evicted in %ds", 60-s)}
	}
	o.f.Power = machines
}

// load sends one request a second from 6 to 40; those of 15 to 19 fail five
// seconds later.
func (o *outage) load(s int) {
	run := o.f.Load
	run.Windows = append(append([]loadgen.Window(nil), run.Windows...), loadgen.Window{Second: o.now})
	at := func(second int) *loadgen.Window {
		first := int(run.Windows[0].Second.Sub(t0) / time.Second)
		return &run.Windows[second-first]
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
	switch {
	case s >= 20 && s < 25:
		end(s-5, loadgen.ClassPeerDead)
	}
	if s >= 7 && s < 41 && (s-1 < 15 || s-1 > 19) {
		end(s-1, loadgen.ClassOK)
	}
	o.f.Load = run
}

func (o *outage) show() {
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

// same compares what two frames show. Times are the same when they are the same
// moment, and an empty list is the same as none.
func same(path string, a, b reflect.Value) string {
	if a.Type() == reflect.TypeFor[time.Time]() {
		if x, y := a.Interface().(time.Time), b.Interface().(time.Time); !x.Equal(y) {
			return fmt.Sprintf("%s: %s, not %s", path, x, y)
		}
		return ""
	}
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			if a.IsNil() != b.IsNil() {
				return path + ": one is nil"
			}
			return ""
		}
		return same(path, a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if d := same(path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Slice:
		if a.Len() != b.Len() {
			return fmt.Sprintf("%s: %d items, not %d", path, a.Len(), b.Len())
		}
		for i := range a.Len() {
			if d := same(fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Map:
		if a.Len() != b.Len() {
			return fmt.Sprintf("%s: %d items, not %d", path, a.Len(), b.Len())
		}
		for _, k := range a.MapKeys() {
			if !b.MapIndex(k).IsValid() {
				return fmt.Sprintf("%s: no %v", path, k)
			}
			if d := same(fmt.Sprintf("%s[%v]", path, k), a.MapIndex(k), b.MapIndex(k)); d != "" {
				return d
			}
		}
		return ""
	}
	if !reflect.DeepEqual(a.Interface(), b.Interface()) {
		return fmt.Sprintf("%s: %v, not %v", path, a, b)
	}
	return ""
}

// differs says in what two frames differ for the eye; empty if in nothing.
// Of choices only the words are kept; the record's own folder stands in a
// trial's; what the gauge's clock says is not shown.
func differs(got, want *trial.Frame) string {
	g, w := *got, *want
	for _, f := range []*trial.Frame{&g, &w} {
		f.History, f.Recording, f.Replay, f.Load.Gauge.At = nil, false, nil, time.Time{}
		if f.Trial != nil {
			t := *f.Trial
			t.Dir = ""
			f.Trial = &t
		}
		if f.Question != nil {
			q := *f.Question
			q.Choices = nil
			f.Question = &q
		}
	}
	if (g.Snapshot == nil) != (w.Snapshot == nil) {
		return fmt.Sprintf("snapshot: %v, not %v", g.Snapshot, w.Snapshot)
	}
	if g.Snapshot != nil {
		gc, wc := g.Snapshot.Contents(), w.Snapshot.Contents()
		if d := pulse(&gc, &wc); d != "" {
			return d
		}
		if d := same("snapshot", reflect.ValueOf(gc), reflect.ValueOf(wc)); d != "" {
			return d
		}
	}
	g.Power, w.Power = unread(g.Power), unread(w.Power)
	g.Snapshot, w.Snapshot = nil, nil
	return same("frame", reflect.ValueOf(g), reflect.ValueOf(w))
}

// pulse takes out what goes on while nothing happens: it may be as old as the
// last sign of life.
func pulse(got, want *cluster.Contents) (d string) {
	check := func(what string, g, w *time.Time) {
		if late := w.Sub(*g); late < 0 || late > 5*time.Second {
			d = fmt.Sprintf("%s is %s, not %s", what, g, w)
		}
		*g, *w = time.Time{}, time.Time{}
	}
	check("the snapshot's time", &got.At, &want.At)
	check("the last contact", &got.Link.LastContact, &want.Link.LastContact)
	got.Version, want.Version = 0, 0
	nodes := func(c *cluster.Contents) {
		for i, n := range c.Nodes {
			x := *n
			c.Nodes[i] = &x
		}
	}
	got.Nodes, want.Nodes = slices.Clone(got.Nodes), slices.Clone(want.Nodes)
	nodes(got)
	nodes(want)
	for i := range min(len(got.Nodes), len(want.Nodes)) {
		check("a renewal", &got.Nodes[i].Renewed, &want.Nodes[i].Renewed)
		check("a heartbeat", &got.Nodes[i].RenewSeen, &want.Nodes[i].RenewSeen)
	}
	return d
}

func unread(in map[string]trial.MachineView) map[string]trial.MachineView {
	out := maps.Clone(in)
	for name, v := range out {
		v.Reading.At = time.Time{}
		out[name] = v
	}
	return out
}

// showing plays a record, paused, and gives the frames of moments.
type showing struct {
	t *testing.T
	p *replay.Player
}

func show(t *testing.T, dir string) *showing {
	t.Helper()
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return showRecord(t, r)
}

func showRecord(t *testing.T, r *record.Record) *showing {
	t.Helper()
	p, err := replay.New(r, replay.Options{Paused: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return &showing{t, p}
}

func (s *showing) at(at time.Time) *trial.Frame {
	s.t.Helper()
	s.p.Send(trial.ReplaySeek{At: at})
	for f := range s.p.Frames() {
		switch r := f.Replay; {
		case f.Now.Equal(at):
			return f
		case at.Before(r.Start), at.After(r.End):
			s.t.Fatalf("%s is not within the record, from %s to %s", at, r.Start, r.End)
		}
	}
	s.t.Fatal("the replay has ended")
	return nil
}

func TestAReplayShowsWhatTheOperatorSaw(t *testing.T) {
	o := newOutage(t)
	if err := trial.RecordFrames(o.dir, nil, o.frames, false); err != nil {
		t.Fatal(err)
	}
	s := show(t, o.dir)
	for _, want := range o.frames {
		if d := differs(s.at(want.Now), want); d != "" {
			t.Fatalf("at %s: %s", want.Now.Sub(t0), d)
		}
	}
	// Back and forth is the same as straight on.
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		want := o.frames[rnd.IntN(len(o.frames))]
		if d := differs(s.at(want.Now), want); d != "" {
			t.Fatalf("back at %s: %s", want.Now.Sub(t0), d)
		}
	}
	last := s.at(o.frames[len(o.frames)-1].Now)
	h := last.History[o.f.Focus]
	if len(h) != outageSeconds-1 || h[len(h)-1] != 8 || h[30] != 8 || h[20] != 6 || h[25] != 6 || h[10] != 8 {
		t.Errorf("the history is %v", h)
	}
	if last.Replay.Torn != "" {
		t.Errorf("a whole record is called torn: %s", last.Replay.Torn)
	}
}

func TestEveryFieldOfAFrameIsRecordedOrKnownNotToBe(t *testing.T) {
	// Those that are not compared above, and why.
	left := map[string]string{
		"History": "worked out anew", "Recording": "of the session, not of the record", "RecordErr": "can't be recorded",
		"Replay": "not of a session",
	}
	o := newOutage(t)
	shown := map[string]bool{}
	for _, f := range o.frames {
		v := reflect.ValueOf(*f)
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				shown[v.Type().Field(i).Name] = true
			}
		}
	}
	for i := range reflect.TypeFor[trial.Frame]().NumField() {
		name := reflect.TypeFor[trial.Frame]().Field(i).Name
		switch name {
		case "ReadOnly", "DryRun", "Production", "LoadReady": // see TestTitlesAreRecorded
			continue
		}
		if left[name] == "" && !shown[name] {
			t.Errorf("no test records the field %s of a frame", name)
		}
	}
}

func TestTitlesAreRecorded(t *testing.T) {
	dir := t.TempDir()
	f := &trial.Frame{Now: t0, Cluster: "c", Via: "v", Pace: "fast", ReadOnly: true, DryRun: true, Production: true, LoadReady: "no load"}
	if err := trial.RecordFrames(dir, nil, []*trial.Frame{f}, false); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, record.EventsFile), "")
	if d := differs(show(t, dir).at(t0), f); d != "" {
		t.Error(d)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestARecordCutAnywhereIsReadUpToTheCut(t *testing.T) {
	o := newOutage(t)
	if err := trial.RecordFrames(o.dir, nil, o.frames, true); err != nil {
		t.Fatal(err)
	}
	whole := map[string][]byte{}
	for _, name := range []string{record.EventsFile, record.RequestsFile, record.SamplesFile} {
		b, err := os.ReadFile(filepath.Join(o.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		whole[name] = b
	}
	byTime := map[int64]*trial.Frame{}
	for _, f := range o.frames {
		byTime[f.Now.UnixNano()] = f
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		dir, cuts, inLine := t.TempDir(), map[string]int{}, false
		for name, b := range whole {
			n := rnd.IntN(len(b) + 1)
			cuts[name] = strings.Count(string(b[:n]), "\n")
			if n > 0 && b[n-1] != '\n' {
				if n < len(b) && b[n] == '\n' {
					cuts[name]++ // whole but for the line feed
				} else {
					inLine = true
				}
			}
			writeFile(t, filepath.Join(dir, name), string(b[:n]))
		}
		r, err := record.Open(dir)
		if err != nil {
			t.Fatalf("cut to %v lines: %v", cuts, err)
		}
		if len(r.Events) != cuts[record.EventsFile] || len(r.Requests) != cuts[record.RequestsFile] || len(r.Samples) != cuts[record.SamplesFile] {
			t.Fatalf("of %v lines, %d events, %d requests and %d samples are read", cuts, len(r.Events), len(r.Requests), len(r.Samples))
		}
		if inLine && len(r.Torn) == 0 {
			t.Fatal("it is not said that a line is torn")
		}
		if len(r.Samples) == 0 || r.Start.IsZero() {
			continue
		}
		last := r.Samples[len(r.Samples)-1]
		want := *byTime[last.At.UnixNano()]
		got := showRecord(t, r).at(last.At)
		want.Events, got.Events = nil, nil // cut elsewhere
		if d := differs(got, &want); d != "" {
			t.Fatalf("cut to %v lines, at the last sample: %s", cuts, d)
		}
	}
}

func TestARecordTellsSecondsAndLanes(t *testing.T) {
	o := newOutage(t)
	if err := trial.RecordFrames(o.dir, nil, o.frames, false); err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(o.dir)
	if err != nil {
		t.Fatal(err)
	}
	at := func(s int) time.Time { return t0.Add(time.Duration(s) * time.Second) }
	if !r.Start.Equal(t0) || !r.Zero.Equal(at(13)) || !r.End.Equal(o.now) || len(r.Torn) != 0 {
		t.Errorf("from %s to %s, zero %s, torn %q", r.Start, r.End, r.Zero, r.Torn)
	}
	if len(r.Seconds) != outageSeconds {
		t.Fatalf("%d seconds", len(r.Seconds))
	}
	for i, s := range r.Seconds {
		sent := i >= 6 && i < 40
		failed := i >= 15 && i < 20
		available := 8
		switch {
		case i == 0:
			available = -1
		case i >= 20 && i < 28:
			available = 6
		}
		if !s.At.Equal(at(i)) || (s.Sent == 1) != sent || (s.FailedSum() == 1) != failed || (s.OK == 1) != (sent && !failed) ||
			s.Unresolved != 0 || s.Sampled != sent || sent && (s.Served != 3 || s.Capacity != 8) || s.Available != available {
			t.Errorf("second %d: %+v", i, s)
		}
	}
	want := []record.Lane{{Node: "node0"}, {Node: "node1"}, {Node: "node2"}, {Node: "node3", Spans: []record.Span{
		{Kind: record.SpanOff, From: at(14), To: at(60)},
		{Kind: record.SpanSilent, From: at(17), To: at(66)},
		{Kind: record.SpanNotReady, From: at(20), To: at(66)},
	}}}
	if d := same("lanes", reflect.ValueOf(r.Lanes), reflect.ValueOf(want)); d != "" {
		t.Errorf("%s\n%+v", d, r.Lanes)
	}
}

func TestAKilledRecordCountsWhatNeverEnded(t *testing.T) {
	o := newOutage(t)
	// Killed at 18.5 s: the requests of 15 to 17 have not ended, nor that of 18.
	var frames []*trial.Frame
	for _, f := range o.frames {
		if f.Now.Sub(t0) <= 18500*time.Millisecond {
			frames = append(frames, f)
		}
	}
	if err := trial.RecordFrames(o.dir, nil, frames, true); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(o.dir, record.RequestsFile)
	records, _, err := record.ReadRequests(path)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, r := range records {
		if !r.End.After(t0.Add(18500 * time.Millisecond)) {
			b, _ := json.Marshal(r)
			text.Write(append(b, '\n'))
		}
	}
	writeFile(t, path, text.String())
	r, err := record.Open(o.dir)
	if err != nil {
		t.Fatal(err)
	}
	open := 0
	for i, s := range r.Seconds {
		if s.Unresolved > 0 && (i < 15 || i > 18) || s.Sent != s.OK+s.Cancelled+s.FailedSum()+s.Unresolved {
			t.Errorf("second %d: %+v", i, s)
		}
		open += s.Unresolved
	}
	if open != 4 {
		t.Errorf("%d requests are told as not ended", open)
	}
	if len(r.Torn) == 0 {
		t.Error("it is not said that the program was killed")
	}
}

func TestAnUnchangedScreenCostsLittle(t *testing.T) {
	c := cluster.Contents{Version: 1, At: t0}
	for i := range 20_000 {
		c.Pods = append(c.Pods, &cluster.Pod{Key: cluster.Key{Namespace: "default", Name: fmt.Sprintf("pod-%05d", i)}, Node: "n", Status: "Running"})
	}
	snapshot := cluster.NewSnapshot(c)
	var frames []*trial.Frame
	for i := range 40 {
		frames = append(frames, &trial.Frame{Now: t0.Add(time.Duration(i) * 500 * time.Millisecond), Snapshot: snapshot})
	}
	dir := t.TempDir()
	if err := trial.RecordFrames(dir, nil, frames, false); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, record.EventsFile), "")
	f, err := os.Open(filepath.Join(dir, record.SamplesFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, _ := f.Stat(); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	small := 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if len(lines.Bytes()) < 100 {
			small++
		}
	}
	// In 20 s: the keyframe, a sign of life each 5 s, the end.
	if small < 3 || small > 5 {
		t.Errorf("%d short lines", small)
	}
	if got := show(t, dir).at(t0.Add(19 * time.Second)); got.Snapshot.PodCount() != 20_000 {
		t.Errorf("%d pods are played", got.Snapshot.PodCount())
	}
}

func TestTheLastFrameIsWrittenForCertain(t *testing.T) {
	dir := t.TempDir()
	s, err := trial.NewSampler(dir, nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 { // never blocks, whatever becomes of them
		s.Offer(&trial.Frame{Now: t0.Add(time.Duration(i) * time.Millisecond), Cluster: fmt.Sprint("c", i)})
	}
	if err := s.Finish(&trial.Frame{Now: t0.Add(time.Minute), Cluster: "last"}); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, record.EventsFile), "")
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if f := showRecord(t, r).at(t0.Add(time.Minute)); f.Cluster != "last" || len(r.Torn) != 0 {
		t.Errorf("the last frame is of %q, torn %q", f.Cluster, r.Torn)
	}
}

func TestThereAreSignsOfLifeWhenNothingIsShown(t *testing.T) {
	dir := t.TempDir()
	s, err := trial.NewLivelySampler(dir, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s.Offer(&trial.Frame{Now: began, Cluster: "c"})
	path := filepath.Join(dir, record.SamplesFile)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if b, _ := os.ReadFile(path); strings.Count(string(b), "\n") > 3 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("there are no signs of life")
		}
	}
	if err := s.Finish(nil); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, record.EventsFile), "")
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if f := showRecord(t, r).at(r.End); f.Cluster != "c" || !r.End.After(began) {
		t.Errorf("at the end, %s, the screen is of %q", r.End.Sub(began), f.Cluster)
	}
}

func TestAFullDiskIsToldAndStopsNothing(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	for _, name := range []string{record.SamplesFile, record.CastFile} {
		dir := t.TempDir()
		if err := os.Symlink("/dev/full", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		s, err := trial.NewSampler(dir, func(*trial.Frame, int, int) string { return "x" }, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		s.Offer(&trial.Frame{Now: t0})
		for deadline := time.Now().Add(20 * time.Second); s.Err() == nil; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: nothing is said of a full disk", name)
			}
		}
		s.Offer(&trial.Frame{Now: t0.Add(time.Second), Cluster: "c"})
		if err := s.Finish(nil); err == nil {
			t.Errorf("%s: the end says nothing of a full disk", name)
		}
	}
	if _, err := trial.NewSampler(filepath.Join(t.TempDir(), "nowhere"), nil, time.Now); err == nil {
		t.Error("a folder that is not there is not told")
	}
}

package recorder

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/planned"
	"lightsout/internal/session"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// scene is a recorder with a node, a service and pods over some time. A request ends each second.
type scene struct {
	*screen
	start time.Time
	node  cluster.Node
	// silent: the node sends no heartbeat. absent: the API server does not answer. alone: another
	// node is there instead.
	silent, absent, alone bool
	contact               time.Time
	// pending is how many pods have no node, ready how many endpoints the service has of all.
	pending, ready, all int
	// answer is how requests end that are sent now: ok, refused, hang, or none.
	answer string
	limit  int // of hanging ones, in seconds
	hung   map[int]bool
}

func newScene(t *testing.T, change func(*Options)) *scene {
	w := &scene{ready: 1, all: 1, answer: "none", limit: 30, hung: map[int]bool{}}
	w.screen = newScreenOf(t, 1<<20, func(o *Options) {
		o.Trial, o.Past, o.Steady = nil, 15*time.Minute, 30*time.Second
		if change != nil {
			change(o)
		}
	})
	w.requests.every = time.Second
	w.loads[1] = session.LoadStarted{Spec: loadgen.Spec{Shape: loadgen.Rate, PerSecond: 1}}
	w.start, w.contact = w.now, w.now
	w.node = cluster.Node{Name: "n1", Ready: cluster.TriTrue, ReadySince: w.now.Add(-time.Hour), Created: w.now.Add(-2 * time.Hour), LeaseDuration: 40 * time.Second, BootID: "first", Renewed: w.now, RenewSeen: w.now}
	w.change = w.contents
	return w
}

func (w *scene) contents(c *cluster.Contents) {
	n := w.node
	c.Nodes = []*cluster.Node{&n}
	if w.alone {
		c.Nodes[0] = &cluster.Node{Name: "n9", Ready: cluster.TriTrue, Renewed: w.now, RenewSeen: w.now}
	}
	c.Link.LastContact = w.contact
	if w.absent {
		c.Link.State = cluster.LinkDisconnected
	}
	for i := range w.pending {
		c.Pods = append(c.Pods, &cluster.Pod{Key: cluster.Key{Namespace: "default", Name: "p" + strconv.Itoa(i)}, Phase: "Pending"})
	}
	c.Endpoints = []*cluster.Endpoints{{Service: cluster.Key{Namespace: "default", Name: "web"}, Ready: w.ready, Total: w.all}}
}

func (w *scene) second() int { return int(w.now.Sub(w.start).Seconds()) }

// ends has a request end now that was sent in that second.
func (w *scene) end(class loadgen.Class, sent int) {
	at := w.start.Add(time.Duration(sent) * time.Second)
	w.Record(loadgen.Record{Run: 1, Shape: loadgen.Rate, Class: class, Scheduled: at, Sent: at, End: w.now})
}

// run lets seconds pass.
func (w *scene) run(seconds int) *scene {
	for range seconds {
		w.setTime(w.now.Add(time.Second))
		s := w.second()
		if !w.silent {
			w.node.Renewed, w.node.RenewSeen = w.now, w.now
		}
		if !w.absent {
			w.contact = w.now
		}
		switch w.answer {
		case "ok":
			w.end(loadgen.ClassOK, s)
		case "refused":
			w.end(loadgen.ClassRefused, s)
		case "hang":
			w.hung[s] = true
		}
		if sent := s - w.limit; w.hung[sent] {
			w.end(loadgen.ClassFirstByte, sent)
		}
		w.turn()
	}
	return w
}

// note annotates the node as lightsout does, with that boot ID; empty takes the annotation away.
func (w *scene) note(by, boot string) {
	w.node.Annotations = nil
	if by != "" {
		w.node.Annotations = map[string]string{power.AnnotationSwitchedOff: power.Note{By: by, Boot: boot}.Text()}
	}
}

// boots ends a silence of the node.
func (w *scene) boots(id string) {
	w.silent, w.node.BootID, w.node.ReadySince = false, id, w.now
}

// planned switches the machine off for so many seconds.
func (w *scene) planned(seconds int) {
	w.off()
	w.run(seconds)
	w.boots(w.node.BootID + "+")
	w.note("", "")
}

// off switches the machine off, and leaves it off.
func (w *scene) off() {
	w.note("me@here", w.node.BootID)
	w.run(2).silent = true
}

// half lets seconds pass in which each second request fails.
func (w *scene) half(seconds int) {
	for range seconds / 2 {
		w.answer = "refused"
		w.run(1).answer = "ok"
		w.run(1)
	}
}

// starts starts another recorder instead, so many seconds later.
func (w *scene) starts(seconds int) *scene {
	w.setTime(w.now.Add(time.Duration(seconds) * time.Second))
	w.plans, w.seen = planned.Offs{}, nil
	w.Recorder = New(w, w.opt)
	return w.run(1)
}

// cordon cordons the node, or uncordons it.
func (w *scene) cordon(on bool) {
	w.node.Unschedulable = on
	w.Handle(cluster.Transition{Change: cluster.ChangeCordon, Subject: cluster.Ref{Kind: cluster.KindNode, Key: cluster.Key{Name: "n1"}}, When: cluster.At(w.now)})
}

// Each alert is in one record, with the right zero, unless a mute covers it. A want is the
// sign, the second of its time and, after a slash, the second in which it was noticed.
func TestAlertsBeginRecords(t *testing.T) {
	for name, c := range map[string]struct {
		live func(w *scene)
		want string
	}{
		"a heartbeat is late":             {func(w *scene) { w.run(3).silent = true; w.run(17).silent = false }, ""},
		"a node falls silent":             {func(w *scene) { w.run(3).silent = true }, "silent 3/22"},
		"planned":                         {func(w *scene) { w.run(3).planned(60) }, ""},
		"planned, no boot ID":             {func(w *scene) { w.node.BootID = ""; w.run(3).planned(60) }, ""},
		"planned, never back":             {func(w *scene) { w.run(3).planned(60); w.silent = true; w.node.BootID = "first"; w.run(700) }, "not back 666/668"},
		"planned, back after 9 minutes":   {func(w *scene) { w.run(3).planned(60); w.silent = true; w.run(540).silent = false }, ""},
		"planned, back, and silent again": {func(w *scene) { w.run(3).planned(60); w.run(100).silent = true }, "silent 165/184"},
		"back by others, and silent again": {func(w *scene) {
			w.run(3).note("me@here", "first")
			w.run(2).silent = true
			w.run(60).boots("second")
			w.run(20).silent = true
		}, "silent 85/104"},
		"annotated, stays up, silent later": {func(w *scene) { w.run(3).note("me@here", "first"); w.run(60).silent = true }, "silent 63/82"},
		"annotated twice": {func(w *scene) {
			w.run(3).note("me@here", "first")
			w.run(1).silent = true
			w.run(60).note("you@there", "first")
		}, ""},
		"cordoned, silent, then uncordoned": {func(w *scene) { w.run(3).cordon(true); w.run(1).silent = true; w.run(60).cordon(false) }, ""},
		"down before the recorder starts":   {func(w *scene) { w.run(3).node.Ready, w.silent = cluster.TriUnknown, true; w.starts(300) }, "silent 3/306"},
		"a heartbeat is late at the start":  {func(w *scene) { w.run(3).silent = true; w.starts(30) }, "silent 3/36"},
		"down for long before it starts":    {func(w *scene) { w.run(3).silent = true; w.starts(1000) }, ""},
		"so, back, and silent again": {func(w *scene) {
			w.run(3).silent = true
			w.starts(1000).silent = false
			w.run(10).silent = true
		}, "silent 1014/1033"},
		"the API server stops":    {func(w *scene) { w.run(3).absent = true }, "api 4/6"},
		"the API server restarts": {func(w *scene) { w.run(3).absent = true; w.run(2).absent = false }, ""},
		"a node seems silent after that": {func(w *scene) {
			w.run(3).absent, w.silent = true, true
			w.run(20).absent = false
			w.run(5).silent = false
		}, "api 3/6"},
		"a node falls silent meanwhile": {func(w *scene) { w.run(3).absent, w.silent = true, true; w.run(20).absent = false }, "api 3/6, silent 3/41"},
		"no endpoint":                   {func(w *scene) { w.run(3).ready = 0 }, "endpoints 4/14"},
		"no endpoint for a moment":      {func(w *scene) { w.run(3).ready = 0; w.run(9).ready = 1 }, ""},
		"scaled to 0":                   {func(w *scene) { w.run(3).ready, w.all = 0, 0 }, ""},
		"no endpoint, by plan":          {func(w *scene) { w.run(3).ready = 0; w.planned(60); w.ready = 1 }, ""},
		"a pod waits, and others later": {func(w *scene) {
			w.run(3).pending = 1
			w.run(420).pending = 20
			w.run(420).pending = 5
			w.run(60).pending = 6
		}, "pending 4/14; pending 424/434; pending 904/914"},
		"pods wait after a cordon":          {func(w *scene) { w.run(3).cordon(true); w.run(1).pending = 3; w.run(800).pending = 0 }, ""},
		"pods wait for too long after that": {func(w *scene) { w.run(3).cordon(true); w.run(1).pending = 3; w.run(900) }, "pending 903/913"},
		"one request fails":                 {func(w *scene) { w.answer = "ok"; w.run(20).answer = "refused"; w.run(1).answer = "ok" }, ""},
		"requests fail":                     {func(w *scene) { w.answer = "ok"; w.run(20).answer = "refused" }, "requests 20/22"},
		"requests hang":                     {func(w *scene) { w.answer = "ok"; w.run(20).answer = "hang"; w.run(8).answer = "ok" }, "requests 21/52"},
		"requests never succeeded":          {func(w *scene) { w.answer = "refused"; w.run(60) }, ""},
		"requests hung before the first ok": {func(w *scene) { w.answer = "hang"; w.run(20).answer = "ok" }, ""},
		"requests fail by plan":             {func(w *scene) { w.answer = "ok"; w.run(20).answer = "refused"; w.planned(60); w.run(50).answer = "ok" }, ""},
		"requests fail by plan, for long": {func(w *scene) {
			w.answer = "ok"
			w.run(20).answer = "refused"
			w.planned(2000)
			w.run(50).answer = "ok"
		}, ""},
		"half of the requests fail by plan": {func(w *scene) { w.answer = "ok"; w.run(20).off(); w.half(2000); w.boots("second"); w.run(20) }, ""},
		"requests fail with the node back": {func(w *scene) {
			w.answer = "ok"
			w.run(20).planned(2000)
			w.answer = "refused"
			w.run(20).answer = "ok"
		}, ""},
		"requests fail with its first heartbeat": {func(w *scene) {
			w.answer = "ok"
			w.run(20).off()
			w.run(2000).boots("second")
			w.node.Ready, w.answer = cluster.TriFalse, "refused"
			w.run(20).node.Ready = cluster.TriTrue
			w.run(20).answer = "ok"
		}, ""},
		"requests fail long after the switch-off": {func(w *scene) {
			w.answer = "ok"
			w.run(20).off()
			w.run(600).answer = "refused"
			w.run(30).answer = "ok"
		}, "requests 622/624"},
		"with it, and again long after it": {func(w *scene) {
			w.answer = "ok"
			w.run(20).off()
			w.answer = "refused"
			w.run(60).answer = "ok"
			w.run(600).answer = "refused"
			w.run(30).answer = "ok"
		}, "requests 682/684"},
		"no endpoint long after it": {func(w *scene) { w.run(20).off(); w.run(600).ready = 0; w.run(30) }, "endpoints 623/633"},
		"pods wait by plan, for long": {func(w *scene) {
			w.run(20).off()
			w.run(60).pending = 3
			w.run(2000).boots("second")
			w.run(20).pending = 0
		}, ""},
		"pods wait long after it": {func(w *scene) { w.run(20).off(); w.run(600).pending = 3; w.run(30) }, "pending 623/633"},
		"requests hang by plan, fail later": {func(w *scene) {
			w.limit, w.answer = 1000, "ok"
			w.run(20)
			w.note("me@here", "first")
			w.run(1).answer = "hang"
			w.planned(60)
			w.answer = "ok"
			w.run(1000)
		}, ""},
		"requests fail after the plan": {func(w *scene) { w.answer = "ok"; w.run(20).planned(60); w.answer = "refused"; w.run(100) }, "requests 144/145"},
		"requests that hung in a record": {func(w *scene) {
			w.limit, w.answer = 200, "ok"
			w.run(20).answer, w.silent = "hang", true
			w.run(60).answer = "ok"
			w.boots("second")
		}, "silent 20/39"},
		"a node fails during a planned one's": {func(w *scene) {
			w.run(3).note("me@here", "first")
			w.run(1).silent, w.ready = true, 0
			w.run(30).absent = true
		}, "api 34/37"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newScene(t, nil)
			w.run(0).observe(w.Snapshot()) // it has seen the cluster
			c.live(w)
			w.run(300)
			var got []string
			for _, sum := range w.summaries() {
				var signs []string
				for _, x := range sum.Unplanned.Signs {
					signs = append(signs, fmt.Sprintf("%s %.0f/%.0f", x.Kind, x.At.Sub(w.start).Seconds(), x.Noticed.Sub(w.start).Seconds()))
				}
				if !sum.Zero.Equal(sum.Unplanned.Signs[0].At) {
					t.Errorf("the zero is %s", sum.Zero)
				}
				got = append(got, strings.Join(signs, ", "))
			}
			slices.Sort(got)
			if said := strings.Join(got, "; "); said != c.want {
				t.Errorf("records: %q, want %q", said, c.want)
			}
		})
	}
}

// The recorder says that it notices failures once it does: what a switch-off by plan explains begins no record.
func TestFailuresAreNoticedWhenTheRecorderSaysSo(t *testing.T) {
	w := newScene(t, nil)
	w.answer = "ok"
	w.off()
	w.run(60).starts(3600).requests.every = time.Second
	w.run(5)
	said := func() string { return strings.Join(w.printed, "\n") }
	if !strings.Contains(said(), "n1 was switched off as planned, by me@here: failures of the service that begin within 8m00s") || strings.Contains(said(), "failures are noticed") {
		t.Errorf("printed %q", said())
	}
	for s := 0; s < 600 && !strings.Contains(said(), "failures are noticed"); s++ {
		w.run(1)
	}
	w.answer = "refused"
	w.run(3)
	if !w.Running() {
		t.Errorf("failures begin no record; printed %q", said())
	}
}

// Streams that break when their node fails date the outage by their end: the service answered them
// until then.
func TestBrokenStreamsDateAnOutageByTheirEnd(t *testing.T) {
	w := newScene(t, nil)
	w.answer = "ok"
	w.run(100)
	for _, class := range []loadgen.Class{loadgen.ClassReset, loadgen.ClassIdle} {
		w.Record(loadgen.Record{Run: 1, Class: class, Scheduled: w.start.Add(9 * time.Second), Sent: w.start.Add(9 * time.Second), LastByte: w.now.Add(-time.Second / 2), End: w.now})
	}
	w.run(1)
	w.answer = "none"
	w.run(100)
	if all := w.summaries(); len(all) != 1 || all[0].Zero.Sub(w.start) != 99*time.Second+time.Second/2 || all[0].Unplanned.Signs[0].Kind != view.SignRequests {
		t.Errorf("%+v", all)
	}
}

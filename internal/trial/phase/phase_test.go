package phase

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

func TestAWholeOutageWithRoomElsewhere(t *testing.T) {
	w := newWorld(t, 20000) // four leave room for two more
	w.off(power.ActionOff, n4)
	w.Power(n4, power.Reading{State: power.On, RequestedAt: at(0.5), Arrived: at(0.5)})
	w.Power(n4, power.Reading{State: power.Off, Proof: power.Proven, Detail: "PowerOFF", RequestedAt: at(2), Arrived: at(2)})
	w.look(10)
	w.lose(n4, 50.3)
	w.taint(n4, 50.5)
	if w.AllEvicted(n4) {
		t.Error("evicted before the eviction")
	}
	w.evict(n4, 350.8)
	if !w.AllEvicted(n4) {
		t.Error("not all pods are evicted")
	}
	for i := range 4 {
		p := w.pod(fmt.Sprintf("new-%d", i), "kube-node1", 20000)
		w.now = at(360 + float64(i))
		p.Changed, p.ReadySince, p.Created = w.now, w.now, at(350)
		w.look(360.2 + float64(i))
	}
	w.available(16)
	w.look(364)

	for _, p := range w.Table() {
		if p.Subject != n4 && p.Subject != llm.String() && p.Subject != Load {
			t.Errorf("a row about %s", p.Subject)
		}
	}
	w.want(view.PhaseOff, n4, "– | 2 | proven (PowerOFF)")
	// The last heartbeat was at -2; grace period 50 s, two passes of 5 s, half a second either way.
	w.want(view.PhaseDetected, n4, "47.5..58.5 | 50.3 | assumed timings")
	w.want(view.PhaseEndpointsOut, n4, "47.5..60.7 | 50.3 | assumed timings")
	w.want(view.PhaseTainted, n4, "50.3..67 | 50.5 | assumed timings")
	w.want(view.PhaseEvicted, n4, "350..352 | 350.8 | ")
	// The pods took 10 s to start; another may be quicker.
	w.want(view.PhaseReplaced, llm.String(), "350.8..362.8 | 363.2 | ")
	w.want(view.PhaseErrors, Load, "0..62.2 | – | ")
	w.want(view.PhaseBooted, n4, "– | – | ")
	if got := w.first(view.PhaseDetected, n4); got != "47.5..70.9" { // one more heartbeat, up to 10.4 s later
		t.Errorf("first forecast of the detection: %s", got)
	}
	if got := w.first(view.PhaseEvicted, n4); !strings.HasPrefix(got, "347.5..") {
		t.Errorf("first forecast of the eviction: %s", got)
	}

	w.Switched(n4, power.ActionOn, at(400))
	w.look(401)
	w.boot(n4, 420)
	w.ready(n4, 422)
	w.look(423)
	w.want(view.PhaseBooted, n4, "– | 420 | ")
	w.want(view.PhaseReady, n4, "420..450 | 422 | ")
	w.want(view.PhaseRestored, llm.String(), "422..453 | 422 | all its pods were available before, and then the nodes Ready too")
}

func TestTheForecastFollowsTheNewestHeartbeatAndIsFrozenByTheObservation(t *testing.T) {
	w := newWorld(t, 32000)
	w.off(power.ActionShutdown, n4)
	w.now = at(6)
	w.node(n4, func(n *cluster.Node) { n.RenewSeen = at(6) }) // late in its shutdown
	w.look(6)
	w.look(30)
	if i := w.nodes[n4].rows.of(view.PhaseDetected).predicted; !i.From.Equal(at(55.5)) || !i.To.Equal(at(66.5)) {
		t.Errorf("expected in %v", i)
	}
	w.lose(n4, 58)
	w.look(100)
	w.want(view.PhaseDetected, n4, "55.5..66.5 | 58 | assumed timings")
	if when, ok := w.Observed(view.PhaseDetected, n4); !ok || !when.Equal(at(58)) {
		t.Errorf("observed %v", when)
	}
}

func TestAShutdownThatTheKubeletReports(t *testing.T) {
	w := newWorld(t, 32000)
	w.node(n4, func(n *cluster.Node) {
		n.Kubelet = &cluster.Kubelet{StatusUpdate: 10 * time.Second, ShutdownGrace: time.Minute}
	})
	w.look(-0.5)
	w.off(power.ActionShutdown, n4)
	w.look(0.5)
	w.now = at(1)
	w.node(n4, func(n *cluster.Node) {
		n.Ready, n.Message, n.ReadySince = cluster.TriFalse, "node is shutting down", at(1)
	})
	w.look(1.3)
	w.want(view.PhaseDetected, n4, "0..58.5 | 1 | assumed timings; the kubelet reports its own shutdown (shutdownGracePeriod 1m00s); the kubelet reported its own shutdown")
}

func TestPodsThatEndWithAGracefulShutdownAreReplacedAtOnce(t *testing.T) {
	w := newWorld(t, 20000)
	w.node(n4, func(n *cluster.Node) {
		n.Kubelet = &cluster.Kubelet{StatusUpdate: 10 * time.Second, ShutdownGrace: time.Minute}
	})
	w.look(-0.5)
	w.off(power.ActionShutdown, n4)
	w.look(1)
	w.now = at(2)
	w.podsOn(n4, func(p *cluster.Pod) { p.Phase, p.Status, p.Ready = "Failed", "Terminated", false })
	w.look(2)
	w.want(view.PhaseReplaced, llm.String(), "0..72 | – | ") // the shutdown's minute, 10 s to start
	for i := range 4 {
		w.now = at(13)
		p := w.pod(fmt.Sprintf("new-%d", i), "kube-node1", 20000)
		p.Changed, p.ReadySince, p.Created = w.now, w.now, at(3)
	}
	w.look(13.1)
	w.want(view.PhaseReplaced, llm.String(), "0..72 | 13.1 | ")
}

// What changes at the same node soon after its status dates neither its detection nor its return.
func TestDetectionAndReturnAreDatedByTheStatus(t *testing.T) {
	w := newWorld(t, 20000)
	w.off(power.ActionOff, n4)
	for i, ready := range []cluster.Tri{cluster.TriUnknown, cluster.TriTrue} {
		w.now = at(50.4 + float64(i))
		w.node(n4, func(n *cluster.Node) { n.Ready, n.StatusChanged = ready, at(50+float64(i)) })
		w.look(50.5 + float64(i))
		if got, _ := w.Observed([]string{view.PhaseDetected, view.PhaseReady}[i], n4); !got.Equal(at(50 + float64(i))) {
			t.Error(i, got)
		}
	}
}

func TestReplacementsWithoutRoomAreNotForecast(t *testing.T) {
	w := newWorld(t, 32000) // four pods fill a node
	w.off(power.ActionOff, n3, n4)
	w.look(1)
	w.want(view.PhaseReplaced, llm.String(), "– | – | 8 pods get no node until the nodes return")
	if why, _ := w.Why(view.PhaseReplaced, llm.String()); why != "8 pods get no node until the nodes return" {
		t.Errorf("why: %q", why)
	}
	w.lose(n3, 50)
	w.lose(n4, 50)
	w.taint(n3, 50.2)
	w.want(view.PhaseTainted, n4, "59..67 | – | assumed timings") // 10 s after the first
	w.want(view.PhaseEvicted, n4, "359..368 | – | ")
	w.available(8)
	w.look(60)

	// Before any eviction both return, and the same pods with them.
	for i, n := range []string{n3, n4} {
		w.Switched(n, power.ActionOn, at(70))
		w.boot(n, 80+float64(i))
		w.ready(n, 82+float64(i))
		w.podsOn(n, func(p *cluster.Pod) { p.Ready = true })
	}
	w.now = at(88)
	w.available(16)
	w.look(88.1)
	w.want(view.PhaseEvicted, n3, "350..352 | – | the node was back before")
	w.want(view.PhaseReplaced, llm.String(), "– | – | 8 pods get no node until the nodes return")
	// Ready at 83, two passes, the scheduler's back-off, 10 s to start.
	w.want(view.PhaseRestored, llm.String(), "83..114 | 88 | ")
}

func TestTheZoneRuleTakesTheEvictionsAway(t *testing.T) {
	w := newWorld(t, 20000)
	w.off(power.ActionOff, "kube-node2", n3, n4)
	w.look(1)
	const rule = "zone rule: 3 of 4 nodes not ready, so nothing is evicted, except perhaps from the first node found"
	w.want(view.PhaseTainted, n4, "– | – | "+rule)
	w.want(view.PhaseEvicted, n4, "– | – | "+rule)
	w.want(view.PhaseReplaced, llm.String(), "– | – | "+rule)
	w.want(view.PhaseDetected, n4, "47.5..58.5 | – | assumed timings")
	// The first one found has its taint before the rule holds.
	w.lose(n3, 48)
	w.taint(n3, 48.1)
	w.want(view.PhaseTainted, n3, "– | 48.1 | "+"")
	w.want(view.PhaseEvicted, n3, "348..350 | – | ")
}

func TestEvictionIsReckonedInOurClock(t *testing.T) {
	w := newWorld(t, 20000)
	w.off(power.ActionOff, n4)
	w.lose(n4, 50)
	w.now = at(50.5)
	w.c.Link.Ahead = 30 * time.Second
	w.node(n4, func(n *cluster.Node) { // the control plane's clock is 30 s ahead
		n.Taints = []cluster.Taint{{Key: unreachable, Effect: "NoExecute", TimeAdded: at(80)}}
	})
	w.look(51)
	w.want(view.PhaseEvicted, n4, "350..352 | – | ")
}

// row is the row of a phase of a node.
func (w *world) row(name, node string) view.Phase {
	w.Helper()
	for _, p := range w.Table() {
		if p.Name == name && p.Subject == node {
			return p
		}
	}
	w.Fatalf("no row of %s, %s", name, node)
	return view.Phase{}
}

// lost has the API server not answer from one time to another.
func (w *world) lost(from, to float64) {
	w.look(from)
	w.c.Link = cluster.Link{State: cluster.LinkDisconnected, LastContact: at(from), Ahead: w.c.Link.Ahead}
	w.look(from + 8)
	w.look(to - 0.1)
	w.c.Link = cluster.Link{State: cluster.LinkLive, Ahead: w.c.Link.Ahead}
}

// A phase came at one moment if the watches worked, and in an interval if they did not: its source's
// own time narrows it, unless a node's clock gave that or it can't be.
func TestAPhaseOfABlindSpanIsAnInterval(t *testing.T) {
	for name, tc := range map[string]struct {
		blind     [2]float64
		late      bool // the pods' watch works later than the others
		ahead     time.Duration
		seen      float64
		since     float64 // by the control plane's clock
		detected  string
		endpoints string
	}{
		"seen live":                        {[2]float64{10, 30}, false, 0, 50.5, 50, "50.5 true", "50.5 true"},
		"hidden":                           {[2]float64{32, 92}, false, 0, 92, 51, "51–52 true", "32–92 unknown"},
		"hidden, by a clock that is ahead": {[2]float64{32, 92}, false, 6 * time.Second, 92, 57, "51–52 true", "32–92 unknown"},
		"hidden, by a clock that lightsout mistook": {[2]float64{32, 92}, false, 0, 92, 163, "32–92 unknown", "32–92 unknown"},
		"hidden in a short stall":                   {[2]float64{47, 52.5}, false, 0, 52.5, 50, "50–51 true", "47–52.5 unknown"},
		"before its forecast for sure":              {[2]float64{4, 40}, false, 0, 40, 4, "4–5 false", "4–40 false"},
		"hidden by a watch that was not back":       {[2]float64{32, 52}, true, 0, 57, 51, "51–52 true", "32–57 unknown"},
	} {
		w := newWorld(t, 20000)
		w.c.Link.Ahead = tc.ahead
		w.off(power.ActionOff, n4)
		w.lost(tc.blind[0], tc.blind[1])
		if tc.late {
			w.c.Access[cluster.KindPod] = cluster.Access{Synced: true, Until: at(tc.blind[0])}
			w.look(tc.seen - 0.1)
		}
		if tc.blind[1] < tc.seen && !tc.late {
			w.look(tc.blind[1])
		}
		w.now = at(tc.seen)
		w.node(n4, func(n *cluster.Node) { n.Ready, n.ReadySince, n.ReadyEndpoints = cluster.TriUnknown, at(tc.since), 0 })
		w.look(tc.seen)
		for phase, want := range map[string]string{view.PhaseDetected: tc.detected, view.PhaseEndpointsOut: tc.endpoints} {
			p := w.row(phase, n4)
			got, inside := fmt.Sprint(*p.Observed), "unknown"
			if p.HiddenFrom != nil {
				got = fmt.Sprintf("%g–%s", *p.HiddenFrom, got)
			}
			if p.Inside != nil {
				inside = fmt.Sprint(*p.Inside)
			}
			if got += " " + inside; got != want {
				t.Errorf("%s: %s %s, want %s (forecast %v, %s)", name, phase, got, want, *p.Predicted, p.Note)
			}
		}
	}
}

// lightsout stands still, or the API server does not answer: each is one span, and after it none is open.
func TestBlindSpans(t *testing.T) {
	w := newWorld(t, 20000)
	w.off(power.ActionOff, n4)
	w.lost(10, 30)
	w.look(30)
	w.look(35)
	w.last = nil // it does not run
	w.look(60)
	w.look(90)
	var got []string
	for _, b := range w.last.Blind() {
		got = append(got, fmt.Sprintf("%v–%v %s", b.From.Sub(zero), b.To.Sub(zero), b.Why))
	}
	want := []string{"10s–30s ", "35s–1m0s lightsout itself stood still"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestTheErrorWindowEndsWithItsLastFailure(t *testing.T) {
	w := newWorld(t, 20000)
	request := func(class loadgen.Class, sent, end float64) {
		w.Request(loadgen.Record{Class: class, Scheduled: at(sent), Sent: at(sent), End: at(end)})
	}
	w.FailsWithin(5 * time.Second)
	request(loadgen.ClassReset, -20, -10) // before
	w.off(power.ActionOff, n4)
	request(loadgen.ClassReset, -5, 1) // in flight at zero
	request(loadgen.ClassOK, 60, 61)
	request(loadgen.ClassOK, 80, 81) // later than the last failure by more than the longest pause
	request(loadgen.ClassFirstByte, 49, 52)
	request(loadgen.ClassConnectTimeout, 20, 23)
	request(loadgen.ClassCancelled, 55, 56)
	w.look(60)
	w.Switched(n4, power.ActionOn, at(100))
	request(loadgen.ClassReset, 120, 121)
	w.want(view.PhaseErrors, Load, "0..67.2 | 52 | 3 failed; 1 in flight at zero: 1 failed (1 reset); 1 failed later, from 120.0 s to 121.0 s")
	for _, p := range w.Table() {
		if p.Name == view.PhaseErrors && (p.From == nil || *p.From != 0) {
			t.Errorf("from %v", p.From)
		}
	}
}

// An error window that nobody saw end is not inside its forecast; one that is longer already is outside.
func TestAnErrorWindowThatGoesOnIsNotInsideItsForecast(t *testing.T) {
	for failed, want := range map[float64]string{50: "unknown", 80: "false"} {
		w := newWorld(t, 20000)
		w.FailsWithin(5 * time.Second)
		w.off(power.ActionOff, n4)
		for _, s := range []float64{20, failed} {
			w.Request(loadgen.Record{Class: loadgen.ClassReset, Scheduled: at(s), Sent: at(s), End: at(s)})
		}
		w.look(failed + 1)
		p := w.row(view.PhaseErrors, Load)
		got := "unknown"
		if p.Inside != nil {
			got = fmt.Sprint(*p.Inside)
		}
		if got != want || !strings.HasSuffix(p.Note, "no 10 s of success followed") {
			t.Errorf("failing until %v s: %s; %s", failed, got, p.Note)
		}
	}
}

// Where no pod is left, requests fail until the replacements are available.
func TestTheErrorWindowOfATotalLossLastsUntilThePodsAreReplaced(t *testing.T) {
	w := newWorld(t, 20000)
	w.c.Pods = slices.DeleteFunc(w.c.Pods, func(p *cluster.Pod) bool { return p.Node != n4 })
	w.look(-0.5)
	w.off(power.ActionOff, n4)
	w.look(10)
	w.lose(n4, 50.3)
	w.taint(n4, 50.5)
	w.evict(n4, 350.8)
	w.look(351)
	w.want(view.PhaseReplaced, llm.String(), "350.8..362.8 | – | ")
	w.want(view.PhaseErrors, Load, "0..364.3 | – | ")
}

func TestTheErrorWindowOfATotalLossIsUnknownWithoutRoom(t *testing.T) {
	w := newWorld(t, 200000) // on no other node
	w.c.Pods = slices.DeleteFunc(w.c.Pods, func(p *cluster.Pod) bool { return p.Node != n4 })
	w.look(-0.5)
	w.off(power.ActionOff, n4)
	w.look(10)
	w.want(view.PhaseErrors, Load, "– | – | all pods that served are on nodes that are down")
}

func TestANodeThatNeverGoesDownHasNothingObserved(t *testing.T) {
	w := newWorld(t, 32000)
	w.off(power.ActionShutdown, n4)
	for s := 1.0; s < 120; s++ {
		w.node(n4, func(n *cluster.Node) { n.RenewSeen = at(s) })
		w.look(s)
	}
	for _, p := range w.Table() {
		if p.Observed != nil {
			t.Errorf("%s of %s was observed at %g", p.Name, p.Subject, *p.Observed)
		}
	}
}

func TestAQuickPowerCycleIsNoDetection(t *testing.T) {
	w := newWorld(t, 32000)
	w.off(power.ActionOff, n4)
	w.look(1)
	w.Switched(n4, power.ActionOn, at(5))
	w.boot(n4, 25) // says NotReady by itself for a moment
	w.ready(n4, 26)
	w.want(view.PhaseDetected, n4, "47.5..58.5 | – | assumed timings; the node was back before")
	w.want(view.PhaseReady, n4, "25..55 | 26 | ")
}

func TestNodesThatWereDownAlready(t *testing.T) {
	w := newWorld(t, 32000)
	w.lose(n4, -0.8)
	w.off(power.ActionOff, n4)
	w.look(1)
	w.want(view.PhaseDetected, n4, "– | – | not seen: it was not Ready before")
	w.want(view.PhaseEndpointsOut, n4, "– | 0 | no endpoint on it was ready before")
}

// A phase that was there before the node went off is not one of Kubernetes' actions.
func TestANodeWithoutPods(t *testing.T) {
	w := newWorld(t, 20000)
	w.c.Pods = slices.DeleteFunc(w.c.Pods, func(p *cluster.Pod) bool { return p.Node == n4 })
	w.node(n4, func(n *cluster.Node) { n.ReadyEndpoints = 0 })
	w.look(-0.5)
	w.off(power.ActionOff, n4)
	w.look(1)
	w.want(view.PhaseEvicted, n4, "– | – | there are no pods on kube-node4")
	w.want(view.PhaseEndpointsOut, n4, "– | 0 | no endpoint on it was ready before")
	if first := w.first(view.PhaseEndpointsOut, n4); first != "–" {
		t.Errorf("a phase that came before the outage has the forecast %s", first)
	}
	before := map[string]bool{view.PhaseEndpointsOut: true, view.PhaseReplaced: true}
	for _, p := range w.Table() {
		if p.Before != before[p.Name] {
			t.Errorf("before the machine went off: %t for %+v", p.Before, p)
		}
	}
}

func TestNodesOneAfterTheOther(t *testing.T) {
	w := newWorld(t, 20000)
	w.off(power.ActionOff, n3)
	w.lose(n3, 50)
	w.Switched(n3, power.ActionOn, at(60))
	w.boot(n3, 70)
	w.ready(n3, 71)
	w.podsOn(n3, func(p *cluster.Pod) { p.Ready = true })
	w.look(72)
	if !w.service().rows.seen(view.PhaseRestored) {
		t.Error("the first return is not seen")
	}
	w.Switched(n4, power.ActionOff, at(100))
	w.Switched(n3, power.ActionOff, at(100)) // a second time
	w.look(101)
	w.want(view.PhaseRestored, llm.String(), "– | – | ")
	w.want(view.PhaseDetected, n3, "120.5..131.5 | – | assumed timings")
	if got := len(w.Table()); got != 2*7+3 {
		t.Errorf("%d rows", got)
	}
}

// A node that somebody rebooted by plan after zero, and that is cut off later, has not booted again: its boot ID is the
// one that it had before, however late the recorder notices.
func TestABootBeforeAnOutageIsNotOfIt(t *testing.T) {
	w := newWorld(t, 32000)
	w.Zero(zero, w.snapshot())
	w.off(power.ActionOff, n3)
	w.look(3)
	w.node(n4, func(n *cluster.Node) { n.BootID = "planned" })
	w.look(20)
	w.look(60)
	w.Switched(n4, power.ActionOff, at(58))
	w.lose(n4, 62)
	w.look(63)
	if w.row(view.PhaseBooted, n4).Observed != nil {
		t.Error("the boot by plan is one of the outage")
	}
	w.boot(n4, 90)
	w.want(view.PhaseBooted, n4, "– | 90 | ")
}

func TestARolloutAfterTheReturnIsNoEviction(t *testing.T) {
	w := newWorld(t, 20000)
	w.off(power.ActionOff, n4)
	w.lose(n4, 50)
	w.taint(n4, 50.5)
	w.Switched(n4, power.ActionOn, at(60))
	w.boot(n4, 80)
	w.ready(n4, 81)
	w.evict(n4, 100) // by the rollout
	w.want(view.PhaseEvicted, n4, "350..352 | – | the node was back before")
}

// The recorder tracks outages in which no node goes down.
func TestAnOutageWithoutANodeHasNoPhaseOfNodes(t *testing.T) {
	w := newWorld(t, 20000)
	w.Zero(zero, w.snapshot())
	w.look(1)
	if rows := w.Table(); len(rows) != 1 || rows[0].Name != view.PhaseErrors {
		t.Errorf("%+v", rows)
	}
}

// A phase that cannot come differs from one of unknown time.
func TestTheForecastReportsAPhaseThatCannotCome(t *testing.T) {
	w := newWorld(t, 32000) // four pods fill a node
	w.off(power.ActionOff, n3, n4)
	w.look(1)
	if why := w.never(view.PhaseReplaced, llm.String()); !strings.Contains(why, "8 pods get no node") {
		t.Errorf("replaced: %q", why)
	}
	if why := w.never(view.PhaseEvicted, n4) + w.never(view.PhaseDetected, n4) + w.never(view.PhaseReady, n4); why != "" {
		t.Errorf("for a phase that can come: %q", why)
	}

	w = newWorld(t, 20000)
	w.podsOn(n4, func(p *cluster.Pod) { p.UnreachableFor, p.NotReadyFor = -1, -1 })
	w.look(0)
	w.off(power.ActionOff, n4)
	w.look(1)
	if why := w.never(view.PhaseEvicted, n4); why != "no pod on kube-node4 is subject to eviction" {
		t.Errorf("evicted: %q", why)
	}
	if why := w.never(view.PhaseReplaced, llm.String()); why == "" {
		t.Error("the forecast replaces pods that stay")
	}

	w = newWorld(t, 20000)
	w.node(n4, func(n *cluster.Node) { n.Renewed, n.RenewSeen = time.Time{}, time.Time{} }) // at an unknown time
	w.off(power.ActionOff, n4)
	w.look(1)
	if why := w.never(view.PhaseEvicted, n4) + w.never(view.PhaseReplaced, llm.String()); why != "" {
		t.Errorf("for a phase of unknown time: %q", why)
	}
}

// The power-on of one machine does not end the outage of another one that stays off.
func TestEachMachineHasItsOwnOutage(t *testing.T) {
	w := newWorld(t, 32000)
	w.off(power.ActionOff, "kube-node3")
	w.off(power.ActionOff, n4)
	w.Switched("kube-node3", power.ActionOn, at(60))
	o := w.Outages()
	if len(o) != 2 || !o[0].Off.Equal(zero) || !o[0].On.Equal(at(60)) || !o[1].On.IsZero() {
		t.Fatalf("%+v", o)
	}
	w.Switched(n4, power.ActionOn, at(90))
	if o = w.Outages(); !o[0].On.Equal(at(60)) || !o[1].On.Equal(at(90)) || !w.Returning() {
		t.Errorf("%+v", o)
	}
}

// Of a node that is switched off twice, each outage keeps when it was detected and over. One that was not
// over when the next one began ends with that, and one that is noticed late comes where it belongs.
func TestEachOutageOfANodeKeepsItsTimes(t *testing.T) {
	for name, tc := range map[string]struct {
		whole bool // the deployment is, after the first outage
		want  string
	}{
		"over before the next one": {true, " 0 50 60 71, 20 0 80 0, 100 150 160 171,"},
		"over with the next one":   {false, " 0 50 60 171, 20 0 80 0, 100 150 160 171,"},
	} {
		w := newWorld(t, 20000)
		for i, z := range []float64{0, 100} {
			w.Zero(zero, w.snapshot())
			w.look(z)
			w.Switched(n3, power.ActionOff, at(z))
			w.lose(n3, z+50)
			w.Switched(n3, power.ActionOn, at(z+60))
			w.available(map[bool]int{true: 16, false: 12}[tc.whole || i == 1])
			w.boot(n3, z+70)
			w.node(n3, func(n *cluster.Node) { n.BootID = fmt.Sprint(z) })
			w.ready(n3, z+71)
		}
		w.Switched(n4, power.ActionOff, at(20)) // noticed late
		w.Switched(n4, power.ActionOn, at(80))
		got := ""
		for _, o := range w.Outages() {
			for _, at := range []time.Time{o.Off, o.Detected, o.On, o.Returned} {
				got += fmt.Sprintf(" %g", max(0, at.Sub(zero).Seconds()))
			}
			got += ","
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// The recorder finds out late that a node went down: the API server had not answered. When
// it does, the node is NotReady and tainted already, but was not before the outage.
func TestANodeWhoseOutageIsNoticedLate(t *testing.T) {
	w := newWorld(t, 32000)
	w.Zero(zero, w.snapshot())
	w.lose(n4, 13.4)
	w.taint(n4, 13.6)
	w.podsOn(n4, func(p *cluster.Pod) { p.Ready = false })
	w.look(14)
	w.Switched(n4, power.ActionOff, at(0.2))
	w.look(14)
	for _, p := range w.Table() {
		if p.Name == view.PhaseReplaced && (p.Before || p.Observed != nil) {
			t.Errorf("its pods served at zero: %+v", p)
		}
	}
	w.want(view.PhaseDetected, n4, "– | 13.6 | ")
	w.want(view.PhaseTainted, n4, "– | 13.6 | ")
	w.want(view.PhaseEndpointsOut, n4, "– | 13.6 | ")
}

// A node that flaps: it falls silent again after its return, which the recorder notices some seconds later.
func TestANodeThatGoesDownAgain(t *testing.T) {
	w := newWorld(t, 32000)
	w.Zero(zero, w.snapshot())
	w.look(3)
	w.Switched(n4, power.ActionOff, at(0.2))
	w.lose(n4, 5)
	w.boot(n4, 15)
	w.node(n4, func(n *cluster.Node) { n.BootID = "second" })
	w.ready(n4, 16)
	w.look(28)
	w.Switched(n4, power.ActionOff, at(25))
	w.look(28)
	w.lose(n4, 29)
	w.boot(n4, 39)
	w.node(n4, func(n *cluster.Node) { n.BootID = "third" })
	w.ready(n4, 40)
	w.want(view.PhaseDetected, n4, "65.5..76.5 | 29 | assumed timings")
	w.want(view.PhaseBooted, n4, "– | 39 | ")
	w.want(view.PhaseReady, n4, "39..69 | 40 | ")
}

// A recorder that begins after a node went down cannot tell when it became NotReady.
func TestANodeThatWasDownWhenTheRecorderBegan(t *testing.T) {
	w := newWorld(t, 32000)
	w.lose(n4, 13.4)
	w.now = at(20)
	w.Zero(at(0.2), w.snapshot())
	w.Switched(n4, power.ActionOff, at(0.2))
	w.look(20)
	w.want(view.PhaseDetected, n4, "– | – | not seen: it was not Ready before")
}

// Pods that a scale-down or a rollout deletes on a node that is down do not count as evicted. A
// control plane before v1.31 does not report which pods it evicts: those wait for as long as they
// tolerate the taint.
func TestPodsThatAScaleDownDeletesAreNotEvicted(t *testing.T) {
	for _, tc := range []struct {
		version    string
		scaledDown float64
	}{{"v1.36.3", 8}, {"v1.36.3", 24}} {
		w := newWorld(t, 20000)
		w.c.ServerVersion = tc.version
		w.podsOn(n4, func(p *cluster.Pod) { p.UnreachableFor, p.NotReadyFor = 16*time.Second, 16*time.Second })
		w.off(power.ActionOff, n4)
		w.lose(n4, 5)
		w.taint(n4, 6)
		remove := func(i int, s float64, evicted bool) {
			w.now = at(s)
			n := 0
			w.podsOn(n4, func(p *cluster.Pod) {
				if n++; n == i {
					p.Deleting, p.Evicted = at(s), evicted && tc.version == "v1.36.3"
				}
			})
			w.look(s + 0.1)
		}
		remove(1, tc.scaledDown, false)
		if p := w.phase(view.PhaseEvicted, n4); p.Observed != nil {
			t.Errorf("%+v: the scale-down counts: %+v", tc, p)
		}
		remove(2, 26, true)
		if p := w.phase(view.PhaseEvicted, n4); p.Observed == nil || *p.Observed < 26 {
			t.Errorf("%+v: the eviction does not count: %+v", tc, p)
		}
	}
}

// A deployment that somebody deletes during an outage can't have all its pods again. One that is
// scaled to 0 may.
func TestADeploymentWithoutPodsIsNotRestored(t *testing.T) {
	w := newWorld(t, 20000)
	w.off(power.ActionOff, n4)
	w.lose(n4, 50)
	for i, tc := range []struct {
		replicas int
		gone     bool
		why      string
		never    bool
	}{{0, false, "the deployment is scaled to 0 pods", false}, {16, false, "", false}, {16, true, "the deployment is deleted", true}} {
		w.now = at(60 + float64(10*i))
		d := *w.c.Deployments[0]
		d.Replicas, d.Changed = tc.replicas, w.now
		if tc.gone {
			d.Gone = w.now
		}
		w.c.Deployments = []*cluster.Deployment{&d}
		w.look(61 + float64(10*i))
		if why, never := w.Why(view.PhaseRestored, llm.String()); why != tc.why || never != tc.never {
			t.Errorf("%+v: %q, %t", tc, why, never)
		}
	}
}

// Each outage of a trial has its own replacements.
func TestPodsAreReplacedInEachOutage(t *testing.T) {
	w := newWorld(t, 20000)
	w.Zero(zero, w.snapshot())
	for i, z := range []float64{0, 1000} {
		w.look(z)
		w.Switched(n4, power.ActionOff, at(z))
		w.lose(n4, z+50)
		w.taint(n4, z+51)
		w.evict(n4, z+351)
		if p := w.phase(view.PhaseReplaced, llm.String()); p.Observed != nil {
			t.Errorf("outage %d: replaced at the eviction: %+v", i, p)
		}
		for k := range 4 {
			p := w.pod(fmt.Sprintf("new-%d%d", i, k), "kube-node1", 1000)
			p.Created, p.ReadySince, p.Changed = at(z+351), at(z+360), at(z+360)
		}
		w.look(z + 361)
		if p := w.phase(view.PhaseReplaced, llm.String()); p.Observed == nil || *p.Observed != z+361 {
			t.Errorf("outage %d: %+v", i, p)
		}
		w.Switched(n4, power.ActionOn, at(z+400))
		w.boot(n4, z+450)
		w.ready(n4, z+460)
		// The pods return to the node.
		w.c.Pods = slices.DeleteFunc(w.c.Pods, func(p *cluster.Pod) bool { return p.Node == n4 || strings.HasPrefix(p.Name, "new-") })
		for k := range 4 {
			w.pod(fmt.Sprintf("back-%d%d", i, k), n4, 1000)
		}
		w.node(n4, func(n *cluster.Node) { n.ReadyEndpoints = 4 })
		w.look(z + 490)
	}
}

// A recorder that stood still while a node died dates what the control plane did by its times.
func TestAPauseIsDatedByTheSources(t *testing.T) {
	w := newWorld(t, 20000)
	w.Tracker, w.last = NewTracker(llm), nil // it does not run
	w.look(29)
	w.Zero(zero, w.snapshot())
	w.now = at(29)
	w.node(n4, func(n *cluster.Node) {
		n.Ready, n.ReadySince, n.ReadyEndpoints = cluster.TriUnknown, at(6), 0
		n.Taints = []cluster.Taint{{Key: unreachable, Effect: "NoExecute", TimeAdded: at(7)}}
	})
	w.podsOn(n4, func(p *cluster.Pod) { p.Deleting, p.Evicted, p.Ready = at(27), true, false })
	w.Switched(n4, power.ActionOff, zero)
	w.look(29.1)
	for name, from := range map[string]float64{view.PhaseDetected: 6, view.PhaseTainted: 7, view.PhaseEvicted: 27} {
		if p := w.phase(name, n4); p.HiddenFrom == nil || *p.HiddenFrom != from || *p.Observed != from+1 || p.Before {
			t.Errorf("%+v", p)
		}
	}
	if p := w.phase(view.PhaseEndpointsOut, n4); p.HiddenFrom == nil || *p.HiddenFrom != -1 {
		t.Errorf("%+v", p)
	}
}

// A record that begins in mid-outage shows a machine that is off already, and does not claim to know
// when it went off. One that goes off later was seen to.
func TestAMachineThatWasOffWhenTheRecordBeganWentOffSomeTimeBefore(t *testing.T) {
	w := newWorld(t, 20000)
	w.Tracker, w.last = NewTracker(llm), nil
	w.Zero(zero, cluster.NewSnapshot(cluster.Contents{}))
	off := func(name string, s float64) {
		w.Power(name, power.Reading{State: power.Off, Proof: power.Proven, RequestedAt: at(s), Arrived: at(s)})
	}
	w.Switched(n3, power.ActionOff, at(10))
	off(n3, 29)
	w.look(29.1)
	w.Switched(n4, power.ActionOff, at(40))
	off(n4, 42)
	if p := w.row(view.PhaseOff, n3); p.HiddenFrom == nil || *p.HiddenFrom != 0 || *p.Observed != 29 || p.Note != "proven; seen after a blind span" {
		t.Errorf("%+v", p)
	}
	if p := w.row(view.PhaseOff, n4); p.HiddenFrom != nil || *p.Observed != 42 {
		t.Errorf("%+v", p)
	}
}

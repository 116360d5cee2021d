package recorder

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// oneNode is a cluster with one node, all of which has been read.
func oneNode(now time.Time, n *cluster.Node) *cluster.Snapshot {
	read := cluster.Access{Synced: true}
	return cluster.NewSnapshot(cluster.Contents{At: now, Link: cluster.Link{State: cluster.LinkLive, LastContact: now}, Nodes: []*cluster.Node{n},
		Access: map[cluster.Kind]cluster.Access{cluster.KindNode: read, cluster.KindLease: read, cluster.KindPod: read, cluster.KindEndpointSlice: read}})
}

// annotated holds the note of a planned switch-off; none for an empty note.
func annotated(note string) map[string]string {
	if note == "" {
		return nil
	}
	return map[string]string{power.AnnotationSwitchedOff: note}
}

// A heartbeat that is late for a moment is no sign; one that is late because the node
// booted is.
func TestABootProvesASilence(t *testing.T) {
	for _, booted := range []bool{false, true} {
		now := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
		heard := now
		g, p := newSigns(15*time.Minute), &probes{}
		look := func() int {
			n := &cluster.Node{Name: "n1", Ready: cluster.TriTrue, Renewed: heard, RenewSeen: heard, LeaseDuration: 40 * time.Second}
			s := oneNode(now, n)
			news := g.observe(s, p, false, now)
			if len(news) > 0 && (news[0].Kind != view.SignSilent || !news[0].At.Equal(time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC))) {
				t.Errorf("%+v", news)
			}
			return len(news)
		}
		signs := look()
		now = now.Add(17 * time.Second)
		signs += look()
		if len(g.open) != 1 {
			t.Fatalf("the heartbeat is not overdue: %+v", g.open)
		}
		now = now.Add(time.Second)
		heard = now
		if booted {
			g.transition(cluster.Transition{Change: cluster.ChangeBoot, Subject: cluster.Ref{Kind: cluster.KindNode, Key: cluster.Key{Name: "n1"}}, Seen: now})
		}
		if signs += look(); signs != map[bool]int{true: 1}[booted] {
			t.Errorf("booted %v: %d signs", booted, signs)
		}
	}
}

// A node whose annotation is still there although its machine is back, because somebody
// else powered it on, may fail again: nobody planned that.
func TestAReturnedNodeIsNoLongerPlanned(t *testing.T) {
	for _, boot := range []string{"", "first"} {
		now := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
		heard, booted, note := now, "first", ""
		g, p := newSigns(15*time.Minute), &probes{}
		look := func(seconds int, silent bool) (news []string) {
			for range seconds {
				now = now.Add(time.Second)
				if !silent {
					heard = now
				}
				n := &cluster.Node{Name: "n1", Ready: cluster.TriTrue, Renewed: heard, RenewSeen: heard, LeaseDuration: 40 * time.Second, BootID: booted, Annotations: annotated(note)}
				s := oneNode(now, n)
				for _, x := range g.observe(s, p, false, now) {
					news = append(news, x.Subject)
				}
			}
			return news
		}
		look(3, false)
		note = power.Note{By: "me@here", Boot: boot}.Text()
		news := append(look(2, false), look(60, true)...)
		if booted = "second"; len(append(news, look(20, false)...)) > 0 {
			t.Errorf("boot ID %q: a planned outage is a sign: %v", boot, news)
		}
		if news := look(60, true); len(news) != 1 {
			t.Errorf("boot ID %q: signs of the second outage: %v", boot, news)
		}
	}
}

// A node that does not return after a planned switch-off has ended is an outage: restore
// may have powered on a machine that hangs at boot.
func TestANodeThatDoesNotReturnFromAPlanIsASign(t *testing.T) {
	for _, returns := range []bool{false, true} {
		now := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
		heard, booted, note := now, "first", ""
		g, p := newSigns(15*time.Minute), &probes{}
		look := func(d time.Duration, silent bool) (news []record.Sign) {
			for range int(d / time.Second) {
				now = now.Add(time.Second)
				if !silent {
					heard = now
				}
				n := &cluster.Node{Name: "n1", Ready: cluster.TriTrue, Renewed: heard, RenewSeen: heard, LeaseDuration: 40 * time.Second, BootID: booted, Annotations: annotated(note)}
				news = append(news, g.observe(oneNode(now, n), p, false, now)...)
			}
			return news
		}
		look(3*time.Second, false)
		note = power.Note{By: "me@here", Boot: booted}.Text()
		news := append(look(2*time.Second, false), look(time.Minute, true)...)
		note = "" // restore powered it on
		ended := now.Add(time.Second)
		news = append(news, look(returnsWithin-time.Minute, true)...)
		if returns {
			booted = "second"
			news = append(news, look(5*time.Minute, false)...)
		}
		if len(news) > 0 {
			t.Errorf("returns %v: a planned outage is a sign: %+v", returns, news)
		}
		news = look(2*time.Minute, !returns)
		if returns && len(news) > 0 || !returns && (len(news) != 1 || news[0].Kind != view.SignNotBack || !news[0].At.Equal(ended)) {
			t.Errorf("returns %v: %+v", returns, news)
		}
		if !returns && g.anyPlanned(now) {
			t.Error("the plan that is over still explains failures")
		}
	}
}

// A lightsout that ended before its request leaves an annotated node that stays up. When
// that node falls silent later, nobody planned it.
func TestAnAnnotatedNodeThatStaysUpIsNotPlanned(t *testing.T) {
	now := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
	heard, note := now, ""
	g, p := newSigns(15*time.Minute), &probes{}
	look := func(seconds int, silent bool) (news []string) {
		for range seconds {
			now = now.Add(time.Second)
			if !silent {
				heard = now
			}
			n := &cluster.Node{Name: "n1", Ready: cluster.TriTrue, Renewed: heard, RenewSeen: heard, LeaseDuration: 40 * time.Second, BootID: "first", Annotations: annotated(note)}
			for _, x := range g.observe(oneNode(now, n), p, false, now) {
				news = append(news, x.Subject)
			}
		}
		return news
	}
	look(3, false)
	note = power.Note{By: "me@here", Boot: "first"}.Text()
	if news := look(60, false); len(news) > 0 || len(g.newlyPlanned()) > 0 {
		t.Errorf("a node that stays up: signs %v", news)
	}
	if news := look(60, true); len(news) != 1 {
		t.Errorf("signs after the node fell silent: %v", news)
	}
}

// Nodes that could not renew their Leases while the API server did not answer are no signs,
// whatever the control plane concludes; one that stays silent afterwards is.
func TestTheSilenceOfTheAPIServerIsNotThatOfNodes(t *testing.T) {
	for _, dies := range []bool{false, true} {
		now := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
		contact, heard, g := now, now, newSigns(15*time.Minute)
		var news []view.Sign
		look := func(seconds int, live bool, ready cluster.Tri) {
			for range seconds {
				now = now.Add(time.Second)
				if live {
					contact = now
				}
				if live && ready == cluster.TriTrue {
					heard = now
				}
				n := &cluster.Node{Name: "n1", Ready: ready, Renewed: heard, RenewSeen: heard, LeaseDuration: 40 * time.Second, ReadySince: heard}
				c := cluster.Contents{At: now, Link: cluster.Link{State: cluster.LinkDisconnected, LastContact: contact}, Access: map[cluster.Kind]cluster.Access{}, Nodes: []*cluster.Node{n}}
				if live {
					c.Link.State = cluster.LinkLive
				}
				for _, k := range cluster.Kinds {
					c.Access[k] = cluster.Access{Synced: true}
				}
				for _, x := range g.observe(cluster.NewSnapshot(c), &probes{}, len(news) > 0, now) {
					news = append(news, x.Kind)
				}
			}
		}
		look(5, true, cluster.TriTrue)
		look(14, false, cluster.TriTrue)
		look(5, true, cluster.TriUnknown)
		want := []view.Sign{view.SignAPI}
		if dies {
			look(20, true, cluster.TriUnknown)
			want = append(want, view.SignSilent)
		}
		look(20, true, cluster.TriTrue)
		if !slices.Equal(news, want) {
			t.Errorf("dies %v: signs %v", dies, news)
		}
	}
}

// After the API server's return the watch of Leases may show that a node beats again while the
// watch of nodes delivers what the control plane found long before: the sign has that time, and
// not that of a heartbeat which came after the silence.
func TestASilenceThatIsOverIsNotDatedByALaterHeartbeat(t *testing.T) {
	zero := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
	now, g := zero, newSigns(15*time.Minute)
	var news []record.Sign
	look := func(state cluster.LinkState, ready cluster.Tri, since, heard time.Time) {
		now = now.Add(time.Second)
		c := cluster.Contents{At: now, Link: cluster.Link{State: state, LastContact: now}, Access: map[cluster.Kind]cluster.Access{},
			Nodes: []*cluster.Node{{Name: "n1", Ready: ready, Renewed: heard, RenewSeen: heard, LeaseDuration: 4 * time.Second, ReadySince: since}}}
		if state == cluster.LinkDisconnected {
			c.Link.LastContact = zero
		}
		for _, k := range cluster.Kinds {
			c.Access[k] = cluster.Access{Synced: true}
		}
		news = append(news, g.observe(cluster.NewSnapshot(c), &probes{}, len(news) > 0, now)...)
	}
	long := zero.Add(-time.Hour)
	look(cluster.LinkLive, cluster.TriTrue, long, zero)
	for range 28 {
		look(cluster.LinkDisconnected, cluster.TriTrue, long, zero)
	}
	marked := zero.Add(6 * time.Second)
	look(cluster.LinkLive, cluster.TriUnknown, marked, now)
	g.transition(cluster.Transition{Change: cluster.ChangeBoot, Subject: cluster.Ref{Kind: cluster.KindNode, Key: cluster.Key{Name: "n1"}}, Seen: now})
	look(cluster.LinkLive, cluster.TriTrue, zero.Add(18*time.Second), now)
	if len(news) != 2 || news[1].Kind != view.SignNotReady || !news[1].At.Equal(marked) {
		t.Errorf("%+v", news)
	}
}

// A planned switch-off that was over belongs to no later outage.
func TestAPlanThatIsOverBelongsToNoLaterOutage(t *testing.T) {
	now := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
	heard, boot, note, g := now, "first", "", newSigns(15*time.Minute)
	look := func(seconds int, silent bool) {
		for range seconds {
			if now = now.Add(time.Second); !silent {
				heard = now
			}
			n := &cluster.Node{Name: "n1", Ready: cluster.TriTrue, Renewed: heard, RenewSeen: heard, LeaseDuration: 40 * time.Second, BootID: boot, Annotations: annotated(note)}
			g.observe(oneNode(now, n), &probes{}, false, now)
		}
	}
	look(3, false)
	note = power.Note{By: "me@here", Boot: "first"}.Text()
	look(30, true)
	if went := g.wentByPlan(now); went["n1"] != "me@here" {
		t.Errorf("went by plan: %v", went)
	}
	boot, note = "second", ""
	look(10, false)
	zero := now
	look(30, true)
	if went := g.wentByPlan(zero); len(went) > 0 {
		t.Errorf("went by plan in the later outage: %v", went)
	}
}

// A second operator who annotates a node that is down already plans no second outage.
func TestASecondAnnotationOfANodeThatIsDownIsTheSamePlan(t *testing.T) {
	now := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
	heard, note, g := now, "", newSigns(15*time.Minute)
	var news []record.Sign
	planned := 0
	look := func(seconds int, silent bool) {
		for range seconds {
			if now = now.Add(time.Second); !silent {
				heard = now
			}
			n := &cluster.Node{Name: "n1", Ready: cluster.TriTrue, Renewed: heard, RenewSeen: heard, LeaseDuration: 40 * time.Second, BootID: "first", Annotations: annotated(note)}
			news = append(news, g.observe(oneNode(now, n), &probes{}, false, now)...)
			planned += len(g.newlyPlanned())
		}
	}
	look(3, false)
	note = power.Note{By: "me@here", Boot: "first"}.Text()
	look(60, true)
	note = power.Note{By: "you@there", Boot: "first"}.Text()
	look(60, true)
	if len(news) > 0 || planned != 1 || len(g.went) != 1 {
		t.Errorf("signs %v; planned %d times, went %d times", news, planned, len(g.went))
	}
}

// An annotation that somebody copied from another node plans nothing: it has another boot ID.
func TestAnAnnotationOfAnotherNodePlansNothing(t *testing.T) {
	now := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
	heard, g := now, newSigns(15*time.Minute)
	var news []record.Sign
	for i := range 80 {
		if now = now.Add(time.Second); i < 10 {
			heard = now
		}
		n := &cluster.Node{Name: "n1", Ready: cluster.TriTrue, Renewed: heard, RenewSeen: heard, LeaseDuration: 40 * time.Second, BootID: "first"}
		if i > 3 {
			n.Annotations = annotated(power.Note{By: "me@here", Boot: "another's"}.Text())
		}
		news = append(news, g.observe(oneNode(now, n), &probes{}, false, now)...)
	}
	if len(news) != 1 || len(g.wentByPlan(time.Time{})) > 0 {
		t.Errorf("signs %v; went by plan: %v", news, g.wentByPlan(time.Time{}))
	}
}

// After a planned outage that ended in order, failing requests are a sign again; those
// that begin in the minute after the return, and last longer, are one then.
func TestFailuresAfterAPlannedOutageAreASign(t *testing.T) {
	for _, after := range []int{30, 90} {
		now := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
		boot, note := "first", ""
		g, p := newSigns(15*time.Minute), &probes{count: true}
		look := func(seconds int, class loadgen.Class) (news []view.Sign) {
			for range seconds {
				now = now.Add(time.Second)
				p.note(loadgen.Record{Class: class, Scheduled: now, Sent: now, End: now}, now)
				n := &cluster.Node{Name: "n1", Ready: cluster.TriTrue, Renewed: now, RenewSeen: now, Changed: now, LeaseDuration: 40 * time.Second, BootID: boot, Annotations: annotated(note)}
				s := oneNode(now, n)
				for _, x := range g.observe(s, p, false, now) {
					news = append(news, x.Kind)
				}
			}
			return news
		}
		look(3, loadgen.ClassOK)
		note = power.Note{By: "me@here", Boot: boot}.Text()
		news := append(look(2, loadgen.ClassOK), look(20, loadgen.ClassRefused)...)
		boot, note = "second", ""
		if news = append(news, look(after, loadgen.ClassOK)...); len(news) > 0 {
			t.Errorf("%d s: signs in a planned outage: %v", after, news)
		}
		if news := look(90, loadgen.ClassRefused); len(news) != 1 || news[0] != view.SignRequests {
			t.Errorf("failures from %d s after the return on: %v", after, news)
		}
	}
}

// A heartbeat may be a little late. If requests fail as well, the node is down since its
// last heartbeat, and that is the first sign.
func TestAnOverdueHeartbeatBesideFailedRequestsIsTheFirstSign(t *testing.T) {
	start := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
	now := start
	g, p := newSigns(15*time.Minute), &probes{count: true}
	look := func(d time.Duration, class loadgen.Class) []record.Sign {
		now = now.Add(d)
		p.note(loadgen.Record{Class: class, Scheduled: now, End: now}, now)
		return g.observe(oneNode(now, &cluster.Node{Name: "n1", Ready: cluster.TriTrue, Renewed: start, RenewSeen: start, LeaseDuration: 40 * time.Second}), p, false, now)
	}
	if news := append(look(0, loadgen.ClassOK), look(16*time.Second, loadgen.ClassOK)...); len(news) > 0 {
		t.Fatalf("too early: %+v", news)
	}
	look(time.Second/2, loadgen.ClassConnectTimeout)
	news := look(time.Second/2, loadgen.ClassConnectTimeout)
	if len(news) != 2 || news[0].Kind != view.SignSilent || !news[0].At.Equal(start) || news[1].Kind != view.SignRequests {
		t.Errorf("%+v", news)
	}
}

// One request fails, nine succeed, and then all fail: they fail since the last good answer.
// If good answers are rare between failures, they fail since the one before the first.
func TestAStrayFailureDoesNotBeginALaterOutage(t *testing.T) {
	for good, want := range map[int]int{4: 1, 9: 11} { // seconds
		start := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
		now := start
		g, p := newSigns(15*time.Minute), &probes{count: true}
		look := func(seconds int, class loadgen.Class) (news []record.Sign) {
			for range seconds {
				now = now.Add(time.Second)
				p.note(loadgen.Record{Class: class, End: now}, now)
				news = append(news, g.observe(oneNode(now, &cluster.Node{Name: "n1", Ready: cluster.TriTrue, Renewed: now, RenewSeen: now, LeaseDuration: 40 * time.Second}), p, false, now)...)
			}
			return news
		}
		look(1, loadgen.ClassOK)
		news := append(look(1, loadgen.ClassRefused), look(good, loadgen.ClassOK)...)
		news = append(news, look(3, loadgen.ClassRefused)...)
		if len(news) != 1 || news[0].Kind != view.SignRequests || int(news[0].At.Sub(start).Seconds()) != want {
			t.Errorf("%d good answers after a failure: %+v, want one sign after %d s", good, news, want)
		}
	}
}

// A cloud controller deletes the node of a machine that has just died: its pods are lost. A
// node that was drained, or cordoned first, is none.
func TestADeletedNodeThatLeavesPodsIsASign(t *testing.T) {
	for name, c := range map[string]struct {
		pod      *cluster.Pod
		cordoned bool
		want     int
	}{
		"a pod": {&cluster.Pod{OwnerKind: "ReplicaSet"}, false, 1}, "of a daemon set": {&cluster.Pod{OwnerKind: "DaemonSet"}, false, 0},
		"cordoned": {&cluster.Pod{OwnerKind: "ReplicaSet"}, true, 0}, "drained": {&cluster.Pod{OwnerKind: "ReplicaSet", Deleting: time.Unix(1, 0)}, false, 0},
	} {
		now := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
		heard := now
		g, p := newSigns(15*time.Minute), &probes{}
		c.pod.Key, c.pod.Node, c.pod.Phase = cluster.Key{Namespace: "default", Name: "p"}, "n1", "Running"
		var news []record.Sign
		for i := range 8 {
			now = now.Add(time.Second)
			n := &cluster.Node{Name: "n1", Ready: cluster.TriTrue, Renewed: heard, RenewSeen: heard, LeaseDuration: 40 * time.Second, Unschedulable: c.cordoned}
			if i > 2 {
				n.Gone = heard.Add(4 * time.Second)
			}
			contents := oneNode(now, n).Contents()
			contents.Pods = []*cluster.Pod{c.pod}
			news = append(news, g.observe(cluster.NewSnapshot(contents), p, len(news) > 0, now)...)
		}
		if len(news) != c.want || c.want > 0 && (news[0].Kind != view.SignSilent || news[0].Subject != "n1" || !news[0].At.Equal(heard)) {
			t.Errorf("%s: %+v", name, news)
		}
	}
}

// A program that starts while a node still boots, which lightsout has powered on before, finds it
// silent: its plan explains that.
func TestANodeThatStillBootsAfterItsPlanIsNoOutage(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
	for name, c := range map[string]struct {
		node  string
		ago   time.Duration
		began bool
	}{
		"powered on 10 s ago":    {"n1", 10 * time.Second, false},
		"powered on an hour ago": {"n1", time.Hour, true},
		"another node":           {"n2", 10 * time.Second, true},
	} {
		g, p, began := newSigns(15*time.Minute), &probes{}, false
		g.returning(map[string]time.Time{c.node: start.Add(-c.ago)}, start)
		heard := start.Add(-time.Minute)
		for now := start; now.Before(start.Add(30 * time.Second)); now = now.Add(time.Second) {
			n := &cluster.Node{Name: "n1", Ready: cluster.TriTrue, Renewed: heard, RenewSeen: heard, LeaseDuration: 40 * time.Second}
			began = began || len(g.observe(oneNode(now, n), p, false, now)) > 0
		}
		if began != c.began {
			t.Errorf("%s: an outage began: %v", name, began)
		}
	}
}

// A kubelet renews its Lease for some time before its node is Ready: its first heartbeat after a
// power-on does not show that the node is back, also if the recorder began in between.
func TestAHeartbeatDoesNotEndAPlanBeforeTheNodeIsReady(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
	on := start.Add(-time.Minute)
	second := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	for name, c := range map[string]struct {
		first, last  int // heartbeats; one each 10 s
		ready, until int // Ready from and until
		want         int // when the outage begins, or up to 25 s later; 0: never
	}{
		"it is Ready later":                                  {-5, 3600, 20, 3600, 0},
		"it is never Ready, and silent again":                {10, 10, 3600, 3600, 540},
		"it was Ready when the recorder began, goes at 30 s": {-50, 30, -40, 30, 30},
		"it is Ready at 20 s, and goes at 200 s":             {-5, 200, 20, 200, 200},
	} {
		g, p, began := newSigns(15*time.Minute), &probes{}, 0
		g.returning(map[string]time.Time{"n1": on}, start)
		for i := 0; i < 1200 && began == 0; i++ {
			heard := on.Add(-time.Minute)
			if i >= c.first {
				heard = second(c.first + (min(i, c.last)-c.first)/10*10)
			}
			n := &cluster.Node{Name: "n1", Created: start.Add(-time.Hour), Renewed: heard, RenewSeen: heard, LeaseDuration: 40 * time.Second}
			switch {
			case i < c.ready:
				n.Ready, n.ReadySince = cluster.TriFalse, on
			case i < c.until+40:
				n.Ready, n.ReadySince = cluster.TriTrue, second(c.ready)
			default:
				n.Ready, n.ReadySince = cluster.TriUnknown, second(c.until+40)
			}
			if len(g.observe(oneNode(second(i), n), p, false, second(i))) > 0 {
				began = i
			}
		}
		if began < c.want || began > c.want+25 || c.want == 0 && began > 0 {
			t.Errorf("%s: an outage began after %d s, wanted %d s", name, began, c.want)
		}
	}
}

// Without the right to read Leases, a node that lightsout powered on is back as soon as it is Ready.
func TestAPlanBeforeTheRecorderEndsWithoutLeases(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
	second := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	g, p, began := newSigns(15*time.Minute), &probes{}, 0
	g.returning(map[string]time.Time{"n1": start.Add(-time.Minute)}, start)
	for i := 0; i < 600 && began == 0; i++ {
		n := &cluster.Node{Name: "n1", Created: start.Add(-time.Hour), Ready: cluster.TriTrue, ReadySince: second(-40)}
		if i >= 240 {
			n.Ready, n.ReadySince = cluster.TriUnknown, second(240)
		}
		if len(g.observe(oneNode(second(i), n), p, false, second(i))) > 0 {
			began = i
		}
	}
	if began < 240 || began > 265 {
		t.Errorf("the outage began at %d s, wanted 240", began)
	}
}

// A pod that no node takes stays after its record has ended. Only more such pods are a sign again,
// each time.
func TestMorePodsWithoutANodeAreASignAgain(t *testing.T) {
	now := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
	g, p := newSigns(15*time.Minute), &probes{}
	look := func(seconds, pending int) (news []record.Sign) {
		for range seconds {
			now = now.Add(time.Second)
			c := cluster.Contents{At: now, Link: cluster.Link{State: cluster.LinkLive, LastContact: now}, Access: map[cluster.Kind]cluster.Access{}}
			for _, k := range judgedBy {
				c.Access[k] = cluster.Access{Synced: true}
			}
			for i := range pending {
				c.Pods = append(c.Pods, &cluster.Pod{Key: cluster.Key{Namespace: "default", Name: "p" + strconv.Itoa(i)}, Phase: "Pending"})
			}
			news = append(news, g.observe(cluster.NewSnapshot(c), p, false, now)...)
		}
		return news
	}
	look(3, 0)
	for _, x := range []struct{ pending, signs int }{{1, 1}, {1, 0}, {20, 1}, {20, 0}, {5, 0}, {6, 1}} {
		if news := look(60, x.pending); len(news) != x.signs {
			t.Errorf("%d pods have no node: signs %+v, want %d", x.pending, news, x.signs)
		}
		g.settle(p, now)
	}
}

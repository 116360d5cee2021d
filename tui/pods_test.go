package tui

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
)

// TestAPodHasTheColourOfItsWord: one that runs and is not ready yet is not red, and a lost
// one that the API server holds for ready is not green.
func TestAPodHasTheColourOfItsWord(t *testing.T) {
	m, _, _ := testModel(mdxOutage(), 120, 36, Options{})
	c, of := m.s.snap.Contents(), map[string]style{}
	for _, p := range c.Pods {
		changed := *p
		changed.Ready = m.s.snap.PodLost(p, m.s.now)
		_, of[m.s.snap.PodWord(p, m.s.now)] = podSign(&m.s, &changed)
	}
	if of["Running"] != m.s.t.warn || of["lost (was Running)"] != m.s.t.bad {
		t.Errorf("the looks are %q", of)
	}
}

// TestShortenedNamesStayApart: wherever names of machines differ, a narrow column shows it.
func TestShortenedNamesStayApart(t *testing.T) {
	for _, names := range [][2]string{
		{"ip-10-0-12-17.ap-northeast-1.compute.internal", "ip-10-0-12-18.ap-northeast-1.compute.internal"},
		{"gpu-worker-of-rack-12-a.example.org", "gpu-worker-of-rack-12-b.example.org"},
		{"kube-node3-of-the-second-site", "kube-node3-of-the-third-site"},
	} {
		for _, look := range []Options{{}, {ASCII: true}} {
			f := calm()
			c := f.Snapshot.Contents()
			c.Nodes[1].Name, c.Nodes[2].Name = names[0], names[1]
			f.Snapshot = cluster.NewSnapshot(c)
			m, _, _ := testModel(f, 80, 24, look)
			lines := strings.Split(plainView(m), "\n")
			a, b := strings.Fields(lines[4])[1], strings.Fields(lines[5])[1]
			if a == b || a == names[0] {
				t.Errorf("%q and %q are %q and %q:\n%s", names[0], names[1], a, b, plainView(m))
			}
		}
	}
}

// TestTheTitleCountsThePodsThatItLists: also one that is being deleted; and in little room
// the hash of a ReplicaSet gives way before a status.
func TestTheTitleCountsThePodsThatItLists(t *testing.T) {
	f := calm()
	c := f.Snapshot.Contents()
	dying := *c.Pods[0]
	dying.Deleting, dying.Status = t0, "Terminating"
	c.Pods[0] = &dying
	f.Snapshot = cluster.NewSnapshot(c)
	for w, want := range map[int][]string{160: {"1 terminating · 15/16 ready"}, 80: {" 3 Pods of llm-jp-… ─ 15/16 ready ─", "xk4q kube-node1 Terminating"}} {
		m, _, _ := testModel(f, w, 24, Options{})
		typeKeys(m, "3")
		for _, w := range want {
			if v := plainView(m); !strings.Contains(v, w) {
				t.Errorf("%q is missing:\n%s", w, v)
			}
		}
	}
}

// TestACountdownNamesTheFuture: also its short form, which without a header would be taken for an age.
func TestACountdownNamesTheFuture(t *testing.T) {
	m, _, _ := testModel(website(2, 60*time.Second), 80, 24, Options{})
	typeKeys(m, "3 a")
	if v := plainView(m); !regexp.MustCompile(`lost +in \d`).MatchString(v) {
		t.Errorf("no pod is evicted in some time:\n%s", v)
	}
}

// TestATitleNamesWhosePodsTheyAre: before it counts the rows in sight, and with a long name shortened.
func TestATitleNamesWhosePodsTheyAre(t *testing.T) {
	for name, want := range map[string]string{"kube-node1": " 3 Pods of kube…de1 ─ 16/16 ready ─", "host-b1": " 3 Pods of host-b1 ── 16/16 ready ─", "ip-10-0-12-17.ec2.internal": " 3 Pods of ip-10-0… ─ 16/16 ready ─"} {
		f := calm()
		c := f.Snapshot.Contents()
		for i, p := range c.Pods {
			moved := *p
			moved.Node = name
			c.Pods[i] = &moved
		}
		c.Nodes[1].Name = name
		f.Snapshot = cluster.NewSnapshot(c)
		m, _, _ := testModel(f, 80, 24, Options{})
		typeKeys(m, "1 down up")
		if v := plainView(m); !strings.Contains(v, want) {
			t.Errorf("%q is missing:\n%s", want, v)
		}
	}
}

// TestACordonedNodeLeavesRoomForPods: however long it has been silent.
func TestACordonedNodeLeavesRoomForPods(t *testing.T) {
	f := mdxOutage()
	c := f.Snapshot.Contents()
	for i, n := range c.Nodes {
		cordoned := *n
		cordoned.Unschedulable = n.Name == "kube-node3"
		c.Nodes[i] = &cordoned
	}
	f.Snapshot = cluster.NewSnapshot(c)
	m, _, _ := testModel(f, 80, 24, Options{})
	if v := plainView(m); !strings.Contains(v, " PODS │") || !strings.Contains(v, " kube-node3  NotReady 1m21… off 4○ ") {
		t.Errorf("there are no pods beside a cordoned node, or its name is shortened:\n%s", v)
	}
}

// TestDetailsCountThePodsThatTheyList: those that are being deleted, too.
func TestDetailsCountThePodsThatTheyList(t *testing.T) {
	f := calm()
	c := f.Snapshot.Contents()
	for i := range 2 {
		dying := *c.Pods[i]
		dying.Deleting, dying.Status = t0, "Terminating"
		c.Pods[i] = &dying
	}
	f.Snapshot = cluster.NewSnapshot(c)
	m, _, _ := testModel(f, 120, 36, Options{})
	typeKeys(m, "2 d")
	if v := plainView(m); !regexp.MustCompile(`pods +16 \(\+2 Terminating\)`).MatchString(v) {
		t.Errorf("the pods that are being deleted are not counted:\n%s", v)
	}
}

package tui

import (
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
)

func TestNamesOfPodsAreWholeOnWideScreens(t *testing.T) {
	for _, s := range []size{{200, 60}, {240, 60}} {
		m, _, _ := testModel(outage(), s.w, s.h, Options{})
		if v := plainView(m); !strings.Contains(v, lostPod.Name) || !strings.Contains(v, "lost (was Running)  evicted in") {
			t.Errorf("at %dx%d a name is cut:\n%s", s.w, s.h, v)
		}
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

// TestNamesGetBackTheRoomOfOtherColumns: NEXT has given countdowns room, which the names
// take back when there are none any more.
func TestNamesGetBackTheRoomOfOtherColumns(t *testing.T) {
	m, _, now := testModel(calm(), 120, 36, Options{})
	plainView(m)
	before := m.find("Pods").drawn.lines
	m.Update(FrameMsg{outage()})
	plainView(m)
	m.Update(FrameMsg{calm()})
	for range 3 {
		*now = now.Add(needKept * time.Second)
		m.Update(tickMsg{})
		plainView(m)
	}
	if after := m.find("Pods").drawn.lines; stripped(after[1]) != stripped(before[1]) {
		t.Errorf("a row was %q and is %q", stripped(before[1]), stripped(after[1]))
	}
}

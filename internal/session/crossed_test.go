package session

import (
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/power"
)

// The wires of two machines are crossed: the one that is proven off is another node's. lightsout names
// both, and the way back.
func TestANodeThatRunsOnAlthoughItsMachineIsOff(t *testing.T) {
	t.Parallel()
	start := time.Now()
	const lease = 40 * time.Second
	for name, c := range map[string]struct {
		boot2      string        // of n2, later
		last2      time.Duration // n2's last heartbeat, after the power-off
		last3, now time.Duration
		state      power.State
		want       []string // nil: nothing is named
	}{
		"crossed":                    {"b", 18 * time.Second, -2 * time.Second, 20 * time.Second, power.Off, []string{"n2 runs on", "n3 fell silent instead", "lightsout restore n2"}},
		"crossed, with nobody":       {"b", 38 * time.Second, 39 * time.Second, 40 * time.Second, power.Off, []string{"n2 runs on", "lightsout restore n2"}},
		"n3 has been silent long":    {"b", 38 * time.Second, -time.Minute, 40 * time.Second, power.Off, []string{"n2 runs on"}},
		"not yet sure of the other":  {"b", 8 * time.Second, -2 * time.Second, 9 * time.Second, power.Off, nil},
		"its last heartbeat is late": {"b", 2 * time.Second, 9 * time.Second, 10 * time.Second, power.Off, nil},
		"silent":                     {"b", -2 * time.Second, 19 * time.Second, 20 * time.Second, power.Off, nil},
		"it was powered on":          {"b", 38 * time.Second, 38 * time.Second, 40 * time.Second, power.On, nil},
		"it has booted":              {"c", 38 * time.Second, 38 * time.Second, 40 * time.Second, power.Off, nil},
	} {
		rec, err := NewRecordWriter("", time.Now)
		if err != nil {
			t.Fatal(err)
		}
		now := start
		s := New(Options{RecordWriter: rec, Questions: NewQuestions(), Restore: "lightsout restore", Now: func() time.Time { return now }})
		see := func(boot string, last2, last3 time.Duration) {
			node := func(name, boot string, last time.Duration) *cluster.Node {
				return &cluster.Node{Name: name, Ready: cluster.TriTrue, BootID: boot, LeaseDuration: lease, RenewSeen: start.Add(last)}
			}
			snapshot := cluster.NewSnapshot(cluster.Contents{Nodes: []*cluster.Node{node("n2", boot, last2), node("n3", "z", last3)}})
			snapshot.Link.State = cluster.LinkLive
			s.machines.snapshot = snapshot
		}
		reading := func(state power.State, at time.Duration) power.Reading {
			return power.Reading{State: state, Proof: power.Proven, Detail: "off", RequestedAt: start.Add(at), Arrived: start.Add(at)}
		}
		see("b", -time.Second, -2*time.Second)
		s.machines.watchOff(power.Progress{Action: power.ActionOff, Node: "n2", Stage: power.StageDone, Reading: reading(power.Off, 0), At: start})
		now = start.Add(c.now)
		see(c.boot2, c.last2, c.last3)
		s.machines.findCrossed("n2", reading(c.state, c.now))
		said := ""
		if v := s.machines.views["n2"]; v.Stage == power.StageFailed {
			said = v.Text
		}
		if c.want == nil && said != "" {
			t.Errorf("%s: %s", name, said)
		}
		for _, w := range c.want {
			if !strings.Contains(said, w) {
				t.Errorf("%s: %q lacks %q", name, said, w)
			}
		}
		if len(c.want) == 2 && strings.Contains(said, "n3 fell") || len(c.want) == 1 && strings.Contains(said, "n3") {
			t.Errorf("%s: %s", name, said)
		}
	}
}

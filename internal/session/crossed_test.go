package session

import (
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/power"
)

// A node that sends heartbeats although its machine is proven off has another machine: lightsout names it, and the way back.
func TestANodeThatRunsOnAlthoughItsMachineIsOff(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for name, c := range map[string]struct {
		boot      string
		last, now time.Duration // n2's last heartbeat, after the power-off
		state     power.State
		names     bool
	}{
		"crossed":                    {"b", 38 * time.Second, 40 * time.Second, power.Off, true},
		"its last heartbeat is late": {"b", 2 * time.Second, 30 * time.Second, power.Off, false},
		"silent":                     {"b", -2 * time.Second, 50 * time.Second, power.Off, false},
		"it was powered on":          {"b", 38 * time.Second, 40 * time.Second, power.On, false},
		"it has booted":              {"c", 38 * time.Second, 40 * time.Second, power.Off, false},
	} {
		rec, err := NewRecordWriter("", time.Now)
		if err != nil {
			t.Fatal(err)
		}
		now := start
		s := New(Options{RecordWriter: rec, Questions: NewQuestions(), Restore: "lightsout restore", Now: func() time.Time { return now }})
		s.guest = nobody{}
		see := func(boot string, last time.Duration) {
			snapshot := cluster.NewSnapshot(cluster.Contents{Nodes: []*cluster.Node{{Name: "n2", Ready: cluster.TriTrue, BootID: boot, LeaseDuration: 40 * time.Second, RenewSeen: start.Add(last)}}})
			snapshot.Link.State = cluster.LinkLive
			was := s.snapshot
			s.snapshot = snapshot
			s.machines.observe(was, snapshot)
		}
		reads := func(state power.State, at time.Duration) {
			s.machines.watched(power.NamedReading{Node: "n2", Reading: power.Reading{State: state, Proof: power.Proven, Detail: "off", RequestedAt: start.Add(at), Arrived: start.Add(at)}})
		}
		see("b", -time.Second)
		reads(power.Off, 0)
		now = start.Add(c.now)
		see(c.boot, c.last)
		reads(c.state, c.now)
		if said := s.machines.views["n2"].Text; strings.Contains(said, "n2 runs on") != c.names || c.names && !strings.Contains(said, "lightsout restore n2") {
			t.Errorf("%s: %q", name, said)
		}
	}
}

package session

import (
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/power"
)

// A node that is Ready again with the boot ID of before, or with one that another node has too, and whose
// machine was not proven off, may have booted or not: the timeline says so once.
func TestTheTimelineSaysThatNobodyCanTellWhetherANodeBooted(t *testing.T) {
	t.Parallel()
	asked := time.Now().Add(-time.Minute)
	for name, c := range map[string]struct {
		boot, others string // boot IDs, of the node and of another one, after the return
		off          time.Time
		says         bool
	}{
		"the same boot ID":                {"a", "z", time.Time{}, true},
		"one that another node has too":   {"z", "z", time.Time{}, true},
		"none":                            {"", "z", time.Time{}, true},
		"another one":                     {"b", "z", time.Time{}, false},
		"the same, and it was proven off": {"a", "z", asked.Add(time.Second), false},
	} {
		rec, err := NewRecordWriter("", time.Now)
		if err != nil {
			t.Fatal(err)
		}
		s := New(Options{RecordWriter: rec, Questions: NewQuestions(), Journal: power.OpenJournal(t.TempDir(), power.Cluster{Name: "c", UID: "1"}, ""), Now: time.Now})
		s.machines.leftOff["n2"] = power.LeftOff{Entry: power.Entry{Node: "n2"}, Before: outage.Before{ID: "a", Asked: asked, Off: c.off}}
		see := func(ready cluster.Tri, since time.Time) *cluster.Snapshot {
			return cluster.NewSnapshot(cluster.Contents{Link: cluster.Link{State: cluster.LinkLive}, Nodes: []*cluster.Node{
				{Name: "n2", Ready: ready, ReadySince: since, Changed: since, BootID: c.boot}, {Name: "n3", Ready: cluster.TriTrue, BootID: c.others}}})
		}
		down, back := see(cluster.TriUnknown, time.Time{}), see(cluster.TriTrue, asked.Add(30*time.Second))
		var was *cluster.Snapshot
		for _, now := range []*cluster.Snapshot{down, back, back} {
			s.machines.settleBoots(was, now)
			was = now
		}
		said := 0
		for _, e := range rec.Timeline().Last(10) {
			if strings.Contains(e.Text, "can't tell whether it booted") {
				said++
			}
		}
		if said != map[bool]int{true: 1, false: 0}[c.says] {
			t.Errorf("%s: said %d times", name, said)
		}
	}
}

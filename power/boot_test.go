package power

import (
	"testing"
	"time"
)

// Containers have the boot ID of their host, which is the same after they were off.
func TestAMachineThatWasProvenOffHasBootedWhateverItsBootID(t *testing.T) {
	asked := time.Now()
	off, early, later := asked.Add(time.Minute), asked.Add(-time.Hour), asked.Add(2*time.Minute)
	for name, c := range map[string]struct {
		was, now   string
		ready, off time.Time
		want       Boot
	}{
		"another ID":                         {"a", "b", early, time.Time{}, BootNew},
		"the same, Ready all the time":       {"a", "a", early, time.Time{}, BootOld},
		"the same, Ready anew":               {"a", "a", later, time.Time{}, BootUnknown},
		"the same, Ready anew after off":     {"a", "a", later, off, BootNew},
		"the same, Ready since before off":   {"a", "a", early, off, BootOld},
		"the same, Ready anew and off again": {"a", "a", later, later.Add(time.Minute), BootUnknown},
		"none before":                        {"", "b", later, off, BootUnknown},
		"none now":                           {"a", "", early, time.Time{}, BootUnknown},
	} {
		if got := BootSince(c.was, c.now, c.ready, asked, c.off); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	for _, proof := range []Proof{Presumed, Proven} {
		j := testJournal(t, t.TempDir())
		b := bind("ssh", "mdx", "n3")[0]
		b.Node.BootID = "host"
		sent, gone := intent("1", "n3", ActionShutdown), outcome("1", "n3", ActionShutdown, StageDone, true)
		sent.Binding, gone.Binding, gone.Proof = b, b, proof.String()
		write(t, j, sent, gone)
		seen := Seen{Node: b.Node, RequestedAt: time.Now().Add(time.Minute)}
		if n, err := j.SeenOn(seen); n != 0 || err != nil {
			t.Errorf("%s off: a heartbeat without a new Ready settled %d operations, %v", proof, n, err)
		}
		seen.ReadySince = time.Now().Add(time.Minute)
		if n, err := j.SeenOn(seen); (n == 1) != (proof == Proven) || err != nil {
			t.Errorf("%s off: a new Ready settled %d operations, %v", proof, n, err)
		}
	}
}

package outage

import (
	"testing"
	"time"
)

// Containers have the boot ID of their host, which is the same after they were off.
func TestABootIsKnownByItsIDOrByAMachineThatWasOff(t *testing.T) {
	t.Parallel()
	asked := time.Unix(1_700_000_000, 0)
	never := time.Time{}
	early, off, later := asked.Add(-time.Hour), asked.Add(time.Minute), asked.Add(2*time.Minute)
	for name, c := range map[string]struct {
		was, now   string
		ready, off time.Time
		want       Answer
	}{
		"another ID":                              {"a", "b", early, never, Booted},
		"another ID, not Ready yet":               {"a", "b", never, never, Booted},
		"the same, not Ready":                     {"a", "a", never, off, NotBooted},
		"the same, Ready all the time":            {"a", "a", early, never, NotBooted},
		"the same, Ready anew":                    {"a", "a", later, never, CantTell},
		"the same, Ready anew after off":          {"a", "a", later, off, Booted},
		"the same, Ready since before off":        {"a", "a", early, off, NotBooted},
		"the same, Ready anew and off again":      {"a", "a", later, later.Add(time.Minute), NotBooted},
		"none before":                             {"", "b", later, never, CantTell},
		"none before, Ready all the time":         {"", "b", early, never, NotBooted},
		"none before, Ready anew after off":       {"", "b", later, off, Booted},
		"none now, Ready anew":                    {"a", "", later, never, CantTell},
		"none now, Ready all the time":            {"a", "", early, never, NotBooted},
		"none, ever, Ready anew after off":        {"", "", later, off, Booted},
		"none, ever, and not Ready":               {"", "", never, off, NotBooted},
		"none, ever, Ready anew and not seen off": {"", "", later, never, CantTell},
	} {
		if got := (Before{c.was, asked, c.off}).Seen(Now{c.now, c.ready}); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestABootIDThatNodesShareProvesNothing(t *testing.T) {
	t.Parallel()
	prove := Proving([]string{"a", "b", "", "c", "b", "b"})
	for id, want := range map[string]bool{"a": true, "b": false, "c": true, "": false, "unseen": false} {
		if prove[id] != want {
			t.Errorf("%q: %v", id, prove[id])
		}
	}
}

package cli

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/internal/config"
	"lightsout/internal/testenv"
	"lightsout/power"
)

// A machine that lightsout has not seen off is not called off: it may be on.
func TestAMachineThatMayStillGoOffIsNotCalledOff(t *testing.T) {
	dir := t.TempDir()
	entry := func(op, node string, k power.EntryKind) power.Entry {
		m := &power.Machine{Driver: "exec", ID: node}
		return power.Entry{Kind: k, Op: op, Node: node, Action: power.ActionOff, At: time.Now().UTC(), Cluster: power.Cluster{Name: "c"},
			Binding: power.Binding{Node: power.NodeRef{Name: node}, Off: m, On: m}}
	}
	seenOff := entry("1", "n3", power.EntryOutcome)
	seenOff.Stage, seenOff.State, seenOff.Proof = power.StageDone, power.Off.String(), power.Proven.String()
	seenOff.Arrival, seenOff.RequestedAt = power.Arrival{Fate: power.Accepted, Sent: seenOff.At}, seenOff.At.Add(time.Millisecond)
	var lines string
	for _, e := range []power.Entry{entry("1", "n3", power.EntryIntent), seenOff, entry("2", "n4", power.EntryIntent)} {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		lines += testenv.JournalLine(line)
	}
	if err := os.WriteFile(filepath.Join(dir, power.JournalName), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	j := power.OpenJournal(dir, power.Cluster{Name: "c"}, "")
	defer j.Close()
	left, err := leftBehind(j)
	if err != nil || !slices.Equal(left.off, []string{"n3"}) || len(left.late) != 1 || !strings.HasPrefix(left.late[0], "n4 (asked to go off; outcome unknown; it may still go off until ") {
		t.Errorf("off %q, may still go off %q, %v", left.off, left.late, err)
	}
}

// The end of a command names what may be off, also where nothing else is left; the end of a lab names nothing.
func TestTheEndNamesWhatMayBeOff(t *testing.T) {
	for want, a := range map[string]*app{
		"": {opt: options{lab: "mdx"}, left: leftover{late: []string{"n4"}}},
		"powered on before leaving: n3 and n4 (Ready)\n": {left: leftover{back: []string{"n3", "n4"}}},
		"may be off: n4; ":         {left: leftover{late: []string{"n4"}}},
		"off by the journal: n3; ": {left: leftover{off: []string{"n3"}}},
		"n3 and n4 stay cordoned, as you asked; uncordon with: kubectl --context 'a b' uncordon n3 n4\n": {left: leftover{wanted: []string{"n3", "n4"}}, kubectl: []string{"kubectl", "--context", "a b"}},
	} {
		a.config = &config.Config{}
		out, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		stderr := os.Stderr
		os.Stderr = out
		a.sayLeftOff()
		os.Stderr = stderr
		printed, err := os.ReadFile(out.Name())
		if err := errors.Join(err, out.Close()); err != nil || !strings.HasPrefix(string(printed), want) || (want == "") != (len(printed) == 0) {
			t.Errorf("it prints %q, want %q: %v", printed, want, err)
		}
	}
}

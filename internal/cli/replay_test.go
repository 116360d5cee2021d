package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/record/examples"
	"lightsout/internal/record/replay"
	"lightsout/internal/view"
)

func TestTheExamplesAreWholeRecords(t *testing.T) {
	if len(examples.Names()) == 0 {
		t.Fatal("there are no examples")
	}
	for _, name := range examples.Names() {
		r, err := openRecord(name)
		if err != nil {
			t.Fatal(err)
		}
		if r.Summary == nil || r.Summary.Verdict != view.Pass || len(r.Torn) > 0 || len(r.Samples) == 0 || r.Zero.IsZero() {
			t.Errorf("%s: torn %q, %d samples, zero %v, summary %+v", name, r.Torn, len(r.Samples), r.Zero, r.Summary)
		}
		off, notReady := false, false
		for _, l := range r.Lanes {
			for _, s := range l.Spans {
				off = off || s.Kind == record.SpanOff && s.To.Before(r.End)
				notReady = notReady || s.Kind == record.SpanNotReady && s.To.Before(r.End)
			}
		}
		if !off || !notReady {
			t.Errorf("%s: no machine is seen off and on again: %+v", name, r.Lanes)
		}
		if _, err := replay.New(r, replay.Options{}); err != nil {
			t.Error(err)
		}
	}
}

// A folder that is there is meant before an example of that name.
func TestAFolderIsMeantBeforeAnExample(t *testing.T) {
	t.Chdir(t.TempDir())
	name := examples.Names()[0]
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := openRecord(name); err == nil || !strings.Contains(err.Error(), "not a record") {
		t.Errorf("an empty folder of that name: %v", err)
	}
}

func TestReplayWithoutATerminalPrintsTheTimelineAndTheVerdict(t *testing.T) {
	name := examples.Names()[0]
	r, err := openRecord(name)
	if err != nil {
		t.Fatal(err)
	}
	out, errs, code := run(t, nil, "replay", name)
	if code != 0 || errs != "" {
		t.Fatalf("code %d: %s", code, errs)
	}
	if n := strings.Count(out, "\n"); n < len(r.Events) || !strings.Contains(out, "NotReady") || !strings.Contains(out, "PASS") {
		t.Errorf("%d lines for %d events, ending in\n%s", n, len(r.Events), out[max(0, len(out)-2000):])
	}
}

func TestWhatCantBeReplayedIsSaid(t *testing.T) {
	dir := t.TempDir()
	_, errs, code := run(t, nil, "replay", dir)
	if code != exitFailed || !strings.Contains(errs, "not a record: there is no events.jsonl in "+dir) || strings.Count(errs, "\n") != 1 {
		t.Errorf("an empty folder: code %d, %q", code, errs)
	}
	for _, args := range [][]string{{"replay"}, {"replay", "a", "b"}, {"replay", "--speed", "0", "mdx"}, {"replay", "--speed", "NaN", "mdx"}, {"replay", "--speed", "65", "mdx"}} {
		if _, errs, code := run(t, nil, args...); code != exitUsage || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: code %d, %q", args, code, errs)
		}
	}
}

func TestReplayOnATerminalPlaysPausesAndSeeks(t *testing.T) {
	name := examples.Names()[0]
	x := openTerminal(t, 120, 36, nil, filepath.Join(binaries(t), "lightsout")+" replay "+name+"; echo ENDED $?; sleep 60")
	x.waitFor("it plays", replayWithin, "playing 1x", "Nodes", "Ready")
	x.keys("Space")
	x.waitFor("it pauses", replayWithin, "paused")
	x.keys("End")
	x.waitFor("the end", replayWithin, `verdict: pass(.|\n)*paused`, "✓ PASS")
	x.keys("Home")
	x.waitFor("the start", replayWithin, `paused .* T-00:0`)
	x.keys("s")
	x.waitFor("that nothing can be switched", replayWithin, "this is a replay|nothing can be switched")
	x.keys("q")
	x.waitFor("the way out", replayWithin, "ENDED 0")
}

// replayWithin is how long a screen may take to show what it was told.
const replayWithin = 20 * time.Second

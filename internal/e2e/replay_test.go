package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"lightsout/internal/labtest"
	"lightsout/internal/record"
	"lightsout/internal/record/examples"
)

func TestReplayWithoutATerminalPrintsTheTimelineAndTheVerdict(t *testing.T) {
	t.Parallel()
	name := "mdx"
	example, _ := examples.Open(name)
	r, err := record.OpenFS(example, name)
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

func TestExamplesAreComparedByTheirNames(t *testing.T) {
	t.Parallel()
	out, errs, code := run(t, nil, "trial", "compare", "mdx", "vagrant")
	if code != 0 || errs != "" || !strings.Contains(out, "mdx") || !strings.Contains(out, "vagrant") || !strings.Contains(out, "detected") {
		t.Errorf("code %d: %s\n%s", code, errs, out)
	}
}

func TestReplayReportsARecordThatItCannotPlay(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	name := "mdx"
	x := openTerminal(t, 120, 36, nil, labtest.Program(t, "lightsout")+" replay "+name+"; echo ENDED $?; sleep 60")
	x.waitFor("it plays", replayWithin, "playing 1x", "Nodes", "Ready")
	x.keys("Space")
	x.waitFor("it pauses", replayWithin, "paused")
	x.keys("End")
	x.waitFor("the end", replayWithin, `verdict: pass(.|\n)*paused`, "✓ PASS")
	x.keys("Home")
	x.waitFor("the start", replayWithin, `paused .* T-00:`)
	x.keys("s")
	x.waitFor("that nothing can be switched", replayWithin, "this is a replay|nothing can be switched")
	x.keys("q")
	x.waitFor("the way out", replayWithin, "ENDED 0")
}

// TestLeavingAfterResizesLeavesNoOldRow: the lines before the program are the only ones
// above those after it.
func TestLeavingAfterResizesLeavesNoOldRow(t *testing.T) {
	t.Parallel()
	x := openTerminal(t, 200, 50, nil, "echo BEGUN; "+labtest.Program(t, "lightsout")+" replay mdx; echo ENDED $?; exec sleep 600")
	for _, at := range []struct{ w, h int }{{120, 36}, {200, 50}, {80, 24}, {100, 30}} {
		x.waitFor("the screen", replayWithin, `1 Nodes`)
		x.tmux("resize-window", "-x", fmt.Sprint(at.w), "-y", fmt.Sprint(at.h))
		x.wait(fmt.Sprint("a frame of ", at), replayWithin, func(s string) bool {
			first, _, _ := strings.Cut(s, "\n")
			last := strings.TrimRight(s, "\n")
			return utf8.RuneCountInString(first) <= at.w && strings.Count(last, "\n") == at.h-1 && strings.Contains(s[strings.LastIndex(last, "\n"):], "quit")
		})
	}
	x.keys("q")
	if s := strings.TrimSpace(x.waitFor("the way out", replayWithin, "ENDED 0")); s != "BEGUN\nENDED 0" {
		t.Errorf("the terminal has other rows:\n%s", s)
	}
}

// replayWithin is how long a screen may take to show what it was told.
const replayWithin = time.Minute

func TestErrorsShowControlCharactersInsteadOfObeyingThem(t *testing.T) {
	t.Parallel()
	hostile := "no\x1b[31m\rrecord\u202e"
	for _, args := range [][]string{{"replay", hostile}, {"export", hostile, "x.gif"}, {"trial", "compare", hostile, "mdx"}, {"replay", "--speed", hostile, "mdx"}, {hostile}} {
		_, errs, code := run(t, nil, args...)
		if code == 0 || strings.ContainsAny(errs, "\x1b\r\u202e") || !strings.Contains(errs, `\x1b[31m`) {
			t.Errorf("%q: code %d, %q", args, code, errs)
		}
	}
}

package power

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func intent(op, node string, a Action) Entry {
	return Entry{Kind: EntryIntent, Op: op, Node: node, Action: a, Binding: bind("ssh", "mdx", node)[0]}
}

func outcome(op, node string, a Action, p Phase, sent bool) Entry {
	return Entry{Kind: EntryOutcome, Op: op, Node: node, Action: a, Phase: p, Sent: sent}
}

func write(t *testing.T, j *Journal, entries ...Entry) {
	t.Helper()
	for _, e := range entries {
		if err := j.append(e); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLeftOffIsWhatWeSwitchedOffAndHaveNotSeenOnAgain(t *testing.T) {
	off := []Entry{intent("1", "n3", ActionShutdown), outcome("1", "n3", ActionShutdown, PhaseDone, true)}
	cases := map[string]struct {
		entries []Entry
		want    []string
	}{
		"nothing":                      {nil, nil},
		"an intent without an outcome": {off[:1], []string{"n3 uncertain"}},
		"seen off":                     {off, []string{"n3 off"}},
		"not sent":                     {[]Entry{off[0], outcome("1", "n3", ActionShutdown, PhaseFailed, false)}, nil},
		"sent and not seen off":        {[]Entry{off[0], outcome("1", "n3", ActionShutdown, PhaseFailed, true)}, []string{"n3 uncertain"}},
		"uncertain":                    {[]Entry{off[0], outcome("1", "n3", ActionShutdown, PhaseUncertain, true)}, []string{"n3 uncertain"}},
		"powering on was asked for":    {append(off[:2:2], intent("2", "n3", ActionOn)), []string{"n3 off"}},
		"powering on failed":           {append(off[:2:2], intent("2", "n3", ActionOn), outcome("2", "n3", ActionOn, PhaseFailed, true)), []string{"n3 off"}},
		"powered on":                   {append(off[:2:2], intent("2", "n3", ActionOn), outcome("2", "n3", ActionOn, PhaseDone, true)), nil},
		"off, on, off": {append(off[:2:2], outcome("2", "n3", ActionOn, PhaseDone, true), intent("3", "n3", ActionOff)),
			[]string{"n3 uncertain"}},
		"asked twice, the second not sent": {append(off[:2:2], intent("2", "n3", ActionOff), outcome("2", "n3", ActionOff, PhaseFailed, false)),
			[]string{"n3 off"}},
		"soft, then hard": {[]Entry{off[0], outcome("1", "n3", ActionShutdown, PhaseUncertain, true), intent("2", "n3", ActionOff), outcome("2", "n3", ActionOff, PhaseDone, true)},
			[]string{"n3 off"}},
		"another node": {append(off[:2:2], intent("2", "n4", ActionShutdown)), []string{"n3 off", "n4 uncertain"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, testJournal(t, dir), c.entries...)
			again := testJournal(t, dir) // as the next start reads it
			if got := leftOff(t, again); !reflect.DeepEqual(got, c.want) {
				t.Errorf("left off: %v, want %v", got, c.want)
			}
		})
	}
}

func TestLeftOffCarriesAllThatPoweringOnNeeds(t *testing.T) {
	j := testJournal(t, t.TempDir())
	write(t, j, intent("1", "n3", ActionShutdown))
	left, err := j.LeftOff()
	if err != nil {
		t.Fatal(err)
	}
	if want := bind("ssh", "mdx", "n3")[0]; len(left) != 1 || !reflect.DeepEqual(left[0].Binding, want) {
		t.Errorf("got %+v, want the binding %+v", left, want)
	}
}

func TestSeenOnSettlesOnlyWithANewBoot(t *testing.T) {
	j := testJournal(t, t.TempDir())
	write(t, j, intent("1", "n3", ActionShutdown), intent("2", "n4", ActionShutdown))
	for _, boot := range []string{"boot-1", "boot-2"} {
		if err := j.SeenOn("n3", boot, "Ready"); err != nil {
			t.Fatal(err)
		}
		if settled := len(leftOff(t, j)) == 1; settled != (boot == "boot-2") {
			t.Errorf("seen on with %s (it was off with boot-1): settled %v", boot, settled)
		}
	}
	before, _ := os.ReadFile(j.Path())
	if err := j.SeenOn("n5", "boot-9", "Ready"); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.ReadFile(j.Path()); !bytes.Equal(before, after) {
		t.Error("a node that nobody switched off was written down")
	}
}

func TestWhatIsLeftCordonedIsWhatWeCordonedAndHaveNotUndone(t *testing.T) {
	dir := t.TempDir()
	j := testJournal(t, dir)
	for _, step := range []error{j.Cordoned("n4", "before a shutdown"), j.Cordoned("n3", ""), j.Uncordoned("n4", ""), j.Uncordoned("n5", ""), j.Cordoned("n2", "")} {
		if step != nil {
			t.Fatal(step)
		}
	}
	write(t, j, intent("1", "n3", ActionShutdown), outcome("2", "n3", ActionOn, PhaseDone, true)) // powering on does not uncordon
	left, err := testJournal(t, dir).LeftCordoned()
	if err != nil || len(left) != 2 || left[0].Node != "n3" || left[1].Node != "n2" {
		t.Errorf("left cordoned: %+v, %v", left, err)
	}
	other, err := OpenJournal(dir, "production")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if left, err := other.LeftCordoned(); err != nil || len(left) != 0 {
		t.Errorf("of another cluster: %+v, %v", left, err)
	}
	j.Close()
	if err := j.Cordoned("n1", ""); err == nil {
		t.Error("no error without a journal")
	}
}

func TestOneClusterDoesNotSeeAnothers(t *testing.T) {
	dir := t.TempDir()
	write(t, testJournal(t, dir), intent("1", "n3", ActionShutdown))
	other, err := OpenJournal(dir, "production")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if got := leftOff(t, other); len(got) != 0 {
		t.Errorf("left off: %v", got)
	}
}

func TestTheJournalIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "lightsout")
	j := testJournal(t, dir)
	write(t, j, intent("1", "n3", ActionShutdown))
	for path, want := range map[string]os.FileMode{dir: 0o700, j.Path(): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", filepath.Base(path), info.Mode(), err, want)
		}
	}
}

func TestATornLineCostsNoOtherLine(t *testing.T) {
	dir := t.TempDir()
	j := testJournal(t, dir)
	write(t, j, intent("1", "n3", ActionShutdown))
	raw, err := os.OpenFile(j.Path(), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.WriteString(`{"kind":"intent","op":"2","node":"n4","acti`); err != nil {
		t.Fatal(err)
	}
	raw.Close()
	if got := leftOff(t, j); !reflect.DeepEqual(got, []string{"n3 uncertain"}) {
		t.Errorf("left off: %v", got)
	}
	write(t, j, intent("3", "n5", ActionShutdown))
	for _, journal := range []*Journal{j, testJournal(t, dir)} {
		if got := leftOff(t, journal); !reflect.DeepEqual(got, []string{"n3 uncertain", "n5 uncertain"}) {
			t.Errorf("left off: %v", got)
		}
	}
}

func TestTwoWritersLoseNothing(t *testing.T) {
	dir := t.TempDir()
	const each = 100
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		j := testJournal(t, dir)
		wg.Go(func() {
			for range each {
				e := intent("1", name, ActionShutdown)
				e.Text = strings.Repeat("x", 5000) // more than one page
				if err := j.append(e); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	file, err := os.Open(filepath.Join(dir, JournalName))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	entries, damaged, err := ReadJournal(file)
	if err != nil || damaged != 0 || len(entries) != 2*each {
		t.Errorf("%d entries, %d damaged, %v", len(entries), damaged, err)
	}
}

// dieInTheMiddle is what the child of the next test runs.
func dieInTheMiddle(dir string) {
	j, err := OpenJournal(dir, "lab")
	if err != nil {
		os.Exit(1)
	}
	if err := j.append(intent("1", "n3", ActionShutdown)); err != nil {
		os.Exit(1)
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func TestWhatAKilledProgramLeftOffIsKnown(t *testing.T) {
	dir := t.TempDir()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "LIGHTSOUT_TEST_DIE_IN="+dir)
	if err := child.Run(); err == nil || child.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the child ended with %v", err)
	}
	if got := leftOff(t, testJournal(t, dir)); !reflect.DeepEqual(got, []string{"n3 uncertain"}) {
		t.Errorf("left off: %v", got)
	}
}

func FuzzReadJournal(f *testing.F) {
	line := func(e Entry) []byte { b, _ := json.Marshal(e); return append(b, '\n') }
	whole := append(line(intent("1", "n3", ActionShutdown)), line(outcome("1", "n3", ActionShutdown, PhaseDone, true))...)
	f.Add(whole)
	f.Add(whole[:len(whole)-20])
	f.Add([]byte("\n\n{}\nnull\n[]\n\"x\"\n"))
	f.Add([]byte(`{"kind":"seen","node":"n3","future":{"field":1}}`))
	f.Add([]byte("{\"kind\":\"seen\",\"node\":\"n\\u001b[31m\"}\n"))
	f.Add(bytes.Repeat([]byte("x"), entryLimit+10))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, damaged, err := ReadJournal(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(data, []byte("\n")) + 1; len(entries)+damaged > lines {
			t.Errorf("%d entries and %d damaged in %d lines", len(entries), damaged, lines)
		}
		l := newLedger("lab")
		var out []byte
		for _, e := range entries {
			if e.Node == "" || Clean(e.Node) != e.Node || Clean(e.Text) != e.Text {
				t.Errorf("not harmless: %+v", e)
			}
			l.fold(e)
			out = append(out, line(e)...)
		}
		l.list()
		// What was read and is written again is read the same.
		again, damaged, err := ReadJournal(bytes.NewReader(append(out, "{torn"...)))
		if err != nil || len(again) != len(entries) || damaged != 1 {
			t.Errorf("again: %d of %d entries, %d damaged, %v", len(again), len(entries), damaged, err)
		}
	})
}

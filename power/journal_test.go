package power

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// What is written to a file that has no name any more nobody finds again.
func TestAJournalThatIsRemovedIsWrittenNoMore(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"removed": os.Remove,
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600))
		},
	} {
		j := OpenJournal(t.TempDir(), Cluster{Name: "lab"}, "")
		t.Cleanup(func() { _ = j.Close() })
		if err := j.append(intent("1", "n3", ActionOff)); err != nil {
			t.Fatal(err)
		}
		if err := change(j.Path()); err != nil {
			t.Fatal(err)
		}
		if err := j.append(intent("2", "n4", ActionOff)); err == nil || !strings.Contains(err.Error(), "has been removed") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A program whose journal was removed still knows what it sees: a machine that is proven on is not
// left off, until it is proven off again.
func TestWhatIsSeenCountsWithoutAJournal(t *testing.T) {
	j := OpenJournal(t.TempDir(), Cluster{Name: "lab"}, "")
	t.Cleanup(func() { _ = j.Close() })
	write(t, j, intent("1", "n3", ActionOff), outcome("1", "n3", ActionOff, StageDone, true))
	left := func() int {
		l, err := j.LeftOff()
		if err != nil {
			t.Fatal(err)
		}
		return len(l)
	}
	if n := left(); n != 1 {
		t.Fatalf("%d machines are left off", n)
	}
	if err := os.Remove(j.Path()); err != nil {
		t.Fatal(err)
	}
	machine := bind("ssh", "mdx", "n3")[0].On
	saw := Seen{Node: NodeRef{Name: "n3"}, Machine: machine, State: On, Proof: Proven, RequestedAt: time.Now()}
	if changed, err := j.Saw(saw); !changed || err == nil {
		t.Errorf("on: %v, %v", changed, err)
	}
	if n := left(); n != 0 {
		t.Errorf("a machine that is proven on is left off")
	}
	saw.State, saw.RequestedAt = Off, time.Now()
	if changed, err := j.Saw(saw); !changed || err == nil {
		t.Errorf("off: %v, %v", changed, err)
	}
	if n := left(); n != 1 {
		t.Errorf("a machine that is proven off again is not left off")
	}
}

func intent(op, node string, a Action) Entry {
	return Entry{Kind: EntryIntent, Op: op, Node: node, Action: a, Binding: bind("ssh", "mdx", node)[0], Heard: time.Now().Add(-time.Second)}
}

func outcome(op, node string, a Action, p Stage, sent bool) Entry {
	e := Entry{Kind: EntryOutcome, Op: op, Node: node, Action: a, Stage: p, State: Off.String(), Proof: Proven.String()}
	if sent {
		e.Arrival = Arrival{Accepted, time.Now()}
	}
	return e
}

func write(t *testing.T, j *Journal, entries ...Entry) {
	t.Helper()
	for _, e := range entries {
		if e.Kind == EntryOutcome && e.RequestedAt.IsZero() {
			e.RequestedAt = time.Now()
		}
		if err := j.append(e); err != nil {
			t.Fatal(err)
		}
	}
}

// Two clusters of one context name: what is seen in one settles nothing of the
// other, nor is it told there.
func TestAnotherClusterOfTheSameNameSettlesNothing(t *testing.T) {
	for name, c := range map[string][2]Cluster{
		"by the UID": {{Name: "kubernetes-admin@kubernetes", UID: "a"}, {Name: "kubernetes-admin@kubernetes", UID: "b"}},
		"by the CA":  {{Name: "kubernetes-admin@kubernetes", CA: "a"}, {Name: "kubernetes-admin@kubernetes", UID: "b", CA: "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			a, b := OpenJournal(dir, c[0], ""), OpenJournal(dir, c[1], "")
			defer a.Close()
			defer b.Close()
			write(t, a, intent("1", "n3", ActionShutdown), outcome("1", "n3", ActionShutdown, StageDone, true))
			if err := a.Cordoned("n3", "", ""); err != nil {
				t.Fatal(err)
			}
			changed, err := b.Saw(Seen{Node: NodeRef{Name: "n3"}, Machine: bind("ssh", "mdx", "n3")[0].On, State: On, Proof: Proven, RequestedAt: time.Now()})
			if err != nil || changed {
				t.Errorf("it settles that of the other, %v", err)
			}
			if err := b.Uncordoned("n3", ""); err != nil {
				t.Fatal(err)
			}
			cordoned, _ := a.LeftCordoned()
			if got := leftOff(t, a); !reflect.DeepEqual(got, []string{"n3 off"}) || len(leftOff(t, b)) != 0 || len(cordoned) != 1 {
				t.Errorf("left off: %v, in the other %v, cordoned %v", got, leftOff(t, b), cordoned)
			}
			all, err := b.Machines()
			if err != nil || len(all) != 1 || !all[0].Cluster.Same(c[0]) {
				t.Errorf("of all clusters: %+v, %v", all, err)
			}
		})
	}
}

// A tunnel may lead to another cluster behind the same address, with the same CA.
func TestABootInAClusterWhoseUIDIsUnknownSettlesNothing(t *testing.T) {
	dir := t.TempDir()
	open := func(uid string) *Journal {
		j := OpenJournal(dir, Cluster{Name: "prod", CA: "ca", Server: "localhost", UID: uid}, "a.yaml")
		t.Cleanup(func() { j.Close() })
		return j
	}
	off := outcome("1", "n3", ActionOff, StageDone, true)
	off.RequestedAt = time.Now()
	write(t, open("first"), intent("1", "n3", ActionOff), off)
	seen := Seen{Node: NodeRef{Name: "n3", BootID: "boot-9"}, RequestedAt: time.Now().Add(time.Minute)}
	for _, uid := range []string{"", "second"} {
		if changed, err := open(uid).Saw(seen); changed || err != nil {
			t.Errorf("a boot in cluster %q settles it, %v", uid, err)
		}
	}
}

func TestADamagedIntentIsNotForgotten(t *testing.T) {
	line := func(e Entry) string {
		e.Cluster, e.At, e.RequestedAt = labCluster, time.Now(), time.Now()
		text, _ := json.Marshal(e)
		return string(withSum(text)) + "\n"
	}
	whole, done := line(intent("7", "n3", ActionShutdown)), line(outcome("7", "n3", ActionShutdown, StageDone, true))
	for name, c := range map[string]struct {
		lines string
		want  []string
	}{
		"cut off":                 {strings.Replace(whole, `"binding"`, `"bin`, 1), nil},
		"it can be read, changed": {strings.Replace(whole, `"node":"n3"`, `"node":"n4"`, 1), nil},
		"its outcome is whole":    {whole[:40] + "\n" + done, []string{"n3 off"}},
		"the outcome is damaged":  {whole + done[:40] + "\n", []string{"n3 uncertain"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, JournalName), []byte(c.lines), 0o600); err != nil {
				t.Fatal(err)
			}
			j := testJournal(t, dir)
			lost, err := j.Damaged()
			if err != nil || len(lost) != 1 || !reflect.DeepEqual(leftOff(t, j), c.want) {
				t.Fatalf("left off %v, damaged %+v, %v", leftOff(t, j), lost, err)
			}
			if err := j.acknowledge(lost, "looked at"); err != nil {
				t.Fatal(err)
			}
			if lost, _ := testJournal(t, dir).Damaged(); len(lost) != 0 {
				t.Errorf("after it was looked at: %+v", lost)
			}
			if lost, _ := OpenJournal(dir, Cluster{Name: "lab", UID: "uid-other"}, "").Damaged(); len(lost) != 1 {
				t.Errorf("for another cluster: %+v", lost)
			}
		})
	}
}

func TestAJournalThatCannotBeWrittenIsStillRead(t *testing.T) {
	dir := t.TempDir()
	write(t, testJournal(t, dir), intent("1", "n3", ActionShutdown))
	for path, mode := range map[string]os.FileMode{filepath.Join(dir, JournalName): 0o400, dir: 0o500} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	defer os.Chmod(dir, 0o700)
	j := testJournal(t, dir)
	if os.Geteuid() != 0 && j.unwritable == nil {
		t.Error("it can be written")
	}
	if got := leftOff(t, j); !reflect.DeepEqual(got, []string{"n3 uncertain"}) {
		t.Errorf("left off: %v", got)
	}
}

func TestWhatIsLeftCordonedIsWhatWeCordonedAndHaveNotUndone(t *testing.T) {
	dir := t.TempDir()
	j := testJournal(t, dir)
	for _, step := range []error{j.Cordoned("n4", "", "before a shutdown"), j.Cordoned("n3", "", ""), j.Uncordoned("n4", ""), j.Uncordoned("n5", ""), j.Cordoned("n2", "", "")} {
		if step != nil {
			t.Fatal(step)
		}
	}
	write(t, j, intent("1", "n3", ActionShutdown), outcome("2", "n3", ActionOn, StageDone, true)) // powering on does not uncordon
	left, err := testJournal(t, dir).LeftCordoned()
	if err != nil || len(left) != 2 || left[0].Node != "n3" || left[1].Node != "n2" {
		t.Errorf("left cordoned: %+v, %v", left, err)
	}
	other := OpenJournal(dir, Cluster{Name: "lab", UID: "uid-other"}, "")
	defer other.Close()
	if left, err := other.LeftCordoned(); err != nil || len(left) != 0 {
		t.Errorf("of another cluster: %+v, %v", left, err)
	}
	j.Close()
	if err := j.Cordoned("n1", "", ""); err == nil {
		t.Error("no error without a journal")
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

func FuzzReadJournal(f *testing.F) {
	line := func(e Entry) []byte { b, _ := json.Marshal(e); return append(withSum(b), '\n') }
	whole := append(line(intent("1", "n3", ActionShutdown)), line(outcome("1", "n3", ActionShutdown, StageDone, true))...)
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
		l := newJournalState(CarriedOutWithin)
		var out []byte
		for _, e := range entries {
			if Clean(e.Node) != e.Node || Clean(e.Text) != e.Text {
				t.Errorf("not harmless: %+v", e)
			}
			l.fold(e)
			out = append(out, line(e)...)
		}
		for _, requests := range l.machines() {
			stateOf(requests)
		}
		// What was read and is written again is read the same.
		again, damaged, err := ReadJournal(bytes.NewReader(append(out, "{torn"...)))
		if err != nil || len(again) != len(entries) || damaged != 1 {
			t.Errorf("again: %d of %d entries, %d damaged, %v", len(again), len(entries), damaged, err)
		}
	})
}

// A program that was stopped between its intent and its request does not send the
// request if another program has asked to power the machine on meanwhile.
func TestAnOvertakenIntentSendsNoRequest(t *testing.T) {
	j := testJournal(t, t.TempDir())
	put := func(op string, a Action, node string) {
		t.Helper()
		if err := j.append(Entry{Kind: EntryIntent, Op: op, Action: a, Node: node}); err != nil {
			t.Fatal(err)
		}
	}
	put("one", ActionOff, "n1")
	put("two", ActionOn, "n2")
	if !j.mayBeSent("one") {
		t.Error("another machine is powered on")
	}
	put("three", ActionOn, "n1")
	if j.mayBeSent("one") {
		t.Error("it is powered on")
	}
	put("four", ActionShutdown, "n1")
	if !j.mayBeSent("four") || j.mayBeSent("none") {
		t.Error("it is switched off again")
	}
}

// A machine that goes off by a request that is open is not one that an earlier request has switched off late.
func TestAMachineGoesOffByItsOpenRequest(t *testing.T) {
	j := OpenJournal(t.TempDir(), Cluster{Name: "lab"}, "")
	t.Cleanup(func() { _ = j.Close() })
	machine := bind("ssh", "mdx", "n3")[0].On
	saw := func(s State) (changed bool) {
		t.Helper()
		changed, err := j.Saw(Seen{Node: NodeRef{Name: "n3"}, Machine: machine, State: s, Proof: Proven, RequestedAt: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		return changed
	}
	write(t, j, intent("1", "n3", ActionOff), outcome("1", "n3", ActionOff, StageDone, true))
	if !saw(On) {
		t.Error("it is on again, and the journal has not noticed")
	}
	write(t, j, intent("2", "n3", ActionOff))
	if saw(Off) {
		t.Error("the request that is open has switched it off, and it counts as switched off late")
	}
}

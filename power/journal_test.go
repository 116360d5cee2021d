package power

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
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
	if err := errors.Join(j.append(intent("1", "n3", ActionOff)), j.append(outcome("1", "n3", ActionOff, StageDone, true))); err != nil {
		t.Fatal(err)
	}
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
	if n, err := j.SeenOn(Seen{Node: NodeRef{Name: "n3", BootID: "boot-9"}, Machine: machine, RequestedAt: time.Now().Add(time.Second), Text: "on"}); n != 1 || err == nil {
		t.Errorf("settled %d operations: %v", n, err)
	}
	if n := left(); n != 0 {
		t.Errorf("a machine that is proven on is left off")
	}
	if n, err := j.SeenOff("n3", *machine, Reading{State: Off, Proof: Proven, RequestedAt: time.Now().Add(2 * time.Second)}); n != 1 || err == nil {
		t.Errorf("reopened %d operations: %v", n, err)
	}
	if n := left(); n != 1 {
		t.Errorf("a machine that is proven off again is not left off")
	}
}

func intent(op, node string, a Action) Entry {
	return Entry{Kind: EntryIntent, Op: op, Node: node, Action: a, Binding: bind("ssh", "mdx", node)[0], Heard: time.Now().Add(-time.Second)}
}

func outcome(op, node string, a Action, p Stage, sent bool) Entry {
	e := Entry{Kind: EntryOutcome, Op: op, Node: node, Action: a, Stage: p, Sent: sent}
	switch {
	case a != ActionOn:
		e.State, e.Proof = "off", Proven.String()
	case p == StageDone:
		e.Settles = []string{"1"}
	}
	return e
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
	off := []Entry{intent("1", "n3", ActionShutdown), outcome("1", "n3", ActionShutdown, StageDone, true)}
	cases := map[string]struct {
		entries []Entry
		want    []string
	}{
		"nothing":                      {nil, nil},
		"an intent without an outcome": {off[:1], []string{"n3 uncertain"}},
		"seen off":                     {off, []string{"n3 off"}},
		"not sent":                     {[]Entry{off[0], outcome("1", "n3", ActionShutdown, StageFailed, false)}, nil},
		"sent and not seen off":        {[]Entry{off[0], outcome("1", "n3", ActionShutdown, StageFailed, true)}, []string{"n3 uncertain"}},
		"uncertain":                    {[]Entry{off[0], outcome("1", "n3", ActionShutdown, StageUncertain, true)}, []string{"n3 uncertain"}},
		"powering on was asked for":    {append(off[:2:2], intent("2", "n3", ActionOn)), []string{"n3 off"}},
		"powering on failed":           {append(off[:2:2], intent("2", "n3", ActionOn), outcome("2", "n3", ActionOn, StageFailed, true)), []string{"n3 off"}},
		"powered on":                   {append(off[:2:2], intent("2", "n3", ActionOn), outcome("2", "n3", ActionOn, StageDone, true)), nil},
		"off, on, off": {append(off[:2:2], outcome("2", "n3", ActionOn, StageDone, true), intent("3", "n3", ActionOff)),
			[]string{"n3 uncertain"}},
		"asked twice, the second not sent": {append(off[:2:2], intent("2", "n3", ActionOff), outcome("2", "n3", ActionOff, StageFailed, false)),
			[]string{"n3 off"}},
		"soft, then hard": {[]Entry{off[0], outcome("1", "n3", ActionShutdown, StageUncertain, true), intent("2", "n3", ActionOff), outcome("2", "n3", ActionOff, StageDone, true)},
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

// A machine was switched off without a UID, and again with one. For another cluster behind
// the same CA only the first request counts, and for all clusters the UID that is known.
func TestLeftOffTakesInNoRequestsOfAnotherCluster(t *testing.T) {
	dir := t.TempDir()
	of := func(uid string) *Journal {
		j := OpenJournal(dir, Cluster{Name: "lab", UID: uid, CA: "ca"}, "")
		t.Cleanup(func() { j.Close() })
		return j
	}
	write(t, of(""), intent("1", "n3", ActionOff))
	write(t, of("uid-b"), intent("2", "n3", ActionOff))
	for uid, want := range map[string][]string{"uid-a": {"1"}, "uid-b": {"1", "2"}, "": {"1", "2"}} {
		left, err := of(uid).LeftOff()
		if err != nil || len(left) != 1 || !slices.Equal(left[0].Ops, want) {
			t.Errorf("cluster %q: %+v, %v", uid, left, err)
		}
	}
	if all, err := of("uid-a").LeftOffAll(); err != nil || len(all) != 1 || all[0].Of().UID != "uid-b" {
		t.Errorf("of all clusters: %+v, %v", all, err)
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
	write(t, j, intent("1", "n3", ActionShutdown), intent("2", "n4", ActionShutdown), outcome("1", "n3", ActionShutdown, StageDone, true))
	ready := func(node, boot string) Seen {
		return Seen{Node: NodeRef{Name: node, BootID: boot}, RequestedAt: time.Now()}
	}
	for _, boot := range []string{"", "boot-1", "boot-2"} {
		if _, err := j.SeenOn(ready("n3", boot)); err != nil {
			t.Fatal(err)
		}
		if settled := len(leftOff(t, j)) == 1; settled != (boot == "boot-2") {
			t.Errorf("seen on with %q (it was off with boot-1): settled %v", boot, settled)
		}
	}
	before, _ := os.ReadFile(j.Path())
	if _, err := j.SeenOn(ready("n5", "boot-9")); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.ReadFile(j.Path()); !bytes.Equal(before, after) {
		t.Error("a node that nobody switched off was written down")
	}
}

// What closes an operation: its own evidence, on the same machine.
func TestAnOperationIsSettledByItsOwnEvidence(t *testing.T) {
	now := time.Now()
	base := func() *operationLeft {
		return &operationLeft{Entry: intent("1", "n3", ActionShutdown), certainty: LeftOffUncertain, asked: now}
	}
	machine := bind("ssh", "mdx", "n3")[0].On
	on := func(after time.Duration) Seen {
		return Seen{Node: NodeRef{Name: "n3"}, Machine: machine, RequestedAt: now.Add(after)}
	}
	for name, c := range map[string]struct {
		change func(o *operationLeft, s *Seen)
		after  time.Duration
		want   bool
	}{
		"on, but the request may still act":       {nil, 3 * time.Minute, false},
		"on for longer than the request may take": {nil, CarriedOutWithin + time.Second, true},
		"it was seen off meanwhile":               {func(_ *operationLeft, s *Seen) { s.WasOff = now.Add(time.Second) }, time.Minute, true},
		"it was seen off before the request":      {func(_ *operationLeft, s *Seen) { s.WasOff = now.Add(-time.Second) }, time.Minute, false},
		"proven off, and on now":                  {func(o *operationLeft, _ *Seen) { o.certainty, o.proven = LeftOffSeen, true }, time.Second, true},
		"presumed off, and on by a power API":     {func(o *operationLeft, _ *Seen) { o.certainty = LeftOffSeen }, time.Second, false},
		"presumed off, and on 30 minutes later":   {func(o *operationLeft, _ *Seen) { o.certainty = LeftOffSeen }, CarriedOutWithin + time.Second, true},
		"another boot of a node that was silent at the request": {func(o *operationLeft, s *Seen) {
			o.Heard, s.Machine, s.Node.BootID = now.Add(-20*time.Second), nil, "boot-2"
		}, time.Second, false},
		"another boot of a silent node, after it was presumed off": {func(o *operationLeft, s *Seen) {
			o.Heard, o.certainty, o.off, s.Machine, s.Node.BootID = now.Add(-time.Minute), LeftOffSeen, now, nil, "boot-2"
		}, time.Second, false},
		"another boot of a silent node, after it was proven off": {func(o *operationLeft, s *Seen) {
			o.proven = true
			o.Heard, o.certainty, o.off, s.Machine, s.Node.BootID = time.Time{}, LeftOffSeen, now, nil, "boot-2"
		}, time.Second, true},
		"another boot, in an answer to a request from before it was seen off": {func(o *operationLeft, s *Seen) {
			o.certainty, o.off, s.Machine, s.Node.BootID = LeftOffSeen, now.Add(time.Minute), nil, "boot-2"
		}, time.Second, false},
		"another machine":                  {func(_ *operationLeft, s *Seen) { s.Machine = &Machine{Driver: "mdx", ID: "vm-9"} }, time.Hour, false},
		"evidence from before the request": {func(o *operationLeft, _ *Seen) { o.At = now.Add(time.Minute) }, time.Second, false},
		"the same boot":                    {func(_ *operationLeft, s *Seen) { s.Machine, s.Node.BootID = nil, "boot-1" }, time.Hour, false},
		"another boot": {func(o *operationLeft, s *Seen) {
			o.certainty, o.off, s.Machine, s.Node.BootID = LeftOffSeen, now, nil, "boot-2"
		}, time.Second, true},
		"another boot, and its end is unknown": {func(_ *operationLeft, s *Seen) { s.Machine, s.Node.BootID = nil, "boot-2" }, time.Second, false},
		"another boot, 30 minutes later": {func(_ *operationLeft, s *Seen) {
			s.Machine, s.Node.BootID = nil, "boot-2"
		}, CarriedOutWithin + time.Second, true},
		"another boot of another node of that name": {func(o *operationLeft, s *Seen) {
			o.Binding.Node.Addresses, s.Machine, s.Node = []string{"10.0.0.3"}, nil, NodeRef{Name: "n3", BootID: "boot-2", Addresses: []string{"10.9.0.3"}}
		}, time.Second, false},
		"another boot of another machine with that name and address": {func(o *operationLeft, s *Seen) {
			o.certainty, o.proven, o.off, o.Binding.Node.SystemUUID = LeftOffSeen, true, now, "uuid-1"
			s.Machine, s.Node.BootID, s.Node.SystemUUID = nil, "boot-2", "uuid-2"
		}, CarriedOutWithin + time.Second, false},
		"another boot of a machine with that name and address that reports no systemUUID": {func(o *operationLeft, s *Seen) {
			o.certainty, o.proven, o.off, o.Binding.Node.SystemUUID = LeftOffSeen, true, now, "uuid-1"
			s.Machine, s.Node.BootID = nil, "boot-2"
		}, CarriedOutWithin + time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			o, s := base(), on(c.after)
			o.At, o.Heard = now, now.Add(-time.Second)
			if c.change != nil {
				c.change(o, &s)
			}
			if got := settledBy(o, s, CarriedOutWithin); got != c.want {
				t.Errorf("settled: %v", got)
			}
		})
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
			if err := a.Cordoned("n3", ""); err != nil {
				t.Fatal(err)
			}
			n, err := b.SeenOn(Seen{Node: NodeRef{Name: "n3", BootID: "boot-9"}, Machine: bind("ssh", "mdx", "n3")[0].On, RequestedAt: time.Now()})
			if err != nil || n != 0 {
				t.Errorf("%d settled, %v", n, err)
			}
			if err := b.Uncordoned("n3", ""); err != nil {
				t.Fatal(err)
			}
			cordoned, _ := a.LeftCordoned()
			if got := leftOff(t, a); !reflect.DeepEqual(got, []string{"n3 off"}) || len(leftOff(t, b)) != 0 || len(cordoned) != 1 {
				t.Errorf("left off: %v, in the other %v, cordoned %v", got, leftOff(t, b), cordoned)
			}
			all, err := b.LeftOffAll()
			if err != nil || len(all) != 1 || !all[0].Of().Same(c[0]) {
				t.Errorf("of all clusters: %+v, %v", all, err)
			}
		})
	}
}

// A tunnel leads to another cluster behind the same address, with the same CA. If it reveals
// its UID or not, the journal knows that the settings led elsewhere before. If not, a boot of
// its node settles nothing.
func TestTheSameSettingsLeadToAnotherCluster(t *testing.T) {
	dir := t.TempDir()
	open := func(config, uid string) *Journal {
		j := OpenJournal(dir, Cluster{Name: "prod", CA: "ca", Server: "localhost", UID: uid}, config)
		t.Cleanup(func() { j.Close() })
		return j
	}
	off := outcome("1", "n3", ActionOff, StageDone, true)
	off.RequestedAt = time.Now()
	write(t, open("a.yaml", "first"), intent("1", "n3", ActionOff), off)
	seen := Seen{Node: NodeRef{Name: "n3", BootID: "boot-9"}, RequestedAt: time.Now().Add(time.Minute)}
	if n, err := open("a.yaml", "").SeenOn(seen); n != 0 || err != nil {
		t.Errorf("a boot in a cluster whose UID is unknown settles %d operations, %v", n, err)
	}
	other := open("a.yaml", "second")
	for _, c := range []struct {
		j    *Journal
		want string
	}{{open("a.yaml", "first"), ""}, {open("a.yaml", ""), "first"}, {open("b.yaml", "second"), ""}, {other, "first"}} {
		if uid, at := ledElsewhere(c.j); uid != c.want || at.IsZero() != (uid == "") {
			t.Errorf("%+v by %s: led to %q at %s, want %q", c.j.Cluster(), c.j.Config(), uid, at, c.want)
		}
	}
	write(t, other, intent("2", "n3", ActionOff)) // the operator has typed the confirmation
	if uid, _ := ledElsewhere(other); uid != "" {
		t.Errorf("after a request there: led to %q", uid)
	}
	off = outcome("3", "n4", ActionOff, StageDone, true)
	off.RequestedAt = time.Now()
	write(t, open("a.yaml", ""), intent("3", "n4", ActionOff), off) // to a cluster that does not reveal its UID
	seen = Seen{Node: NodeRef{Name: "n4", BootID: "boot-9"}, RequestedAt: time.Now().Add(time.Minute)}
	for _, uid := range []string{"", "first", "second"} {
		if n, err := open("a.yaml", uid).SeenOn(seen); n != 0 || err != nil {
			t.Errorf("a boot in cluster %q settles %d operations of an unknown one, %v", uid, n, err)
		}
	}
}

// An earlier version wrote lines without a checksum, some in folders of the state
// folder. Each of them may have switched a machine off.
func TestAJournalOfAnEarlierFormatIsDamaged(t *testing.T) {
	for _, folder := range []string{"", "lab"} {
		dir := t.TempDir()
		var lines []byte
		for i, e := range []Entry{intent("1", "n3", ActionShutdown), {Kind: EntrySeen, Node: "n3"}, intent("2", "n4", ActionShutdown)} {
			e.Cluster, e.At = labCluster.Name, time.Now().Add(time.Duration(i-100)*time.Second)
			text, _ := json.Marshal(e)
			lines = append(append(lines, text...), '\n')
		}
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, folder), 0o700), os.WriteFile(filepath.Join(dir, folder, JournalName), lines, 0o600)); err != nil {
			t.Fatal(err)
		}
		j := testJournal(t, dir)
		lost, err := j.Damaged()
		if err != nil || len(lost) != 2 || lost[0].Node != "n3" || lost[1].Node != "n4" || len(leftOff(t, j)) != 0 {
			t.Fatalf("in %q: damaged %+v, left off %v, %v", folder, lost, leftOff(t, j), err)
		}
		if err := j.Acknowledge(lost, "polled"); err != nil {
			t.Fatal(err)
		}
		if lost, _ := testJournal(t, dir).Damaged(); len(lost) != 0 {
			t.Errorf("in %q, after it was polled: %+v", folder, lost)
		}
	}
}

// Evidence without the operations that it settles, as an earlier version wrote it,
// leaves the machine in the journal.
func TestEvidenceWithoutOperationsSettlesNothing(t *testing.T) {
	j := testJournal(t, t.TempDir())
	write(t, j, intent("1", "n3", ActionShutdown), Entry{Kind: EntrySeen, Node: "n3"}, Entry{Kind: EntryOutcome, Op: "2", Action: ActionOn, Node: "n3", Stage: StageDone})
	if got := leftOff(t, j); !reflect.DeepEqual(got, []string{"n3 uncertain"}) {
		t.Errorf("left off: %v", got)
	}
}

func TestADamagedIntentIsNotForgotten(t *testing.T) {
	line := func(e Entry) string {
		e.Cluster, e.ClusterUID, e.At = labCluster.Name, labCluster.UID, time.Now()
		text, _ := json.Marshal(e)
		return string(withSum(text)) + "\n"
	}
	whole, done := line(intent("7", "n3", ActionShutdown)), line(outcome("7", "n3", ActionShutdown, StageDone, true))
	for name, c := range map[string]struct {
		lines string
		want  []string
		lost  []string // the nodes that they may be about
	}{
		"its node can be read":    {strings.Replace(whole, `"binding"`, `"bin`, 1), nil, []string{"n3"}},
		"it can be read, changed": {strings.Replace(whole, `"node":"n3"`, `"node":"n4"`, 1), nil, []string{"n4"}},
		"nothing can be read":     {"\x00\x00\x00\x00 garbage\n", nil, []string{""}},
		"its outcome is whole":    {whole[:40] + "\n" + done, []string{"n3 off"}, nil},
		"the outcome is damaged":  {whole + done[:40] + "\n", []string{"n3 uncertain"}, nil},
		"a power-on is damaged":   {`{"kind":"outcome","op":"9","action":"on","node":"n3","phase` + "\n", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, JournalName), []byte(c.lines), 0o600); err != nil {
				t.Fatal(err)
			}
			j := testJournal(t, dir)
			lost, err := j.Damaged()
			var about []string
			for _, l := range lost {
				about = append(about, l.Node)
			}
			if err != nil || !slices.Equal(about, c.lost) || !reflect.DeepEqual(leftOff(t, j), c.want) {
				t.Fatalf("left off %v, damaged %+v, %v", leftOff(t, j), lost, err)
			}
			if err := j.Acknowledge(lost, "looked at"); err != nil {
				t.Fatal(err)
			}
			if lost, _ := testJournal(t, dir).Damaged(); len(lost) != 0 {
				t.Errorf("after it was looked at: %+v", lost)
			}
			if lost, _ := OpenJournal(dir, Cluster{Name: "lab", UID: "uid-other"}, "").Damaged(); len(lost) != len(c.lost) {
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
	if os.Geteuid() != 0 && j.Unwritable() == nil {
		t.Error("it can be written")
	}
	if got := leftOff(t, j); !reflect.DeepEqual(got, []string{"n3 uncertain"}) {
		t.Errorf("left off: %v", got)
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
	if err := j.Cordoned("n1", ""); err == nil {
		t.Error("no error without a journal")
	}
}

func TestOneClusterDoesNotSeeAnothers(t *testing.T) {
	dir := t.TempDir()
	write(t, testJournal(t, dir), intent("1", "n3", ActionShutdown))
	other := OpenJournal(dir, Cluster{Name: "lab", UID: "uid-other"}, "")
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
	j := OpenJournal(dir, labCluster, "")
	if err := j.append(intent("1", "n3", ActionShutdown)); err != nil {
		os.Exit(1)
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func TestTheNextStartKnowsMachinesThatAKilledProgramLeftOff(t *testing.T) {
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
		l := newJournalState()
		var out []byte
		for _, e := range entries {
			if e.Node == "" && len(e.Settles) == 0 || Clean(e.Node) != e.Node || Clean(e.Text) != e.Text {
				t.Errorf("not harmless: %+v", e)
			}
			l.fold(e)
			out = append(out, line(e)...)
		}
		leftBy(l.all(), CarriedOutWithin)
		l.unreadable(labCluster)
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

// The clock was 31 minutes slow, and is corrected while a slow shutdown is under way: a poll that finds the
// machine on settles it too early. Its uncertain outcome reopens it, and the machine that goes off is not
// forgotten.
func TestAClockThatIsCorrectedForgetsNoShutdown(t *testing.T) {
	j := testJournal(t, t.TempDir())
	b := bind("mdx", "mdx", "n1")[0]
	b.Node.BootID = "boot-1"
	slow := time.Now().Add(-31 * time.Minute)
	intent := Entry{Kind: EntryIntent, Op: "1", Action: ActionShutdown, Node: "n1", Binding: b, At: slow, Cluster: j.cluster.Name, ClusterUID: j.cluster.UID}
	j.left.fold(intent)
	n, err := j.SeenOn(Seen{Node: NodeRef{Name: "n1", BootID: "boot-1"}, Machine: b.On, RequestedAt: time.Now(), Text: "on"})
	if n != 1 || err != nil {
		t.Fatalf("it settled %d operations, %v", n, err)
	}
	outcome := intent
	outcome.Kind, outcome.Stage, outcome.Sent, outcome.State, outcome.Proof = EntryOutcome, StageUncertain, true, "on", "proven"
	outcome.SentAt, outcome.RequestedAt = slow.Add(time.Second), time.Now()
	if err := j.append(outcome); err != nil {
		t.Fatal(err)
	}
	if left := leftOff(t, j); len(left) != 1 {
		t.Errorf("the journal lists %v", left)
	}
}

// The machine was proven off and then on, which settles its operation; an uncertain outcome that comes
// later does not reopen it.
func TestAnUncertainOutcomeDoesNotOutweighAProof(t *testing.T) {
	j := testJournal(t, t.TempDir())
	b := bind("mdx", "mdx", "n1")[0]
	b.Node.BootID = "boot-1"
	e := Entry{Kind: EntryIntent, Op: "1", Action: ActionShutdown, Node: "n1", Binding: b}
	if err := j.append(e); err != nil {
		t.Fatal(err)
	}
	sent, off := time.Now(), time.Now().Add(time.Millisecond)
	n, err := j.SeenOn(Seen{Node: NodeRef{Name: "n1"}, Machine: b.On, WasOff: off, RequestedAt: off.Add(time.Millisecond), Text: "on"})
	if n != 1 || err != nil {
		t.Fatalf("it settled %d operations, %v", n, err)
	}
	e.Kind, e.Stage, e.Sent, e.SentAt, e.State = EntryOutcome, StageUncertain, true, sent.UTC(), Unknown.String()
	if err := j.append(e); err != nil {
		t.Fatal(err)
	}
	if left := leftOff(t, j); len(left) != 0 {
		t.Errorf("the journal lists %v", left)
	}
}

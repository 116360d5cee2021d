package power

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A shutdown that was not seen to its end is over once the journal has the
// machine proven off, later and of the same machine and cluster.
func TestAShutdownIsOverOnceTheJournalHasTheMachineOff(t *testing.T) {
	asked := []Entry{intent("1", "n3", ActionShutdown), outcome("1", "n3", ActionShutdown, StageUncertain, true)}
	asked[1].State, asked[1].Proof = On.String(), Proven.String()
	on := func(k EntryKind, change func(e *Entry)) Entry {
		e := intent("2", "n3", ActionOn)
		if e.Kind = k; k == EntryOutcome {
			e.Stage, e.State, e.Proof, e.WasOff = StageUncertain, Off.String(), Proven.String(), time.Now().Add(time.Minute) // as asked is written now
		}
		change(&e)
		return e
	}
	pulled := outcome("2", "n3", ActionOff, StageDone, true)
	pulled.Binding, pulled.WasOff = asked[0].Binding, time.Now().Add(time.Minute)
	none := func(*Entry) {}
	off := func(e *Entry) { e.WasOff = time.Now().Add(time.Minute) } // as asked is written now
	for name, c := range map[string]struct {
		entries []Entry
		want    bool
	}{
		"nothing more":                           {nil, false},
		"interrupted while it was off":           {[]Entry{on(EntryIntent, none), on(EntryOutcome, none)}, true},
		"killed, seen off before the request":    {[]Entry{on(EntryIntent, off)}, true},
		"interrupted while booting, off before":  {[]Entry{on(EntryOutcome, func(e *Entry) { off(e); e.State = Transitioning.String() })}, true},
		"killed, and nothing was seen":           {[]Entry{on(EntryIntent, none)}, false},
		"presumed off":                           {[]Entry{on(EntryOutcome, func(e *Entry) { e.Proof, e.WasOff = Presumed.String(), time.Time{} })}, false},
		"seen on":                                {[]Entry{on(EntryOutcome, func(e *Entry) { e.State, e.WasOff = On.String(), time.Time{} })}, false},
		"seen off before it was asked":           {[]Entry{on(EntryOutcome, func(e *Entry) { e.WasOff = time.Now().Add(-time.Minute) })}, false},
		"another machine":                        {[]Entry{on(EntryOutcome, func(e *Entry) { e.Binding = bind("ssh", "mdx", "n4")[0] })}, false},
		"another cluster":                        {[]Entry{on(EntryOutcome, func(e *Entry) { e.Cluster, e.ClusterUID = "lab", "uid-other" })}, false},
		"a cluster that may be another":          {[]Entry{on(EntryOutcome, func(e *Entry) { e.Cluster = "lab" })}, false},
		"the plug was pulled after it":           {[]Entry{intent("2", "n3", ActionOff), pulled}, true},
		"asked once more after it was seen off":  {[]Entry{on(EntryIntent, off), intent("3", "n3", ActionShutdown)}, false},
		"its own outcome says something else":    {[]Entry{on(EntryIntent, off), asked[1]}, false},
		"seen off, and then asked by an old one": {[]Entry{on(EntryOutcome, none), intent("3", "n3", ActionShutdown), on(EntryOutcome, none)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, testJournal(t, dir), append(asked[:2:2], c.entries...)...)
			j := testJournal(t, dir) // as the next start reads it
			left, err := j.LeftOff()
			if err != nil || len(left) != 1 || left[0].Until.IsZero() != c.want {
				t.Fatalf("left off: %+v, %v; over: want %v", left, err, c.want)
			}
			// It stays named until the machine is proven on.
			seen := Seen{Node: NodeRef{Name: "n3"}, Machine: left[0].Binding.On, RequestedAt: time.Now().Add(2 * time.Minute)}
			if _, err := j.SeenOn(seen); err != nil {
				t.Fatal(err)
			}
			if settled := len(leftOff(t, j)) == 0; settled != c.want {
				t.Errorf("settled by the machine being on: %v", settled)
			}
		})
	}
}

// What stands where the journal should be and is none is said.
func TestLightsoutReportsAFileThatIsNotAJournal(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"is a folder":         func(path string) error { return os.Mkdir(path, 0o700) },
		"is not a plain file": func(path string) error { return syscall.Mkfifo(path, 0o400) }, // which nobody writes to
		"not a plain file":    func(path string) error { return os.Symlink(os.DevNull, path) },
		"dangling link":       func(path string) error { return os.Symlink(path+".gone", path) },
		"behind a dangling link": func(path string) error {
			dir := filepath.Dir(path)
			return errors.Join(os.Remove(dir), os.Symlink(dir+".gone", dir))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			if err := errors.Join(os.Mkdir(dir, 0o700), put(filepath.Join(dir, JournalName))); err != nil {
				t.Fatal(err)
			}
			j := testJournal(t, dir)
			_, err := j.LeftOff()
			if err == nil || !strings.Contains(err.Error(), j.Path()) || !strings.Contains(err.Error(), name) || strings.Contains(name, "link") && j.Unwritable() == nil {
				t.Errorf("read: %v; written: %v", err, j.Unwritable())
			}
		})
	}
}

// A last line without its end is passed over only if a crash may have cut it off.
func TestOnlyATornLineIsPassedOver(t *testing.T) {
	dir := t.TempDir()
	write(t, testJournal(t, dir), intent("1", "n3", ActionShutdown))
	line, err := os.ReadFile(filepath.Join(dir, JournalName))
	if err != nil {
		t.Fatal(err)
	}
	nul := make([]byte, 1500)
	for name, c := range map[string]struct {
		text    []byte
		left    []string
		damaged int
	}{
		"the beginning of an entry":        {line[:40], nil, 0},
		"an entry without its end":         {bytes.TrimSpace(line), []string{"n3 uncertain"}, 0},
		"an entry but for its last letter": {line[:len(line)-2], nil, 0},
		"NUL bytes":                        {nul, nil, 1},
		"an entry, then NUL bytes":         {append(bytes.Clone(line), nul...), []string{"n3 uncertain"}, 1},
		"NUL bytes in a beginning":         {append(line[:40:40], nul...), nil, 1},
		"something else":                   {[]byte("not a journal"), nil, 1},
		"longer than any entry":            {append([]byte("{"), bytes.Repeat([]byte("x"), entryLimit)...), nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, JournalName), c.text, 0o600); err != nil {
				t.Fatal(err)
			}
			j := testJournal(t, dir)
			for range 2 { // it is taken in once
				lost, err := j.Damaged()
				if err != nil || len(lost) != c.damaged || !reflect.DeepEqual(leftOff(t, j), c.left) {
					t.Fatalf("left off %v, damaged %+v, %v", leftOff(t, j), lost, err)
				}
			}
			lost, _ := j.Damaged()
			if err := j.Acknowledge(lost, "looked at"); err != nil {
				t.Fatal(err)
			}
			write(t, j, intent("9", "n5", ActionShutdown))
			want := append(append([]string(nil), c.left...), "n5 uncertain")
			for _, j := range []*Journal{j, testJournal(t, dir)} {
				wasTorn := 0
				if c.damaged == 0 && c.left == nil {
					wasTorn = 1 // whose end was written for it
				}
				if lost, err := j.Damaged(); err != nil || len(lost) != wasTorn || !reflect.DeepEqual(leftOff(t, j), want) {
					t.Errorf("after it: left off %v, damaged %+v, %v", leftOff(t, j), lost, err)
				}
			}
		})
	}
}

// Containers have the boot ID of their host, which is the same after they were off.
func TestAMachineThatWasProvenOffIsSettledWhateverItsBootID(t *testing.T) {
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

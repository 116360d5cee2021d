package power

import (
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// syncTakes is a disk on which every line takes that long, in nanoseconds, to be durable.
type syncTakes struct {
	systemDisk
	takes *atomic.Int64
}

func (d syncTakes) Sync(f *os.File) error {
	time.Sleep(time.Duration(d.takes.Load()))
	return f.Sync()
}

// slowJournal is a journal on a disk that takes that long for each line.
func slowJournal(t *testing.T, each time.Duration) (j *Journal, takes *atomic.Int64) {
	j = OpenJournal(t.TempDir(), Cluster{Name: "c", UID: "u"}, "")
	disk := syncTakes{takes: &atomic.Int64{}}
	disk.takes.Store(int64(each))
	j.Disk = disk
	return j, disk.takes
}

// switchedOff is a program that has switched n1 off, and then a disk that takes time for each line.
func switchedOff(t *testing.T, p *program, takes time.Duration) *atomic.Int64 {
	t.Helper()
	if err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}}, &yes{p: p}); err != nil {
		t.Fatal(err)
	}
	disk := syncTakes{takes: &atomic.Int64{}}
	disk.takes.Store(int64(takes))
	p.journal.Disk = disk
	return disk.takes
}

// The disk of the journal is slow: lightsout reports what a power-on waits for.
func TestAWaitForTheJournalsDiskIsReported(t *testing.T) {
	inModel(t, func(t *testing.T, _ *model, p *program) {
		switchedOff(t, p, 6*time.Second)
		began, waited := time.Now(), time.Duration(0)
		err := p.switcher.Switch(t.Context(), Request{Action: ActionOn, Nodes: []string{"n1"}, Report: func(pr Progress) {
			if waited == 0 && strings.Contains(pr.Text, "waits for the disk of the journal") {
				waited = time.Since(began)
			}
		}}, &yes{p: p})
		if err != nil || waited == 0 || waited > 10*time.Second {
			t.Errorf("reported after %s: %v", waited, err)
		}
	})
}

// A disk that takes 3.5 s for each of two entries loses none when the journal is closed.
func TestCloseWaitsForASlowDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, _ := slowJournal(t, 3500*time.Millisecond)
		for _, n := range []string{"n1", "n2"} {
			go func() { _ = j.appendSoon(Entry{Kind: EntrySeen, Node: n}) }()
			time.Sleep(100 * time.Millisecond)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		if b, _ := os.ReadFile(j.Path()); strings.Count(string(b), "\n") != 2 {
			t.Errorf("the journal has %q", b)
		}
	})
}

// The disk of the journal hangs: lightsout powers the machine on all the same.
func TestAHungDiskKeepsNoMachineOff(t *testing.T) {
	inModel(t, func(t *testing.T, _ *model, p *program) {
		switchedOff(t, p, time.Hour)
		ended := make(chan error, 1)
		go func() {
			ended <- p.switcher.Switch(t.Context(), Request{Action: ActionOn, Nodes: []string{"n1"}}, &yes{p: p})
		}()
		time.Sleep(2 * time.Minute)
		p.w.mu.Lock()
		on := p.w.vms["n1"].on
		p.w.mu.Unlock()
		if !on {
			t.Error("n1 is off after two minutes")
		}
		<-ended
		time.Sleep(3 * time.Hour) // the disk answers
	})
}

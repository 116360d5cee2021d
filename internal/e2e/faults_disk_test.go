//go:build linux

package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"lightsout/internal/labtest"
	"lightsout/internal/record"
)

// onSmallDisk has the state on a file system of 1 MB.
func onSmallDisk(g *glass) {
	needsNamespaces(g.t)
	mount(g.t, "tmpfs", "tmpfs", g.state, "size=1m")
}

func mount(t *testing.T, source, fstype, at, data string) {
	t.Helper()
	if err := unix.Mount(source, at, fstype, 0, data); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// diskFull fills the disk that the state is on, and makes room again.
func diskFull(s *scene) {
	path := filepath.Join(s.state, "other people's")
	f, err := os.Create(path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, unix.ENOSPC) {
		s.t.Fatal(err)
	}
	for n := 2; !strings.Contains(s.screen(), "NOT RECORDED"); n = 32 - n { // what is told fits into a file's last page at first
		s.scale(n)
		s.sees("the change", isLive, s.probe(n))
	}
	s.scale(4)
	s.sees("that it is not recorded", `NOT RECORDED.*no space left`, `not recorded`, isLive, s.probe(4))
	if err := os.Remove(path); err != nil {
		s.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.sees("that it is recorded again", `record can be written`)
	s.recordHas("nothing is missing")
}

// onDiskThatFails has the state on a disk of its own.
func onDiskThatFails(g *glass) {
	needsNamespaces(g.t)
	image := filepath.Join(g.t.TempDir(), "disk")
	command(g.t, "truncate", "--size=16M", image)
	command(g.t, "mkfs.ext4", "-q", image)
	command(g.t, "mount", "-o", "loop", image, g.state)
	g.t.Cleanup(func() { command(g.t, "umount", "--lazy", g.state) })
}

func command(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%q: %v: %s", args, err, out)
	}
}

// readOnlyDisk has the disk give up in mid-session, as one with errors does: what
// is open for writing can't be written any more.
func readOnlyDisk(t *testing.T, l *labtest.Lab) {
	s := openSceneBehind(t, l, "fault-readonly", onDiskThatFails)
	s.scale(2)
	s.sees("the change", isLive, s.probe(2))
	open := s.descriptors()

	command(t, "mount", "-o", "remount,abort", s.state)
	s.scale(3)
	s.sees("that it is not recorded", `NOT RECORDED.*read-only file system`, `not recorded`, isLive, s.probe(3))
	const question, yes = "Shut down kube-node3?", "Shut down 1 node"
	s.switches("kube-node3", "s", question, yes)
	s.until("that nothing is switched", func() bool {
		v := s.screen()
		if strings.Contains(v, question) { // again: another test has a machine off meanwhile
			s.says(question, yes)
		}
		return regexp.MustCompile(`nothing was (sent|switched)`).MatchString(v)
	})
	s.scale(4)
	s.sees("that all else goes on", isLive, s.probe(4), `kube-node3\s+Ready[^\n│]*\son\s`)
	if off := l.Machines("off", "stopping"); slices.Contains(off, "kube-node3") {
		t.Errorf("off are %v", off)
	}
	if now := s.descriptors(); now > open+4+5 { // the power interfaces' idle ones
		t.Errorf("%d descriptors are open, %d before", now, open)
	}
	s.keys("q")
	if code := s.waitEnd(); code != exitFailed {
		t.Errorf("exit %d", code)
	}
	s.until("what is missing is said at the end", func() bool { return strings.Contains(s.screen(), "read-only file system") })
	if r := s.checkRecord(); len(r.Torn) > 0 {
		t.Errorf("the record is torn: %q", r.Torn)
	}
	s.recordHas("0/2")
	if strings.Contains(s.read(record.EventsFile), "0/4") {
		t.Error("a disk that can't be written was written")
	}
}

// slowDisk has each fsync of the program take a second, and for a while forever.
func slowDisk(t *testing.T, l *labtest.Lab, atRest int) {
	t.Helper()
	var syncs slowSyncs
	s := openSceneBehind(t, l, "fault-slow", syncs.prepare)
	s.survives(atRest, func(s *scene) {
		syncs.held.Lock()
		goOn := sync.OnceFunc(syncs.held.Unlock)
		defer goOn()
		ended := syncs.ended.Load()
		s.switches("kube-node4", "s", "Shut down kube-node4?", "Shut down 1 node")
		s.until("something is to be synced", func() bool { return syncs.begun.Load() > ended })
		s.scale(2)
		s.sees("that nothing waits for it", isLive, s.probe(2))
		if off := l.Machines("off", "stopping"); len(off) > 0 {
			t.Errorf("%v are off before that is in the journal", off)
		}
		goOn()
		s.sees("the machine off", `kube-node4\s+(?:Not)?Ready[^\n│]*\soff\s`)
		s.switches("kube-node4", "o", "Power on kube-node4?", "Power on 1 node")
		s.sees("the machine on", `kube-node4\s+Ready[^\n│]*\son\s`)
	})
	s.checkTold(false)
}

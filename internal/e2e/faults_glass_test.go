//go:build linux

package e2e

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"lightsout/internal/record"
)

// glass is the built program on an emulated terminal of its own, of which it is
// the session's leader, as behind `ssh -t host lightsout`.
type glass struct {
	t     *testing.T
	cmd   *exec.Cmd
	tty   *os.File // the terminal's side
	state string
	ended chan struct{} // closed when the program has ended

	mu sync.Mutex
	em *vt.Emulator
}

// openGlass starts the program with args and a state folder of its own.
func openGlass(t *testing.T, args ...string) *glass {
	t.Helper()
	g := &glass{t: t, state: t.TempDir(), em: vt.NewEmulator(120, 36), ended: make(chan struct{})}
	g.cmd = program(context.Background(), t, nil, append([]string{"--state", g.state}, args...)...)
	tty, err := pty.StartWithSize(g.cmd, &pty.Winsize{Cols: 120, Rows: 36})
	if err != nil {
		t.Fatal(err)
	}
	g.tty = tty
	var wg sync.WaitGroup
	wg.Go(func() {
		buf := make([]byte, 32<<10)
		for {
			n, err := tty.Read(buf)
			g.mu.Lock()
			_, _ = g.em.Write(buf[:n])
			g.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	wg.Go(func() { _, _ = io.Copy(tty, g.em) }) // a terminal answers what it is asked
	go func() { _ = g.cmd.Wait(); close(g.ended) }()
	t.Cleanup(func() {
		_ = g.cmd.Process.Kill()
		<-g.ended
		tty.Close()
		_ = g.em.InputPipe().(io.Closer).Close()
		wg.Wait()
	})
	return g
}

func (g *glass) screen() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.em.String()
}

// sees waits until every pattern is on the screen at once.
func (g *glass) sees(what string, patterns ...string) {
	g.t.Helper()
	deadline := time.Now().Add(90 * time.Second)
	for {
		s, missing := g.screen(), ""
		for _, p := range patterns {
			if !regexp.MustCompile(p).MatchString(s) {
				missing = p
			}
		}
		if missing == "" {
			return
		}
		select {
		case <-g.ended:
			g.t.Fatalf("the program has ended (%v) before: %s; the screen is\n%s", g.cmd.ProcessState, what, s)
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			g.t.Fatalf("never seen: %s (%s); the screen is\n%s", what, missing, s)
		}
	}
}

// until waits until ok.
func (g *glass) until(what string, ok func() bool) {
	g.t.Helper()
	for deadline := time.Now().Add(90 * time.Second); !ok(); time.Sleep(lookAtScreen) {
		if time.Now().After(deadline) {
			g.t.Fatalf("never: %s; the screen is\n%s", what, g.screen())
		}
	}
}

// descriptors is how many files and connections the program has open.
func (g *glass) descriptors() (n int) {
	g.t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", g.cmd.Process.Pid)
	all, err := os.ReadDir(dir)
	if err != nil {
		g.t.Fatal(err)
	}
	for _, fd := range all {
		to, _ := os.Readlink(filepath.Join(dir, fd.Name())) // it may be closed by now
		if !strings.Contains(to, "/"+outagesFolder+"/") {
			n++
		}
	}
	return n
}

// outagesFolder has the record of an outage that the screen noticed. Its files are open
// until all has been steady for 5 minutes.
const outagesFolder = "outages"

// folder is that of the session's record.
func (g *glass) folder() string {
	g.t.Helper()
	dirs, err := filepath.Glob(filepath.Join(g.state, "*", "sessions", "*"))
	if err != nil || len(dirs) != 1 {
		g.t.Fatalf("sessions: %v, %v", dirs, err)
	}
	return dirs[0]
}

func (g *glass) read(name string) string {
	g.t.Helper()
	b, err := os.ReadFile(filepath.Join(g.folder(), name))
	if err != nil {
		g.t.Fatal(err)
	}
	return string(b)
}

// autopsy ends the program by a signal that makes the Go runtime list all
// goroutines, and gives how many there were. The record must be readable.
func (g *glass) autopsy() int {
	g.t.Helper()
	if err := g.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		g.t.Fatal(err)
	}
	g.waitEnd()
	log := g.read("stderr.log")
	before, trace, ok := strings.Cut(log, "SIGQUIT: quit")
	if !ok || strings.Contains(before, "panic") {
		g.t.Errorf("the program's log is\n%.4000s", log)
	}
	g.checkRecord()
	return len(regexp.MustCompile(`(?m)^goroutine \d+ `).FindAllString(trace, -1))
}

func (g *glass) checkRecord() *record.Record {
	g.t.Helper()
	r, err := record.Open(g.folder())
	if err != nil {
		g.t.Fatal(err)
	}
	return r
}

// waitEnd waits until the program has ended, and gives its exit status.
func (g *glass) waitEnd() int {
	g.t.Helper()
	select {
	case <-g.ended:
	case <-time.After(time.Minute):
		g.t.Fatalf("the program does not end; the screen is\n%s", g.screen())
	}
	return g.cmd.ProcessState.ExitCode()
}

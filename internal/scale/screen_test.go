package scale

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"lightsout/internal/labtest"
)

const (
	width, height = 160, 45
	// cursorSign stands before the row that the cursor is on.
	cursorSign = "▌"
)

// screen is a terminal with the program in it.
type screen struct {
	b       *testing.B
	cmd     *exec.Cmd
	pty     *os.File
	started time.Time
	stirred chan struct{} // there is something new on it
	ended   chan struct{}

	mu    sync.Mutex
	em    *vt.Emulator
	bytes int64     // that have come
	at    time.Time // when the last ones came
}

// openScreen starts the program in a new terminal, with its files in a folder of its own.
func openScreen(b *testing.B, kubeconfig string, args ...string) *screen {
	home := b.TempDir()
	cmd := exec.Command(labtest.Program(b, "lightsout"), append(args, "--kubeconfig", kubeconfig, "--state", home)...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LC_ALL=C.UTF-8", "NO_COLOR=", "HOME="+home, "XDG_CONFIG_HOME="+home)
	s := &screen{b: b, cmd: cmd, stirred: make(chan struct{}, 1), ended: make(chan struct{}), em: vt.NewEmulator(width, height), started: time.Now()}
	var err error
	if s.pty, err = pty.StartWithSize(cmd, &pty.Winsize{Rows: height, Cols: width}); err != nil {
		b.Fatal(err)
	}
	go func() { _, _ = io.Copy(s.pty, s.em) }() // what a terminal answers
	go s.read()
	return s
}

func (s *screen) read() {
	defer close(s.ended)
	buf := make([]byte, 64<<10)
	for {
		n, err := s.pty.Read(buf)
		if err != nil {
			return
		}
		now := time.Now()
		s.mu.Lock()
		_, _ = s.em.Write(buf[:n])
		s.bytes += int64(n)
		s.at = now
		s.mu.Unlock()
		select {
		case s.stirred <- struct{}{}:
		default:
		}
	}
}

// lines is what is on the screen, and when the last of it came.
func (s *screen) lines() ([]string, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Split(s.em.String(), "\n"), s.at
}

func (s *screen) sent() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// wait waits until ok accepts what is on the screen, and gives when that came.
func (s *screen) wait(what string, within time.Duration, ok func(lines []string) bool) time.Time {
	s.b.Helper()
	limit := time.NewTimer(within)
	defer limit.Stop()
	for {
		lines, at := s.lines()
		if ok(lines) {
			return at
		}
		select {
		case <-s.stirred:
		case <-s.ended:
			s.b.Fatalf("the program ended while waiting for %s; on its screen: %s", what, strings.Join(lines, "\n"))
		case <-limit.C:
			s.b.Fatalf("not on the screen within %s: %s; there is:\n%s", within, what, strings.Join(lines, "\n"))
		}
	}
}

func (s *screen) waitText(text string, within time.Duration) time.Time {
	s.b.Helper()
	return s.wait(text, within, func(lines []string) bool { return contains(lines, text) >= 0 })
}

func contains(lines []string, text string) int {
	for i, l := range lines {
		if strings.Contains(l, text) {
			return i
		}
	}
	return -1
}

func (s *screen) keys(keys string) {
	if _, err := io.WriteString(s.pty, keys); err != nil {
		s.b.Fatal(err)
	}
}

func (s *screen) vitals() vitals { return vitalsOf(s.b, s.cmd.Process.Pid) }

// cursorRow is the text of the row that the cursor is on.
func cursorRow(lines []string) string {
	if i := contains(lines, cursorSign); i >= 0 {
		return lines[i]
	}
	return ""
}

func (s *screen) close() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	waited := make(chan struct{})
	go func() { _ = s.cmd.Wait(); close(waited) }()
	select {
	case <-waited:
	case <-time.After(10 * time.Second):
		_ = s.cmd.Process.Kill()
		<-waited
	}
	s.pty.Close()
	<-s.ended
	_ = s.em.Close()
}

//go:build linux

package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lightsout/internal/labtest"
	"lightsout/internal/record"
)

// programFaults are those of the terminal, the disk and the machine that the
// program runs on. Each ends with all as it was.
var programFaults = []struct {
	name string
	make func(s *scene)
}{
	{"SIGSTOP and SIGCONT", func(s *scene) {
		for n := range 2 {
			s.signal(syscall.SIGSTOP)
			s.garble()
			s.scale(2 + n%2)
			s.signal(syscall.SIGCONT)
			s.sees("the screen again", isLive, s.probe(2+n%2), `q quit`)
			s.isRaw()
		}
		s.scale(2)
	}},
	{"files not allowed to grow for a while", func(s *scene) {
		s.limit(unix.RLIMIT_FSIZE, 1)
		s.scale(2)
		s.sees("that it is not recorded", `NOT RECORDED`, `not recorded`, isLive, s.probe(2))
		s.limit(unix.RLIMIT_FSIZE, unix.RLIM_INFINITY)
		s.sees("that it is recorded again", `record can be written`)
		if events := s.read(record.EventsFile); !strings.Contains(events, "nothing is missing") {
			s.t.Errorf("the record does not say that it is whole:\n%s", events)
		}
	}},
}

// survives checks that the program survives what befalls it, and is right
// afterwards.
func (s *scene) survives(atRest int, make func(*scene)) {
	s.t.Helper()
	open := s.descriptors()
	make(s)
	s.scale(3)
	s.sees("all as it is", isLive, s.probe(3))
	if v := s.screen(); strings.Contains(v, isStale) {
		s.t.Errorf("it is stale:\n%s", v)
	}
	if now := s.descriptors(); now > open+4 {
		s.t.Errorf("%d descriptors are open, %d before", now, open)
	}
	few := 20
	if s.door != nil {
		few += 35 // what each connection through it needs: two to the API server, and up to 5 idle ones of power interfaces, for a minute
	}
	if n := s.autopsy(); n > atRest+few {
		s.t.Errorf("%d goroutines, %d at rest", n, atRest)
	}
}

func (s *scene) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// limit sets a limit of the program's; not above its own highest.
func (s *scene) limit(resource int, most uint64) {
	s.t.Helper()
	var l unix.Rlimit
	err := unix.Prlimit(s.cmd.Process.Pid, resource, nil, &l)
	l.Cur = min(most, l.Max)
	if err = errors.Join(err, unix.Prlimit(s.cmd.Process.Pid, resource, &l, nil)); err != nil {
		s.t.Fatal(err)
	}
}

// garble does to the terminal what a shell does to that of a stopped program.
func (s *scene) garble() {
	s.t.Helper()
	fd := int(s.tty.Fd())
	m, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		s.t.Fatal(err)
	}
	m.Lflag |= unix.ICANON | unix.ECHO | unix.ISIG
	m.Iflag |= unix.ICRNL
	m.Oflag |= unix.OPOST
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, m); err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.em.WriteString("\x1b[2J\x1b[H\x1b[?25h[1]+  Stopped   lightsout\r\n$ fg\r\n")
}

// isRaw checks that keys are not waited for by the line.
func (s *scene) isRaw() {
	s.t.Helper()
	m, err := unix.IoctlGetTermios(int(s.tty.Fd()), unix.TCGETS)
	if err != nil || m.Lflag&unix.ICANON != 0 {
		s.t.Errorf("the terminal is not raw: %v", err)
	}
}

// suspended stops the program by the key, which gives the terminal back first, and
// by the signal, in a shell that continues it.
func suspended(t *testing.T, l *labtest.Lab) {
	s := newScene(t, l, "fault-suspended")
	s.front = newFront(t, s.api)
	dir := t.TempDir()
	config, script := write(t, "lightsout.yaml", "namespaces: ["+s.name+"]\nstate: "+dir+"\n"), filepath.Join(dir, "run")
	if err := os.WriteFile(script, []byte("echo $$ >"+dir+"/pid; exec "+labtest.Program(t, "lightsout")+" --config "+config+" --kubeconfig "+s.front.kubeconfig()), 0o600); err != nil {
		t.Fatal(err)
	}
	x := openTerminal(t, 120, 36, nil, "exec bash --norc --noprofile")
	line := func(text string) {
		x.keys("-l", text)
		x.keys("Enter")
	}
	line("sh " + script)
	x.waitFor("the cluster", time.Minute, isLive, s.probe(1))
	for n, stop := range []func(){
		func() { x.keys("C-z") },
		func() { _ = process(t, dir+"/pid").Signal(syscall.SIGTSTP) },
	} {
		stop()
		x.waitFor("the shell", time.Minute, `Stopped`)
		if n == 0 {
			x.checkTerminal()
		}
		s.scale(n + 2)
		x.keys("C-u") // the terminal's last answer to the program
		line("fg")
		x.waitFor("the screen again", time.Minute, isLive, s.probe(n+2), `q quit`)
	}
	x.keys("q")
	x.waitFor("the shell again", time.Minute, `session's record|\$ $`)
	x.checkTerminal()
	s.glass.state = dir
	if r := s.checkRecord(); len(r.Torn) > 0 {
		t.Errorf("the record is torn: %q", r.Torn)
	}
	s.recordHas("0/3")
}

// stoppedForReal stops the lab's own API server and its etcd, and kills them.
func stoppedForReal(t *testing.T, l *labtest.Lab, s *scene) {
	t.Helper()
	n := 1
	for _, how := range []struct{ component, make, mend, says string }{
		{"kube-apiserver", "stop", "cont", `STALE \d+s.*does not answer`},
		{"etcd", "stop", "cont", `STALE \d+s`},
		{"etcd", "kill", "start", `STALE \d+s`},
		{"kube-apiserver", "kill", "start", `STALE \d+s`},
	} {
		l.Post("/components/" + how.component + "/" + how.make)
		s.sees(how.component+" gone", how.says, s.probe(n))
		s.sees("still what was known", isStale, s.probe(n))
		l.Post("/components/" + how.component + "/" + how.mend)
		s.sees("live again", isLive, s.probe(n))
		n++
		s.scale(n)
		s.sees("the change", isLive, s.probe(n))
	}
}

// ends are what ends the program: in order, with its record closed.
var ends = []struct {
	name string
	make func(s *scene)
}{
	{"SIGTERM", func(s *scene) { s.signal(syscall.SIGTERM) }},
	{"the terminal closed", func(s *scene) { s.tty.Close() }},
}

// endsInOrder checks that the program ends in order.
func (s *scene) endsInOrder() {
	s.t.Helper()
	s.waitEnd()
	if !s.cmd.ProcessState.Exited() {
		s.t.Errorf("it ends with %v", s.cmd.ProcessState)
	}
	if log := s.read("stderr.log"); regexp.MustCompile(`panic|goroutine \d`).MatchString(log) {
		s.t.Errorf("its log is\n%s", log)
	}
	if r := s.checkRecord(); len(r.Torn) > 0 {
		s.t.Errorf("the record is torn: %q", r.Torn)
	}
}

// recordHas checks that the record's timeline has a text.
func (s *scene) recordHas(text string) {
	s.t.Helper()
	if events := s.read(record.EventsFile); !strings.Contains(events, text) {
		s.t.Errorf("the record lacks %q:\n%s", text, events)
	}
}

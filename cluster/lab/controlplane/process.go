package controlplane

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// The states of a component's process.
const (
	Running = "running"
	Stopped = "stopped" // by SIGSTOP: it holds its connections and answers nothing
	Ended   = "ended"
)

// process is one component: the child process that runs it now, if any.
type process struct {
	name    string
	args    []string
	command func() (*exec.Cmd, *os.File, error) // prepared, with its log
	spawn   func(func())                        // runs a start on the thread that children belong to

	mu    sync.Mutex
	cmd   *exec.Cmd
	state string
	ended chan struct{} // closed when cmd has ended and was waited for
}

func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == Running || p.state == Stopped {
		return fmt.Errorf("%s runs already", p.name)
	}
	cmd, log, err := p.command()
	if err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	defer log.Close()
	p.spawn(func() { err = cmd.Start() })
	if err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	ended := make(chan struct{})
	p.cmd, p.state, p.ended = cmd, Running, ended
	go func() {
		cmd.Wait()
		p.mu.Lock()
		p.state = Ended
		p.mu.Unlock()
		close(ended)
	}()
	return nil
}

// signal sends sig to the component's process group and notes the state that
// it leads to.
func (p *process) signal(sig syscall.Signal, state string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != Running && p.state != Stopped {
		return fmt.Errorf("%s is not running", p.name)
	}
	if err := syscall.Kill(-p.cmd.Process.Pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %s: %w", p.name, err)
	}
	if state != "" {
		p.state = state
	}
	return nil
}

// kill ends the process and returns when it is gone.
func (p *process) kill() error {
	err := p.signal(syscall.SIGKILL, "")
	p.mu.Lock()
	ended := p.ended
	p.mu.Unlock()
	if ended != nil {
		<-ended
	}
	return err
}

func (p *process) status() (state string, pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil && p.state != Ended {
		pid = p.cmd.Process.Pid
	}
	return p.state, pid
}

// spawner starts all child processes on one operating system thread that
// lives until close: the parent-death signal of Linux is sent when the thread
// that made the child ends, not when the process does.
type spawner struct {
	work chan func()
	done chan struct{}
}

func newSpawner() *spawner {
	s := &spawner{work: make(chan func()), done: make(chan struct{})}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends here
		defer close(s.done)
		for f := range s.work {
			f()
		}
	}()
	return s
}

func (s *spawner) run(f func()) {
	ready := make(chan struct{})
	s.work <- func() { defer close(ready); f() }
	<-ready
}

func (s *spawner) close() {
	close(s.work)
	<-s.done
}

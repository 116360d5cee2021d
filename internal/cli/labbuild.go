package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"lightsout/internal/record/replay"
	"lightsout/internal/terminal"
	"lightsout/tui"
)

// labBuild follows the build of the lab by a command that prints "packages: N" and then
// names each package, as `go build -v` does.
type labBuild struct {
	cmd  *exec.Cmd
	over context.Context // ends with it
	err  error           // why it failed; to be read when over has ended

	mu        sync.Mutex
	built, of int
}

// startLabBuild starts the command, which sh understands.
func startLabBuild(command string) (*labBuild, error) {
	b := &labBuild{cmd: exec.Command("sh", "-c", command)}
	// It is ended with all that it has started, and not by the terminal's Ctrl-C.
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	b.cmd.Stderr = b.cmd.Stdout
	if err := b.cmd.Start(); err != nil {
		return nil, fmt.Errorf("the lab can't be built: %w", err)
	}
	over, end := context.WithCancel(context.Background())
	b.over = over
	go func() {
		defer end()
		var said tail
		for lines := bufio.NewScanner(out); lines.Scan(); {
			b.line(lines.Text(), &said)
		}
		if err := b.cmd.Wait(); err != nil {
			b.err = fmt.Errorf("the lab can't be built (%w):\n%s", err, strings.TrimSpace(string(said.b)))
		}
	}()
	return b, nil
}

// line handles one line of the command; it keeps lines that are not progress.
func (b *labBuild) line(text string, said *tail) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	switch _, err := fmt.Sscanf(text, "packages: %d", &n); {
	case err == nil:
		b.of = n
	case b.of > 0 && text != "" && !strings.ContainsAny(text, " :#\t"):
		b.built++
	default:
		fmt.Fprintln(said, text)
	}
}

// progress describes the progress in a sentence.
func (b *labBuild) progress() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.of == 0:
		return "building the lab: listing its packages"
	case b.built >= b.of:
		return fmt.Sprintf("building the lab: linking %d packages", b.of)
	}
	return fmt.Sprintf("building the lab: %d of %d packages", b.built, b.of)
}

// stop ends the build, if it has not ended.
func (b *labBuild) stop() {
	if b.over.Err() == nil {
		_ = syscall.Kill(-b.cmd.Process.Pid, syscall.SIGTERM)
		<-b.over.Done()
	}
}

// errLeft: the operator left before there was a lab.
var errLeft = errors.New("the build of the lab was interrupted; the next build continues it")

// replayRest is how long the record's end stays before it begins again.
const replayRest = 8 * time.Second

// buildLab builds the lab. Meanwhile the screen plays the record of the scenario
// that comes with the program.
func buildLab(ctx context.Context, o options, command, scenario string) error {
	b, err := startLabBuild(command)
	if err != nil {
		return err
	}
	defer b.stop()
	if o.drawn() {
		r, err := openRecord(scenario)
		if err != nil {
			return err
		}
		o.cast = castFlags{redact: o.cast.redact}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(b.over, cancel)()
		if err = playRecord(ctx, o, r, replay.Options{Again: replayRest}, b.tell); b.over.Err() == nil {
			return errors.Join(err, errLeft)
		}
		return errors.Join(err, b.err)
	}
	for {
		fmt.Fprintln(os.Stderr, b.progress())
		select {
		case <-b.over.Done():
			return b.err
		case <-ctx.Done():
			return errLeft
		case <-time.After(doingEvery):
		}
	}
}

// tell prints the progress of the build.
func (b *labBuild) tell(ctx context.Context, s terminal.Beside) {
	for said := ""; ctx.Err() == nil; {
		if text := "This is the record of such an experiment; " + b.progress() + " (q leaves)"; text != said {
			said = text
			s.Send(tui.CaptionMsg(text))
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

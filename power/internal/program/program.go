// Package program runs the programs that drivers work by: a fence agent, the
// vagrant command, the operator's own.
//
// Each runs in a session of its own, without a terminal that it could ask for a
// password, and with an empty standard input unless one is given. When its time
// is up, it and all that it has started are ended.
package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"lightsout/power"
	"lightsout/power/internal/secret"
)

const (
	// outputLimit is how many bytes of each output are kept.
	outputLimit = 1 << 20
	// grace is how long a program may take to end after SIGTERM before lightsout kills
	// it, and how long lightsout waits for its output after its end.
	grace = 2 * time.Second
)

// Program is a program to run.
type Program struct {
	// Argv is the program and its arguments, never empty. A name without a slash
	// is looked for in PATH. Secrets must not be in it: others see it.
	Argv []string
	// Dir is where it runs; empty is here.
	Dir string
	// Env is added to this program's own environment.
	Env []string
	// Stdin is what it can read.
	Stdin string
	// Secrets are hidden in its output.
	Secrets []string
	// Advice is what an error ends with when it can't be started.
	Advice string
}

// Found returns an error, which names the field of the configuration that has it, if a program is not
// there to be run.
func Found(name, field string) error {
	if _, err := exec.LookPath(name); err != nil {
		return &power.RefusedError{Why: fmt.Sprintf("%s can't be run: %s; install it, or correct %s", secret.Say(name), power.Why(errors.Unwrap(err)), field)}
	}
	return nil
}

// Result is how a program ended.
type Result struct {
	// Status is its exit status, -1 when a signal ended it.
	Status int
	// Signal names that signal, or is empty.
	Signal string
	// Stdout and Stderr are the first MiB of each, without the secrets, and not
	// made harmless yet.
	Stdout, Stderr string
}

// Said returns the program's message in one safe line of at most 300 characters: its
// standard error, or its standard output if that is empty.
func (r Result) Said() string { return cmp.Or(secret.Say(r.Stderr), secret.Say(r.Stdout)) }

// How describes how the program ended and what it printed.
func (r Result) How() string {
	how := fmt.Sprintf("ended with status %d", r.Status)
	if r.Signal != "" {
		how = "was ended by a signal (" + r.Signal + ")"
	}
	if said := r.Said(); said != "" {
		return how + " and printed: " + said
	}
	return how + " and printed nothing"
}

// notStarted returns the error of a program that could not start: it did nothing.
func (p Program) notStarted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &power.NotSentError{Err: fmt.Errorf("%s was not run: %w", secret.Say(p.Argv[0]), ctx.Err())}
	}
	return &power.NotSentError{Err: &power.RefusedError{Why: fmt.Sprintf("%s can't be run: %s%s", secret.Say(p.Argv[0]), secret.Say(err.Error()), p.Advice)}}
}

// stopped returns the error of a program that lightsout ended because its context had
// ended: its effect is unknown.
func (p Program) stopped(ctx context.Context, r Result) error {
	text := secret.Say(p.Argv[0]) + " was stopped: lightsout stopped waiting"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		text = secret.Say(p.Argv[0]) + " was stopped: it did not end in time"
	}
	if said := secret.Say(r.Said(), p.Secrets...); said != "" {
		text += "; it had printed: " + said
	}
	return &power.SilentError{Text: text, Err: ctx.Err()}
}

// Run runs the program to its end, and returns how it ended, whatever its status. The
// error is a *power.RefusedError if the program cannot start, or a *power.SilentError
// if ctx ends first; all processes of its group are gone when Run returns.
func Run(ctx context.Context, p Program) (Result, error) {
	if ctx.Err() != nil {
		return Result{}, p.notStarted(ctx, nil)
	}
	stdout, stderr := Output{Limit: outputLimit}, Output{Limit: outputLimit}
	cmd := exec.CommandContext(ctx, p.Argv[0], p.Argv[1:]...)
	cmd.Dir = p.Dir
	cmd.Env = append(os.Environ(), p.Env...)
	cmd.Stdin = strings.NewReader(p.Stdin)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = grace
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // and a process group of its own
	end := func(sig syscall.Signal) error { return syscall.Kill(-cmd.Process.Pid, sig) }
	cmd.Cancel = func() error { return end(syscall.SIGTERM) }
	if err := power.BeforeSend(ctx); err != nil {
		return Result{}, err
	}
	if err := cmd.Start(); err != nil {
		return Result{}, p.notStarted(ctx, err)
	}
	err := cmd.Wait()
	result := Result{
		Status: cmd.ProcessState.ExitCode(),
		Stdout: secret.Hide(stdout.String(), p.Secrets...), Stderr: secret.Hide(stderr.String(), p.Secrets...),
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		result.Signal = ws.Signal().String()
	}
	// A status of its own stands, even if the time ran out meanwhile.
	if ctx.Err() != nil && (result.Signal != "" || err != nil && errors.Is(err, ctx.Err())) {
		_ = end(syscall.SIGKILL)
		return result, p.stopped(ctx, result)
	}
	return result, nil
}

// OK reports whether it ended well.
func (r Result) OK() bool { return r.Status == 0 && r.Signal == "" }

// Switched converts the end of a program that switches a machine into a driver's
// result: a failed program may still have done its work, or half of it, and only a poll
// can tell. what names the program: "the command to …".
func Switched(r Result, err error, what string) error {
	var stopped *power.SilentError
	switch {
	case errors.As(err, &stopped):
		return &power.UnconfirmedError{Why: stopped.Text}
	case err != nil || r.OK():
		return err
	}
	return &power.UnconfirmedError{Why: what + " " + r.How()}
}

// Output keeps the first Limit bytes of a program's output, and discards the rest. It
// is safe for concurrent use.
type Output struct {
	Limit int

	mu   sync.Mutex
	kept []byte
}

// Write never fails.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kept = append(o.kept, p[:min(o.Limit-len(o.kept), len(p))]...)
	return len(p), nil
}

// String returns the kept bytes.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.kept)
}

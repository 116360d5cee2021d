// Package program runs the programs that drivers work by: a fence agent, the
// vagrant command, the operator's own.
//
// Each runs in a session of its own, without a terminal that it could ask for a
// password, and with an empty standard input unless one is given. When its time
// is up, it and all that it has started are ended.
package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"lightsout/power"
	"lightsout/power/internal/secret"
)

const (
	// outputLimit is how many bytes of each output are kept.
	outputLimit = 1 << 20
	// grace is how long a program that was told to end (SIGTERM) may take
	// before it is killed, and how long its output is waited for after its end.
	grace = 2 * time.Second
)

// Program is what is to be run.
type Program struct {
	// Argv is the program and its arguments. A name without a slash is looked
	// for in PATH. Secrets must not be in it: others see it.
	Argv []string
	// Dir is where it runs; empty is here.
	Dir string
	// Env is added to this program's own environment.
	Env []string
	// Stdin is what it can read.
	Stdin string
	// Secrets are hidden in its output.
	Secrets []string
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

// Said is what the program said for people, in one harmless line of at most 300
// characters: its standard error, or its standard output when that is empty.
func (r Result) Said() string {
	if s := secret.Say(r.Stderr); s != "" {
		return s
	}
	return secret.Say(r.Stdout)
}

// How says how it ended and what it said.
func (r Result) How() string {
	how := fmt.Sprintf("ended with status %d", r.Status)
	if r.Signal != "" {
		how = "was ended by a signal (" + r.Signal + ")"
	}
	if said := r.Said(); said != "" {
		return how + " and said: " + said
	}
	return how + " and said nothing"
}

// NotStartedError says that a program could not be started: it did nothing.
type NotStartedError struct {
	Program string
	Err     error
}

// Error names the program and the reason.
func (e *NotStartedError) Error() string {
	return fmt.Sprintf("%s can't be run: %s", secret.Say(e.Program), secret.Say(e.Err.Error()))
}

// Unwrap gives the reason.
func (e *NotStartedError) Unwrap() error { return e.Err }

// StoppedError says that a program was ended because its context had: what it
// has done by then is not known.
type StoppedError struct {
	Program string
	Err     error // the context's
	// Said is what it had said, harmless and cut.
	Said string
}

// Error names the program and the reason.
func (e *StoppedError) Error() string {
	why := "it was given up"
	if errors.Is(e.Err, context.DeadlineExceeded) {
		why = "it did not end in time"
	}
	text := secret.Say(e.Program) + " was stopped: " + why
	if e.Said != "" {
		text += "; it had said: " + e.Said
	}
	return text
}

// Unwrap gives the context's error.
func (e *StoppedError) Unwrap() error { return e.Err }

// Run runs the program to its end and says how it ended, whatever its status
// is. The error is a *NotStartedError, or a *StoppedError when ctx ended first;
// then all processes of its group are gone when Run returns.
func Run(ctx context.Context, p Program) (Result, error) {
	if len(p.Argv) == 0 || p.Argv[0] == "" {
		return Result{}, &NotStartedError{Program: "an empty command", Err: errors.New("there is nothing to run")}
	}
	name := p.Argv[0]
	if err := ctx.Err(); err != nil {
		return Result{}, &NotStartedError{Program: name, Err: err}
	}
	var stdout, stderr bounded
	cmd := exec.CommandContext(ctx, p.Argv[0], p.Argv[1:]...)
	cmd.Dir = p.Dir
	cmd.Env = append(os.Environ(), p.Env...)
	cmd.Stdin = strings.NewReader(p.Stdin)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = grace
	ownGroup(cmd)
	cmd.Cancel = func() error { return signalGroup(cmd, false) }
	if err := cmd.Start(); err != nil {
		return Result{}, &NotStartedError{Program: name, Err: err}
	}
	err := cmd.Wait()
	result := Result{
		Status: cmd.ProcessState.ExitCode(), Signal: signalName(cmd.ProcessState),
		Stdout: secret.Hide(stdout.String(), p.Secrets...), Stderr: secret.Hide(stderr.String(), p.Secrets...),
	}
	// A status of its own stands, even if the time ran out meanwhile.
	if ctx.Err() != nil && (result.Signal != "" || err != nil && errors.Is(err, ctx.Err())) {
		_ = signalGroup(cmd, true)
		return result, &StoppedError{Program: name, Err: ctx.Err(), Said: secret.Say(result.Said(), p.Secrets...)}
	}
	return result, nil
}

// RunDriver is Run for a driver: a program that can't be run is a
// *power.RefusedError, which ends with advice.
func RunDriver(ctx context.Context, p Program, advice string) (Result, error) {
	r, err := Run(ctx, p)
	var not *NotStartedError
	if errors.As(err, &not) && ctx.Err() == nil {
		err = &power.RefusedError{Why: not.Error() + advice}
	}
	return r, err
}

// OK reports whether it ended well.
func (r Result) OK() bool { return r.Status == 0 && r.Signal == "" }

// Switched makes of how a program ended that was to switch a machine what a
// driver says of it: one that failed may have done its work all the same, or
// half of it, and nothing but a look can tell. what is "the command to …".
func Switched(r Result, err error, what string) error {
	var stopped *StoppedError
	switch {
	case errors.As(err, &stopped):
		return &power.UnconfirmedError{Why: stopped.Error()}
	case err != nil || r.OK():
		return err
	}
	return &power.UnconfirmedError{Why: what + " " + r.How()}
}

// Unanswered makes of a program that was stopped before it told a state a
// reading that says so. Other errors are handed on.
func Unanswered(err error) (power.Reading, error) {
	var stopped *StoppedError
	if errors.As(err, &stopped) {
		return power.Reading{Detail: power.Clean(stopped.Error()), At: time.Now(), NoAnswer: true}, nil
	}
	return power.Reading{}, err
}

// bounded keeps the first outputLimit bytes and takes the rest without a word.
type bounded struct{ strings.Builder }

func (b *bounded) Write(p []byte) (int, error) {
	if room := outputLimit - b.Len(); room > 0 {
		b.Builder.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

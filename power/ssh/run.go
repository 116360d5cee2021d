package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	cryptossh "golang.org/x/crypto/ssh"

	"lightsout/power"
	"lightsout/power/internal/program"
)

// outcome is the known result of a command that was started on a host. A machine that
// goes down takes the command's status with it in several ways.
type outcome int

// Outcomes.
const (
	// succeeded: it ended with status 0.
	succeeded outcome = iota
	// vanished: it was started, and the channel or the whole connection ended
	// without a status (ssh.ExitMissingError), or it ended by a signal, or with the status of
	// one (128+n, or 255 without a message): usual for a shutdown.
	vanished
	// failed: it ended with another status; Stderr has the reason.
	failed
	// uncertain: the connection was lost, or waiting ended, during its start: lightsout
	// cannot tell whether it ran. Poll; never send it again without that.
	uncertain
)

// result is a command's outcome.
type result struct {
	Outcome outcome
	// Status is the exit status of succeeded, failed and some of vanished.
	Status int
	// Stdout and Stderr hold the first 16 KiB of each, as they came: use
	// power.Clean before showing them.
	Stdout, Stderr string
	// Why is a sentence for uncertain, and for vanished without a status.
	Why string

	// sent is when the command was sent, took how long it was until it ended.
	sent time.Time
	took time.Duration
}

// outputLimit is how much of a command's output is kept.
const outputLimit = 16 << 10

// job is a command to be run.
type job struct {
	command string
	stdin   string
	// limit bounds it, counted from the login; zero: only the context does.
	limit time.Duration
	// probe is a command that changes nothing and shows whether this one would run. It goes
	// first, on the same connection; nil: none.
	probe *job
	// judge returns, for a probe, why the other command must not be sent.
	judge func(result) error
}

// The lines that stand around the output of a command: what the login shell prints beside
// it (.bashrc, a message of the day) does not matter.
const beginMark, endMark = "lightsout-begin", "lightsout-end"

// marked returns a command line whose output output finds. It suits every login shell.
func marked(command string) string {
	return "echo " + beginMark + "; " + command + " && echo " + endMark
}

// output returns what a marked command printed: all of it from a host that printed no marks.
func output(r result) string {
	_, after, found := strings.Cut(r.Stdout, beginMark+"\n")
	if !found {
		return r.Stdout
	}
	inside, _, _ := strings.Cut(after, endMark)
	return inside
}

// run runs a command on a host ("alias" or "[user@]host[:port]") over a connection of
// its own through the bastion.
// An error means that the command was certainly not started (a *ConnectError, or the
// server's refusal); in every other case the result holds the known part. Waiting ends
// with ctx.
func (c *Client) run(ctx context.Context, host string, j job) (result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(c.ctx, func() { cancel(errClosed) })
	defer stop()

	h, via, err := c.node(host)
	if err != nil {
		return result{}, err
	}
	client, err := c.connect(ctx, h, via)
	if err != nil {
		return result{}, err
	}
	defer client.Close()
	if j.limit > 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, j.limit)
		defer end()
	}
	if j.probe != nil {
		// Its own sending needs no permission.
		r, err := runOn(power.Permit(ctx, context.Context.Err), client, h.String(), *j.probe)
		if err == nil {
			err = j.probe.judge(r)
		}
		if err != nil {
			return result{}, err
		}
	}
	return runOn(ctx, client, h.String(), j)
}

// runOnBastion runs a command on the bastion, over the connection that is
// there, one at a time: a server may allow a single session on a connection.
// It is like Run otherwise.
func (c *Client) runOnBastion(ctx context.Context, command string) (result, error) {
	if c.bastion == nil {
		return result{}, errors.New("there is no bastion")
	}
	client, err := c.bastion.get(ctx)
	if err != nil {
		return result{}, err
	}
	if c.bastion.session.Acquire(ctx, 1) != nil {
		return result{}, fmt.Errorf("%s was busy with another command all the time, so nothing was sent: %w", c.bastion.host, context.Cause(ctx))
	}
	defer c.bastion.session.Release(1)
	return runOn(ctx, client, c.bastion.host.String(), job{command: command})
}

// sessionPatience is how long the client asks again for a session that the host
// refuses.
const sessionPatience = 2 * time.Second

// await returns what f returns, or the end of ctx if that comes first; f goes on then.
func await(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// runOn runs a command over an open connection.
func runOn(ctx context.Context, client *cryptossh.Client, name string, j job) (result, error) {
	var session *cryptossh.Session
	err := await(ctx, func() (err error) {
		session, err = openSession(ctx, client)
		return err
	})
	if err != nil {
		return result{}, fmt.Errorf("%s accepted the login but opened no session, so nothing was sent: %s", name, power.Why(err))
	}
	defer session.Close()
	if err := power.BeforeSend(ctx); err != nil {
		return result{}, err
	}
	stdout, stderr := program.Output{Limit: outputLimit}, program.Output{Limit: outputLimit}
	session.Stdout, session.Stderr = &stdout, &stderr
	stdin, err := session.StdinPipe()
	if err != nil {
		return result{}, err
	}
	sent := time.Now()
	err = await(ctx, func() error { return session.Start(j.command) })
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return result{Outcome: uncertain, Why: "waiting ended before " + name + " reported whether it started the command"}, nil
	case isLost(err):
		return result{Outcome: uncertain, Why: "the connection to " + name + " was lost while the command was being started"}, nil
	default:
		return result{}, &power.NotSentError{Err: fmt.Errorf("%s refused to start the command: %s", name, power.Clean(err.Error()))}
	}
	err = await(ctx, func() error {
		_, _ = io.WriteString(stdin, j.stdin) // a command may end without reading it
		_ = stdin.Close()
		return session.Wait()
	})
	r := result{sent: sent, took: time.Since(sent), Stdout: stdout.String(), Stderr: stderr.String()}
	if err != nil && ctx.Err() != nil {
		r.Outcome, r.Why = uncertain, "waiting ended while "+name+" was running the command"
		return r, nil
	}
	r.judge(name, err)
	return r, nil
}

// openSession opens a session. A server that allows a single session takes a moment to see
// that the last one has ended.
func openSession(ctx context.Context, client *cryptossh.Client) (*cryptossh.Session, error) {
	end := time.Now().Add(sessionPatience)
	session, err := client.NewSession()
	for err != nil && !isLost(err) && ctx.Err() == nil && time.Now().Before(end) {
		time.Sleep(sessionPatience / 40)
		session, err = client.NewSession()
	}
	if err == nil && ctx.Err() != nil { // nobody waits for it
		session.Close()
		return nil, ctx.Err()
	}
	return session, err
}

// judge sets the outcome by the result of Session.Wait.
func (r *result) judge(name string, err error) {
	var exit *cryptossh.ExitError
	switch {
	case err == nil:
		r.Outcome = succeeded
	case !errors.As(err, &exit):
		r.Outcome, r.Why = vanished, name+" ended the session without a status"
	default:
		r.Status = exit.ExitStatus()
		r.Outcome = failed
		if exit.Signal() != "" || (r.Status > 128 && r.Status < 160) ||
			(r.Status == 255 && strings.TrimSpace(r.Stderr) == "") {
			r.Outcome = vanished
		}
	}
}

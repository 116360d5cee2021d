package reporting

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"lightsout/internal/recorder"
	"lightsout/internal/text"
)

// Format is the format of a webhook's body.
type Format string

// Formats of a webhook.
const (
	FormatSlack        Format = "slack"
	FormatAlertmanager Format = "alertmanager"
)

const (
	// hookTries is how often a hook is tried for one notice, each time for at most
	// hookWithin, with a pause that doubles from hookPause.
	hookTries  = 5
	hookWithin = 10 * time.Second
	hookPause  = time.Second
	// hookQueue bounds the notices that wait for a hook.
	hookQueue = 32
)

// Hooks report outages to a command and to a webhook. Each has a goroutine of its own.
type Hooks struct {
	// Command is a program with its arguments, which lightsout runs without a shell;
	// empty: none.
	Command []string
	// URL reads the webhook's address each time; nil: none.
	URL    func() (string, error)
	Format Format
	// Fail receives a sentence on a notice that was given up. It contains no address.
	Fail func(what string)

	queues  []chan recorder.Notice
	running sync.WaitGroup
}

// Start starts the hooks. Stop ends them.
func (h *Hooks) Start() {
	if len(h.Command) > 0 {
		h.serve("command", h.run)
	}
	if h.URL != nil {
		h.serve("webhook", h.post)
	}
}

// Notify gives a notice to the hooks. It never blocks.
func (h *Hooks) Notify(n recorder.Notice) {
	for _, q := range h.queues {
		select {
		case q <- n:
		default:
			h.Fail("a hook is so slow that a notice was dropped")
		}
	}
}

// Stop waits until the hooks have reported what waits, but not longer than that.
func (h *Hooks) Stop(within time.Duration) {
	for _, q := range h.queues {
		close(q)
	}
	done := make(chan struct{})
	go func() {
		h.running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(within):
	}
}

// serve reports the notices of a new queue.
func (h *Hooks) serve(name string, report func(context.Context, recorder.Notice) error) {
	q := make(chan recorder.Notice, hookQueue)
	h.queues = append(h.queues, q)
	h.running.Go(func() {
		for n := range q {
			h.try(name, n, report)
		}
	})
}

// try gives a notice to a hook until it takes it, at most hookTries times.
func (h *Hooks) try(name string, n recorder.Notice, report func(context.Context, recorder.Notice) error) {
	pause := hookPause
	for tried := 1; ; tried++ {
		ctx, cancel := context.WithTimeout(context.Background(), hookWithin)
		err := report(ctx, n)
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("it did not finish within %s", hookWithin)
		}
		cancel()
		switch {
		case err == nil:
			return
		case tried == hookTries:
			h.Fail(fmt.Sprintf("the %s did not take the notice %q: %v; lightsout gives it up", name, n.State, err))
			return
		case tried == 1:
			h.Fail(fmt.Sprintf("the %s failed (%v); lightsout tries it up to %d times more", name, err, hookTries-1))
		}
		time.Sleep(pause)
		pause *= 2
	}
}

// run runs the command with the notice on its standard input.
func (h *Hooks) run(ctx context.Context, n recorder.Notice) error {
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, h.Command[0], h.Command[1:]...)
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(b), &out, &out
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that what it has started ends with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err = cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it ended well, and something that it left running holds its output
	}
	if printed := text.Clean(out.String(), hookPrinted); printed != "" {
		h.Fail("recorder.command printed: " + printed)
	}
	return err
}

// hookPrinted bounds what lightsout prints of a command's output, in cells: often a server wrote it.
const hookPrinted = 500

// client follows no redirect: that would repeat a notice without its content, or send the
// webhook's address, a secret, to another host.
var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// post posts the notice to the webhook.
func (h *Hooks) post(ctx context.Context, n recorder.Notice) error {
	target, err := h.URL()
	if err != nil {
		return err
	}
	b, err := json.Marshal(h.body(n))
	if err != nil {
		return err
	}
	status, err := send(ctx, http.MethodPost, target, b)
	if err == nil && status/100 != 2 {
		return fmt.Errorf("it answered %d", status)
	}
	return err
}

// send sends a request. No error has the address, which is a secret.
func send(ctx context.Context, method, target string, body []byte) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return 0, errors.New("its address is not a URL")
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if with := (*url.Error)(nil); errors.As(err, &with) {
		err = with.Err
	}
	if err != nil {
		return 0, err
	}
	_, _ = io.CopyN(io.Discard, resp.Body, 1<<16) // so that the connection can be used again
	return resp.StatusCode, resp.Body.Close()
}

// Reach checks that the command is a program and that the webhook's host answers. It
// reports no outage.
func (h *Hooks) Reach(ctx context.Context) (command, webhook error) {
	if len(h.Command) > 0 {
		_, command = exec.LookPath(h.Command[0])
	}
	if h.URL == nil {
		return command, nil
	}
	target, err := h.URL()
	if err != nil {
		return command, err
	}
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return command, errors.New("its address is not a URL")
	}
	ctx, cancel := context.WithTimeout(ctx, hookWithin)
	defer cancel()
	_, webhook = send(ctx, http.MethodHead, u.Scheme+"://"+u.Host+"/", nil)
	return command, webhook
}

// body is the notice in the webhook's format.
func (h *Hooks) body(n recorder.Notice) any {
	if h.Format == FormatAlertmanager {
		a := map[string]any{
			"labels":      map[string]string{"alertname": "LightsoutOutage", "cluster": n.Cluster, "outage": n.Zero.UTC().Format(time.RFC3339Nano)},
			"annotations": map[string]string{"summary": n.Sentence, "severity": string(n.Severity), "record": n.Record, "report": n.Report},
			"startsAt":    n.Zero.UTC().Format(time.RFC3339Nano),
		}
		if !n.Ended.IsZero() {
			a["endsAt"] = n.Ended.UTC().Format(time.RFC3339Nano)
		}
		return []any{a}
	}
	text := n.Sentence
	if n.Report != "" {
		text += "\nreport: " + n.Report
	}
	return map[string]string{"text": text}
}

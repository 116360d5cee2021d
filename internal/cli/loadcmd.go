package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lightsout/internal/config"
	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/loadgen"
	"lightsout/power/ssh"
)

// loadOptions are the flags of the load command.
type loadOptions struct {
	send        config.Load // as in lightsout.yaml
	spec        loadgen.Spec
	burst, hold int
	rate, dir   string
	as          *string
	headers     []string
	http2, chat bool
}

// graceTime is how long requests in flight may go on after an interrupt.
const graceTime = 2 * time.Second

func newLoadCommand(common *options) *cobra.Command {
	var l loadOptions
	cmd := &cobra.Command{
		Use:   "load URL",
		Short: "Send requests and account for every one; needs no cluster",
		Args:  takes(1, 1, "URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("for") && l.spec.For <= 0 {
				return usageError{fmt.Errorf("--for %s: give a time above 0, or leave it out to send until Ctrl-C", l.spec.For)}
			}
			return runLoad(cmd.Context(), common, l, args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.IntVar(&l.burst, "burst", 0, "send this `number` at once")
	f.IntVar(&l.hold, "hold", 0, "keep this `number` in flight")
	f.StringVar(&l.rate, "rate", "", "send at this `rate` of requests a second, like 50/s or 30/m")
	f.IntVar(&l.spec.Requests, "requests", 0, "end after this `number` of requests")
	f.DurationVar(&l.spec.For, "for", 0, "end after this `time`")
	f.DurationVar(&l.send.Total, "timeout", 0, "bound each whole request (default 30s, 30m with --chat)")
	f.DurationVar(&l.send.Connect, "connect-timeout", 0, "bound each connection's set-up (default 3s)")
	f.DurationVar(&l.send.FirstByte, "first-byte-timeout", 0, "bound the wait for an answer (default none)")
	f.DurationVar(&l.send.Idle, "idle-timeout", 0, "bound the silence within an answer (default none)")
	f.DurationVar(&l.send.Stall, "stall", 0, "mark an answer as stalled after this silence (default 10s)")
	f.IntVar(&l.send.MaxInFlight, "max-in-flight", 0, "shed what goes beyond this `number` in flight, and count it (default 4096)")
	choiceFlag(cmd, &l.send.Connections, "connections", "", "`how`: fresh for each request (default), or kept", config.Connections...)
	f.StringArrayVar(&l.send.Entries, "entry", nil, "dial this `address` instead of the URL's; several are used in turn")
	f.BoolVar(&l.http2, "http2", false, "speak HTTP/2 (with http://: by prior knowledge)")
	f.StringVar(&l.send.CAFile, "ca", "", "trust the certificate authorities in this PEM `file` only")
	f.StringVar(&l.send.Host, "host", "", "send this `name` as the Host")
	f.StringVar(&l.send.Method, "method", "", "HTTP `method` (default GET, POST with --body)")
	f.StringArrayVarP(&l.headers, "header", "H", nil, "send this `header`, like \"Name: value\"")
	f.StringVar(&l.send.BodyFile, "body", "", "send the contents of this `file`")
	l.chatFlags(f)
	l.as = formatFlag(cmd, formatText, formatJSON)
	f.StringVar(&l.dir, "record", "", "write requests.jsonl and summary.json into this `folder`")
	f.StringVar(&common.Bastion, "bastion", "", "go through this ssh `host`: user@host:port or an alias")
	return cmd
}

// chatFlags adds the flags of a chat, and of the API key.
func (l *loadOptions) chatFlags(f *pflag.FlagSet) {
	f.BoolVar(&l.chat, "chat", false, "stream an OpenAI-compatible chat completion")
	f.StringVar(&l.send.Model, "model", "", "model's `name` for --chat")
	f.StringVar(&l.send.Prompt, "prompt", "", "`text` of the prompt for --chat (default a small built-in set)")
	f.StringVar(&l.send.PromptFile, "prompts", "", "`file` with prompts for --chat, one a line, sent in turn")
	f.IntVar(&l.send.MaxTokens, "max-tokens", 0, "at most this `number` of tokens in an answer for --chat (default the server's)")
	f.StringVar(&l.send.APIKeyEnv, "api-key-env", "", "environment `variable` with the API key")
	f.StringVar(&l.send.APIKeyFile, "api-key-file", "", "`file` with the API key, mode 0600")
}

// shape makes the run that the flags ask for.
func (l *loadOptions) shape() (loadgen.Spec, error) {
	s := l.spec
	s.Timeout = l.send.Total
	shapes := 0
	for shape, n := range map[loadgen.Shape]int{loadgen.Burst: l.burst, loadgen.Hold: l.hold} {
		if n != 0 {
			shapes++
			s.Shape, s.N = shape, n
		}
	}
	if l.rate != "" {
		shapes++
		s.Shape = loadgen.Rate
		var err error
		s.PerSecond, err = loadgen.ParseRate(l.rate)
		switch {
		case err != nil:
			return s, err
		case s.PerSecond == 0:
			return s, fmt.Errorf("--rate %s sends nothing: give a rate above 0", l.rate)
		}
	}
	if shapes != 1 {
		return s, errors.New("give one of --burst N, --hold N and --rate R/s")
	}
	if s.Shape == loadgen.Burst && (s.Requests != 0 || s.For != 0) {
		return s, errors.New("a burst is all at once: --requests and --for are for --hold and --rate")
	}
	return s, nil
}

// generatorOptions converts the flags about requests and connections.
func (l *loadOptions) generatorOptions(target string) (o loadgen.Options, err error) {
	c := l.send
	c.URL = target
	if l.http2 {
		c.Protocol = loadgen.HTTP2
	}
	if l.chat {
		c.Profile = loadgen.Chat
	} else if c.Model != "" || c.Prompt != "" || c.PromptFile != "" || c.MaxTokens != 0 {
		return o, errors.New("--model, --prompt, --prompts and --max-tokens are for --chat")
	}
	if o, err = c.Options(); err != nil {
		return o, err
	}
	o.WindowLimit = secondsKept
	for _, h := range l.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return o, fmt.Errorf("--header %q is not valid: write it like \"Name: value\"", name)
		}
		o.Target.Header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return o, nil
}

// secondsKept is how many seconds the summary lists: the last day of a run.
const secondsKept = 24 * 3600

// runLoad sends the requests that the flags describe, reports the progress, and sums
// up.
func runLoad(ctx context.Context, common *options, l loadOptions, target string, out, progress io.Writer) error {
	spec, err := l.shape()
	if err != nil {
		return usageError{err}
	}
	o, err := l.generatorOptions(target)
	if err != nil {
		return usageError{err}
	}
	if common.Bastion != "" {
		client, err := dialThrough(ctx, &o, common.Bastion)
		if err != nil {
			return err
		}
		defer client.Close()
	}
	if *l.as == formatText {
		progress = out
	}
	requests, err := newRequests(l.dir)
	if err != nil {
		return err
	}
	defer requests.Close()
	if l.dir != "" {
		o.Record = requests.Add
	}
	g, err := loadgen.New(o)
	if err != nil {
		return usageError{err}
	}
	defer g.Close()
	signals.inOrder.Store(true)
	signal.Reset(syscall.SIGPIPE) // it ends when nobody reads its lines any more, and leaves nothing switched off
	began := time.Now()
	if _, err := g.Begin(spec); err != nil {
		return usageError{err}
	}
	if spec.Shape != loadgen.Burst && spec.Requests == 0 && spec.For == 0 {
		fmt.Fprintln(progress, "sending until Ctrl-C; --for 30s or --requests 100 sets an end")
	}
	watchLoad(ctx, g, progress)
	return l.sumUp(summarizeLoad(g.Run(), began, time.Now()), requests, out)
}

// dialThrough sends the requests through a bastion. It logs in first, and so asks on the
// terminal before the progress is printed. A bastion that can't be reached fails the requests.
func dialThrough(ctx context.Context, o *loadgen.Options, bastion string) (*ssh.Client, error) {
	client, err := newSSH(&config.Config{Bastion: bastion}, sshAsker{secret: askOnTerminal()})
	if err != nil {
		return nil, err
	}
	_ = client.Reach(ctx)
	o.Dial = bastionDialer(client)
	return client, nil
}

// newRequests makes the record of the requests in dir; an empty dir keeps none.
func newRequests(dir string) (*record.Requests, error) {
	if dir == "" {
		return record.NewRequests("")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the record can't be written: %w", err)
	}
	path := filepath.Join(dir, record.RequestsFile)
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		return nil, fmt.Errorf("%s already contains a record: name another folder", dir)
	}
	return record.NewRequests(path)
}

// sumUp writes the summary, whatever became of the record. The error reports a missing part of
// the record, and requests that were not ok.
func (l *loadOptions) sumUp(s *loadSummary, requests *record.Requests, out io.Writer) error {
	var incomplete error
	if l.dir != "" {
		if err := requests.Err(); err != nil {
			incomplete = fmt.Errorf("the requests can't be recorded: %w", err)
		} else if n := requests.Lost(); n > 0 {
			incomplete = fmt.Errorf("%d requests are missing in %s: it could not be written for a while", n, record.RequestsFile)
		}
		incomplete = errors.Join(incomplete, record.WriteSummary(l.dir, s, nil))
	}
	write := s.writeText
	if *l.as == formatJSON {
		write = func(w io.Writer) error { return writeJSON(w, s) }
	}
	if err := write(out); err != nil {
		return errors.Join(incomplete, err)
	}
	return errors.Join(incomplete, s.verdict())
}

// watchLoad prints a line a second about a run until the run has ended. When ctx ends, it
// starts no more requests, waits a moment, and cancels the others.
func watchLoad(ctx context.Context, g *loadgen.Generator, progress io.Writer) {
	over, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		defer stop()
		// Its only error is the end of over, which this goroutine makes.
		_ = g.Wait(over)
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	began := time.Now()
	interrupted := ctx.Done()
	var grace <-chan time.Time
	for {
		select {
		case <-over.Done():
			return
		case <-tick.C:
			fmt.Fprintln(progress, progressLine(g.Run(), time.Since(began)))
		case <-interrupted:
			interrupted = nil
			g.Stop(false)
			if n := g.Run().Totals.InFlight(); n > 0 {
				fmt.Fprintf(progress, "stopping: %d in flight have %v to end\n", n, graceTime)
			}
			grace = time.After(graceTime)
		case <-grace:
			g.Stop(true)
		}
	}
}

// progressLine is one second of a run in words.
func progressLine(r *loadgen.Run, since time.Duration) string {
	t := r.Totals
	line := fmt.Sprintf("%5ds  sent %d  ok %d  failed %d  in flight %d  stalled %d  unsent %d", int(since.Round(time.Second)/time.Second),
		t.Scheduled-t.Unsent, t.OK, t.FailedSum(), t.InFlight(), t.Stalled, t.Unsent)
	if q := r.Latency.Scheduled; q.Count > 0 {
		line += fmt.Sprintf("  p50 %s  p99 %s", text.Took(q.P50), text.Took(q.P99))
	}
	if r.LastError != "" && t.FailedSum() > 0 {
		line += "  last: " + r.LastError
	}
	return line
}

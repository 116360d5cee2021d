package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"lightsout/internal/session"
	"lightsout/internal/view"
	"lightsout/power"
)

// console shows a session as plain lines and answers its questions on the
// terminal, or by flags where there is none.
type console struct {
	out io.Writer
	in  *bufio.Reader // nil: nobody can be asked
	// yes answers questions that may be answered without typing; confirm is
	// what is typed where something must be.
	yes     bool
	confirm string
	// prefer is the choice that is taken where it is offered, instead of the
	// first that is not the safe one.
	prefer string
	// lanes bounds what is printed of the timeline; nil is all of it.
	lanes []view.Lane

	printed int    // the last event that was printed
	asked   string // the last question that was answered
}

// newConsole asks on standard input if that is a terminal.
func newConsole(yes bool, confirm string) *console {
	c := &console{out: os.Stdout, yes: yes, confirm: confirm}
	if term.IsTerminal(int(os.Stdin.Fd())) {
		c.in = bufio.NewReader(os.Stdin)
	}
	return c
}

// show prints events and answers questions until the engine ends or done says
// so for a frame.
func (c *console) show(ctx context.Context, e *session.Session, done func(*view.Frame) bool) error {
	for f := range e.Frames() {
		c.events(e)
		if q := f.Question; q != nil && q.ID != c.asked {
			c.asked = q.ID
			if err := c.answer(ctx, e, *q); err != nil {
				return err
			}
			continue
		}
		if f.Question == nil && done != nil && done(f) {
			return nil
		}
	}
	c.events(e)
	return ctx.Err()
}

func (c *console) events(e *session.Session) {
	news := e.Timeline().Since(c.printed)
	if len(news) == 0 {
		return
	}
	c.printed = news[len(news)-1].Seq
	for _, ev := range news {
		if c.lanes != nil && !slices.Contains(c.lanes, ev.Lane) {
			continue
		}
		fmt.Fprintln(c.out, eventLine(ev))
	}
}

// answer asks the question, or takes the answer from the flags. It returns an
// error when the answer must be given and nobody can be asked.
func (c *console) answer(ctx context.Context, e *session.Session, q view.Question) error {
	for _, line := range questionLines(q) {
		fmt.Fprintln(c.out, line)
	}
	no := view.Answer{Question: q.ID, Choice: q.Choices[0].ID}
	if q.Refused {
		e.Send(no)
		return fmt.Errorf("refused: see above")
	}
	choice := q.Choices[min(1, len(q.Choices)-1)]
	if i := slices.IndexFunc(q.Choices, func(x view.Choice) bool { return x.ID == c.prefer }); i >= 0 {
		choice = q.Choices[i]
	}
	yes := view.Answer{Question: q.ID, Choice: choice.ID, Typed: c.confirm}
	switch {
	case q.Kind == view.QuestionRestore:
		// The command line says what is wanted; this is not it.
		e.Send(no)
		return nil
	case q.Kind == view.QuestionSwitch && c.yes && (q.Type == "" || q.Type == c.confirm):
		e.Send(yes)
		return nil
	case c.in == nil:
		e.Send(no)
		hint := "repeat with --yes"
		if q.Type != "" {
			hint = fmt.Sprintf("repeat with --yes --confirm %q", q.Type)
		}
		if q.Kind != view.QuestionSwitch {
			hint = "start it once on a terminal to answer"
		}
		return fmt.Errorf("%s: nobody can be asked here; %s", strings.TrimSuffix(q.Title, "?"), hint)
	}
	switch {
	case q.Secret:
		typed, err := askHidden(c.out, "> ")
		if err != nil {
			e.Send(no)
			return nil
		}
		yes.Typed = typed
	case q.Type != "":
		fmt.Fprintf(c.out, "type %q to %s: ", q.Type, choice.Label)
		text, err := c.line(ctx)
		if err != nil || text != q.Type {
			e.Send(no)
			return errNotDone
		}
		yes.Typed = text
	default:
		fmt.Fprintf(c.out, "%s? [y/N] ", choice.Label)
		text, err := c.line(ctx)
		if err != nil || (text != "y" && text != "yes") {
			e.Send(no)
			if q.Kind == view.QuestionSwitch {
				return errNotDone
			}
			return nil
		}
	}
	e.Send(yes)
	return nil
}

var errNotDone = fmt.Errorf("nothing was switched: the answer was no")

// line reads a line from the terminal; it returns early when ctx ends.
func (c *console) line(ctx context.Context) (string, error) {
	type read struct {
		text string
		err  error
	}
	got := make(chan read, 1)
	go func() { // ends with the process: a read of the terminal can't be interrupted
		text, err := c.in.ReadString('\n')
		got <- read{strings.TrimSpace(text), err}
	}()
	select {
	case r := <-got:
		return r.text, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// settled reports whether nothing is being done to the nodes, and the names of
// those for which it failed or can't be told.
func settled(f *view.Frame, nodes []string) (done bool, failed []string) {
	for _, n := range nodes {
		v := f.Power[n]
		if v.Busy != "" {
			return false, nil
		}
		if v.Phase == power.PhaseFailed || v.Phase == power.PhaseUncertain {
			failed = append(failed, n)
		}
	}
	return true, failed
}

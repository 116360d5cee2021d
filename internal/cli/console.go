package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"lightsout/internal/session"
	"lightsout/internal/terminal"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// console shows a session as plain lines, and answers its questions on the terminal, or
// from flags without one.
type console struct {
	out io.Writer
	in  *bufio.Reader // nil: there is no one to ask
	// reading gives the line that is being read; nil if none is.
	reading chan readLine
	// yes answers questions that need no typing; confirm is the text of a typed
	// confirmation.
	yes     bool
	confirm string
	// dryRun answers every question with yes: lightsout switches nothing.
	dryRun bool
	// lanes limits the printed timeline; nil is all of it.
	lanes []view.Lane

	printed int    // the last event that was printed
	asked   string // the last question that was answered
}

// newConsole asks on standard input if that is a terminal.
func newConsole(yes bool, confirm string) *console {
	c := &console{out: stdout, yes: yes, confirm: confirm}
	if term.IsTerminal(int(os.Stdin.Fd())) {
		c.in = bufio.NewReader(os.Stdin)
	}
	return c
}

// show prints events and answers questions until the session ends or done returns true
// for a frame.
func (c *console) show(ctx context.Context, e *session.Session, done func(*view.Frame) bool) error {
	for f := range e.Frames() {
		c.events(e)
		if q := f.Question; q != nil && q.Kind != view.QuestionWait && q.ID != c.asked {
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
		printLines(c.out, terminal.EventLine(ev.Seen, ev)) // so the lines are in order
	}
}

// answer asks the question, or takes the answer from the flags. It returns an error if
// the answer is no, or if there is no one to ask. It waits even if the session asks no more:
// then the answer counts for nothing.
func (c *console) answer(ctx context.Context, e *session.Session, q view.Question) error {
	printLines(c.out, questionLines(q)...)
	choice := q.Choices[min(1, len(q.Choices)-1)]
	if q.Kind == view.QuestionDrain && c.in == nil { // nobody can answer: the node is left on
		choice = q.Choices[len(q.Choices)-1]
	}
	a := view.Answer{Question: q.ID, Choice: q.Choices[0].ID}
	typed, yes, err := c.decide(ctx, q, choice.Label)
	if yes {
		a.Choice, a.Typed = choice.ID, typed
	}
	if yes && q.Kind == view.QuestionSwitch && !c.dryRun {
		fmt.Fprintln(c.out, "confirmed; polling everything once more")
	}
	e.Send(a)
	return err
}

// decide returns whether to carry out the choice, and the typed text.
func (c *console) decide(ctx context.Context, q view.Question, label string) (typed string, yes bool, err error) {
	switching := q.Kind == view.QuestionSwitch
	if q.Type != "" && c.confirm != "" && c.confirm != q.Type {
		fmt.Fprintf(c.out, "--confirm is %q, not %q\n", c.confirm, q.Type)
	}
	switch {
	case q.Refused:
		return "", false, errors.New("lightsout refuses: the reason is above")
	case q.Kind == view.QuestionRestore:
		// The command line has chosen another answer.
		return "", false, nil
	case switching && c.dryRun:
		return q.Type, true, nil
	case switching && c.yes && (q.Type == "" || q.Type == c.confirm):
		return c.confirm, true, nil
	case q.Kind == view.QuestionDrain && c.in == nil:
		fmt.Fprintln(c.out, "there is no terminal to answer on: "+strings.ToLower(label[:1])+label[1:])
		return "", true, nil
	case c.in == nil:
		hint := "repeat with --yes"
		if q.Type != "" {
			hint = fmt.Sprintf("repeat with --yes --confirm %q", q.Type)
		}
		if !switching {
			hint = "start it once on a terminal to answer"
		}
		return "", false, fmt.Errorf("%s: lightsout switched nothing, because there is no terminal to confirm on; %s", strings.TrimSuffix(q.Title, "?"), hint)
	case q.Secret:
		typed, err := askHidden(c.out, "> ")
		return typed, err == nil, nil
	case q.Type != "":
		typed, err := c.ask(ctx, os.Stdout, fmt.Sprintf("type %q to %s: ", q.Type, label))
		if yes = err == nil && typed == q.Type; !yes {
			return "", false, notDone(err)
		}
		return typed, true, nil
	}
	yes, err = c.askYes(ctx, c.out, label+"? [y/N] ")
	if !yes && switching {
		return "", false, notDone(err)
	}
	return "", yes, nil
}

// askYes is ask for a question that y or yes answers with yes.
func (c *console) askYes(ctx context.Context, out io.Writer, prompt string) (bool, error) {
	text, err := c.ask(ctx, out, prompt)
	return err == nil && (text == "y" || text == "yes"), err
}

var errNotDone = errors.New("nothing was switched")

// notDone is errNotDone with the reason: the answer was no, or why nobody answered.
func notDone(unanswered error) error {
	if unanswered != nil {
		return fmt.Errorf("%w: nobody answered (%w); repeat with --yes", errNotDone, unanswered)
	}
	return fmt.Errorf("%w: the answer was no", errNotDone)
}

// ask shows a prompt and reads a line from the terminal, without the keys that were typed
// before: they are no answer. It returns early when ctx ends. It must not be called for a
// console without a terminal.
func (c *console) ask(ctx context.Context, out io.Writer, prompt string) (string, error) {
	select {
	case <-c.reading: // a line that was typed after its question had ended
		c.reading = nil
	default:
	}
	if c.reading == nil {
		c.in.Reset(os.Stdin)
	}
	terminal.DropInput(os.Stdin)
	fmt.Fprint(out, prompt)
	return c.line(ctx)
}

// readLine is a line from the terminal, or the reason why there is none.
type readLine struct {
	text string
	err  error
}

// line reads a line from the terminal; it returns early when ctx ends.
func (c *console) line(ctx context.Context) (string, error) {
	if c.reading == nil {
		got := make(chan readLine, 1)
		c.reading = got
		go func() { // a read of the terminal can't be interrupted: it serves the next line if ctx ends before
			text, err := c.in.ReadString('\n')
			got <- readLine{strings.TrimSpace(text), err}
		}()
	}
	select {
	case r := <-c.reading:
		c.reading = nil
		if r.err == nil {
			return r.text, nil
		}
	case <-ctx.Done():
	}
	return "", errors.New("the input ended, or lightsout was interrupted")
}

// settled reports whether no action on the nodes is under way, and the nodes for which
// one failed or is uncertain.
func settled(f *view.Frame, nodes []string) (done bool, failed []string) {
	for _, n := range nodes {
		v := f.Power[n]
		if v.Busy != "" || slices.Contains(f.Switching, n) {
			return false, nil
		}
		if v.Stage == power.StageFailed || v.Stage == power.StageUncertain {
			failed = append(failed, n)
		}
	}
	return true, failed
}

// plainMarks are the prefixes of a question's lines, by level.
var plainMarks = map[view.Level]string{view.Info: "  ", view.Good: "+ ", view.Warning: "! ", view.Bad: "x "}

// questionLines formats a question as plain lines that are safe for a terminal; one that the command line has answered, as a statement.
func questionLines(q view.Question) []string {
	out := []string{text.Cells(q.Title)}
	if q.Kind == view.QuestionRestore {
		out[0] = "Already off or cordoned by lightsout, and so in each forecast:"
	}
	return append(out, text.Each(q.Lines, func(l view.Line) string { return plainMarks[l.Level] + text.Cells(l.Text) })...)
}

// askHidden shows a prompt and reads a line without echoing it. It hides even the keys
// that the operator types at the moment the prompt appears.
func askHidden(out io.Writer, prompt string) (string, error) {
	fd := int(os.Stdin.Fd())
	state, err := term.MakeRaw(fd) // ReadPassword alone would echo earlier input
	if err != nil {
		return "", err
	}
	signals.hidden.Store(state)
	defer signals.hidden.Store(nil)
	fmt.Fprint(out, prompt)
	b, err := term.ReadPassword(fd)
	_ = term.Restore(fd, state)
	fmt.Fprintln(out)
	return string(b), err
}

package cli

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"lightsout/internal/view"
)

// askingSession is a session that shows frames and keeps the answers.
type askingSession struct {
	frames  chan *view.Frame
	answers chan view.Intent
}

func (s *askingSession) Frames() <-chan *view.Frame { return s.frames }
func (s *askingSession) Send(i view.Intent)         { s.answers <- i }

// The console asks for as long as the session does: it waits for no answer to a question that is withdrawn, or of a
// session that has ended, and reports no confirmation. A line that was typed after that answers no later question.
func TestTheConsoleStopsWaitingWhenTheQuestionIsWithdrawn(t *testing.T) {
	operator := openTerminal(t)
	typed := func(line string) { _, _ = operator.WriteString(line) }
	q := view.Question{ID: "q1", Kind: view.QuestionSwitch, Title: "Shut down n1?", Choices: []view.Choice{{ID: view.ChoiceNo, Label: "Leave it on"}, {ID: view.ChoiceYes, Label: "Shut down 1 node"}}}
	var out bytes.Buffer
	c := &console{out: &out, in: bufio.NewReader(os.Stdin)}
	for name, last := range map[string]func(*askingSession){
		"withdrawn": func(s *askingSession) { s.frames <- &view.Frame{} },
		"ended":     func(s *askingSession) { close(s.frames) },
		"replaced":  func(s *askingSession) { s.frames <- &view.Frame{Question: &view.Question{ID: "q2"}} },
	} {
		s := &askingSession{make(chan *view.Frame, 2), make(chan view.Intent, 3)}
		s.frames <- &view.Frame{Question: &q}
		time.AfterFunc(50*time.Millisecond, func() { last(s) })
		if err := c.answer(t.Context(), s, q); err != nil || len(s.answers) > 0 || strings.Contains(out.String(), "confirmed") || !strings.Contains(out.String(), "withdrawn") {
			t.Errorf("%s: %v, %d answers, and it prints %q", name, err, len(s.answers), out.String())
		}
		out.Reset()
	}
	typed("y\n") // late
	for len(c.reading) == 0 {
		time.Sleep(time.Millisecond)
	}
	s := &askingSession{make(chan *view.Frame, 2), make(chan view.Intent, 3)}
	time.AfterFunc(300*time.Millisecond, func() { typed("n\n") })
	if err := c.answer(t.Context(), s, q); !errors.Is(err, errNotDone) || (<-s.answers).(view.Answer).Choice != view.ChoiceNo {
		t.Errorf("a late answer counts for the next question: %v", err)
	}
	time.AfterFunc(300*time.Millisecond, func() { typed("y\n") })
	if err := c.answer(t.Context(), s, q); err != nil || (<-s.answers).(view.Answer).Choice != view.ChoiceYes || !strings.Contains(out.String(), "confirmed") {
		t.Errorf("a yes does not count: %v", err)
	}
}

// A wrong text of --confirm is named beside the one that is needed.
func TestAWrongConfirmationIsNamed(t *testing.T) {
	var out bytes.Buffer
	c := &console{out: &out, yes: true, confirm: "stage"}
	_, yes, err := c.decide(t.Context(), view.Question{Kind: view.QuestionSwitch, Title: "Shut down n1?", Type: "site"}, "Shut down")
	if yes || err == nil || !strings.Contains(out.String(), `--confirm is "stage", not "site"`) {
		t.Errorf("%t, %v: %s", yes, err, out.String())
	}
}

package cli

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"lightsout/internal/view"
)

// Only a line that is typed after the prompt answers it. The end of the input is no answer.
func TestTheConsoleTakesAnAnswerThatIsTypedAfterThePrompt(t *testing.T) {
	operator := openTerminal(t)
	q := view.Question{ID: "q1", Kind: view.QuestionSwitch, Title: "Shut down n1?", Choices: []view.Choice{{ID: view.ChoiceNo, Label: "Leave it on"}, {ID: view.ChoiceYes, Label: "Shut down 1 node"}}}
	for line, want := range map[string]bool{"y\n": true, "n\n": false, "\n": false, "\x04": false} {
		_, _ = operator.WriteString("y\n") // too early
		c := &console{out: writerFunc(func(p []byte) { _, _ = operator.WriteString(line) }), in: bufio.NewReader(os.Stdin)}
		if _, yes, err := c.decide(t.Context(), q, "Shut down 1 node"); yes != want || !want && !errors.Is(err, errNotDone) {
			t.Errorf("%q: %t, %v", line, yes, err)
		} else if unanswered := line == "\x04"; !want && strings.HasSuffix(err.Error(), "; repeat with --yes") != unanswered {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// writerFunc calls itself for what is written.
type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }

// A command has decided what it does with machines that are off already: it states them, and asks nothing.
func TestACommandStatesWhatIsOff(t *testing.T) {
	got := questionLines(view.Question{Kind: view.QuestionRestore, Title: "Power on what lightsout asked to go off?", Lines: []view.Line{{Text: "n1"}}})
	if strings.Join(got, "\n") != "Already off or cordoned by lightsout, and so in each forecast:\n  n1" {
		t.Errorf("%q", got)
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

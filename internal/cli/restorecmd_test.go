package cli

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/creack/pty"

	"lightsout/power"

	"lightsout/internal/testenv"
)

// onATerminal gives the test a terminal on which an operator types these answers, one to each
// question.
func onATerminal(t *testing.T, answers ...string) {
	t.Helper()
	operator := openTerminal(t)
	go func() {
		var shown []byte
		for b := make([]byte, 1); ; {
			if _, err := operator.Read(b); err != nil {
				return
			}
			if shown = append(shown, b...); bytes.HasSuffix(shown, []byte("? [y/N] ")) && len(answers) > 0 {
				_, _ = operator.WriteString(answers[0])
				answers = answers[1:]
			}
		}
	}()
}

// openTerminal gives the test a terminal, and returns the operator's end of it.
func openTerminal(t *testing.T) (operator *os.File) {
	t.Helper()
	operator, terminal, err := pty.Open()
	if err != nil {
		testenv.Skip(t, "there is no pseudo-terminal: "+err.Error())
	}
	in, out := os.Stdin, os.Stdout
	os.Stdin, os.Stdout = terminal, terminal
	t.Cleanup(func() {
		os.Stdin, os.Stdout = in, out
		_ = terminal.Close()
		_ = operator.Close()
	})
	return operator
}

// The operator says yes to the machines of both clusters, and ends the input at the question
// about somebody else's machine in the first one: the yes still counts for both.
func TestAnEndOfInputAfterTheYesLeavesNoClusterOut(t *testing.T) {
	const ctrlD = "\x04"
	onATerminal(t, "y\n", ctrlD)
	left := func(n string) []power.LeftOff { return []power.LeftOff{{Entry: power.Entry{Node: n}}} }
	a := &restoration{left: left("a1"), foreign: []foreign{{node: "a2", by: power.Note{By: "tanaka@jump-7"}}}}
	b := &restoration{left: left("b1"), cordoned: []power.Entry{{Node: "b2"}}}
	out := queueOutput()
	err := choose(t.Context(), out, []*restoration{a, b}, nil, false)
	out.end(t.Context(), outputWait)
	if err == nil || !a.chosen || !b.chosen || !slices.Equal(a.on, []string{"a1"}) || !slices.Equal(b.on, []string{"b1"}) || !slices.Equal(b.uncordoned, []string{"b2"}) {
		t.Errorf("powers on %v, and %v; uncordons %v: %v", a.on, b.on, b.uncordoned, err)
	}
}

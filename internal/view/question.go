package view

import (
	"cmp"
	"fmt"
)

// Question is a question to the operator. An Answer with its ID answers it. Records
// leave answers out: the timeline has the actions.
type Question struct {
	ID    string       `json:"id,omitzero"`
	Kind  QuestionKind `json:"kind,omitzero"`
	Title string       `json:"title,omitzero"`
	// Refused: nothing can be answered but "close".
	Refused bool `json:"refused,omitzero"`
	// Lines are shown in order.
	Lines []Line `json:"lines,omitempty"`
	// Type, if set, must be typed out in full before Yes can be chosen.
	Type string `json:"-"`
	// Secret: the screen must not show the typed text.
	Secret bool `json:"-"`
	// Choices are offered in order; the first is the safe one, which esc takes.
	Choices []Choice `json:"choices,omitempty"`
	// Default is the ID of the choice that the question begins with; empty: the first.
	Default string `json:"-"`
}

// QuestionKind is the subject of a question.
type QuestionKind string

// Kinds of questions.
const (
	QuestionSwitch  QuestionKind = "switch"  // machines are to be switched, or nodes drained
	QuestionWait    QuestionKind = "wait"    // lightsout prepares a question, unless that is cancelled
	QuestionDrain   QuestionKind = "drain"   // a drain is held up
	QuestionRestore QuestionKind = "restore" // an earlier run has left machines off or nodes cordoned
	QuestionQuit    QuestionKind = "quit"    // machines are off
	QuestionTrial   QuestionKind = "trial"
	QuestionRollout QuestionKind = "rollout"
	QuestionLoad    QuestionKind = "load"   // about sending requests
	QuestionMove    QuestionKind = "move"   // about showing another context or other namespaces
	QuestionSecret  QuestionKind = "secret" // asks for a passphrase or password
)

// IDs of choices that more than one question has.
const (
	ChoiceNo    = "no"
	ChoiceYes   = "yes"
	ChoiceDrain = "drain" // drain the nodes before they are shut down
)

// Line is one line of a question.
type Line struct {
	Level Level  `json:"level,omitzero"`
	Text  string `json:"text"`
	// Short is Text with few names, if it may have many; Of is what the line describes one of many of, as "deployments".
	// Records have all lines in full.
	Short string `json:"-"`
	Of    string `json:"-"`
	// Heading: the lines up to the next heading belong to it.
	Heading bool `json:"heading,omitzero"`
	// Subject: the line names machines that the answer is about. The screen takes no choice but
	// the safe one before it has shown the whole line.
	Subject bool `json:"-"`
	// Command is the command that Text names, to be copied; empty if it names none.
	Command string `json:"-"`
}

// few is how many lines in a row that describe things of one kind have room beside others.
const few = 8

// Few are the lines for a reader with little room: with few names in each, and few of a kind.
func Few(lines []Line) (out []Line) {
	row := 0
	for i, l := range lines {
		l.Text = cmp.Or(l.Short, l.Text)
		if row++; l.Of == "" || i == 0 || l.Of != lines[i-1].Of {
			row = 1
		}
		if row > few {
			l = Line{Level: l.Level, Text: fmt.Sprintf("and %d more %s", row-few, l.Of)}
			out = out[:len(out)-min(1, row-few-1)]
		}
		out = append(out, l)
	}
	return out
}

// Choice is one way to answer.
type Choice struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}

// MarshalText writes a choice as a record has it: its label.
func (c Choice) MarshalText() ([]byte, error) { return []byte(c.Label), nil }

// UnmarshalText reads a choice of a record. It can't be chosen any more, and
// its ID is its label.
func (c *Choice) UnmarshalText(b []byte) error {
	c.ID, c.Label = string(b), string(b)
	return nil
}

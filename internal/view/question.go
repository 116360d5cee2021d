package view

// Question is asked of the operator. It is answered by an Answer with its ID.
// Answers are not recorded: what was done is on the timeline.
type Question struct {
	ID    string       `json:"id,omitzero"`
	Kind  QuestionKind `json:"kind,omitzero"`
	Title string       `json:"title,omitzero"`
	// Refused: nothing can be answered but "close".
	Refused bool `json:"refused,omitzero"`
	// Lines are shown in order; a heading line ends in a colon.
	Lines []Line `json:"lines,omitempty"`
	// Type, if set, must be typed out in full before Yes can be chosen.
	Type string `json:"-"`
	// Secret: what is typed must not be shown.
	Secret bool `json:"-"`
	// Choices are offered in order; the first is the safe one.
	Choices []Choice `json:"choices,omitempty"`
}

// Gravest is the line that says why a question is refused: the last bad one, or
// the title.
func (q Question) Gravest() string {
	for i := len(q.Lines) - 1; i >= 0; i-- {
		if q.Lines[i].Level == Bad {
			return q.Lines[i].Text
		}
	}
	return q.Title
}

// QuestionKind is what a question is about.
type QuestionKind string

// Kinds of questions.
const (
	QuestionSwitch  QuestionKind = "switch"  // machines are to be switched, or nodes drained
	QuestionDrain   QuestionKind = "drain"   // a drain is held up
	QuestionRestore QuestionKind = "restore" // an earlier run has left machines off or nodes cordoned
	QuestionQuit    QuestionKind = "quit"    // machines are off
	QuestionTrial   QuestionKind = "trial"
	QuestionRollout QuestionKind = "rollout"
	QuestionHostKey QuestionKind = "hostkey"
	QuestionSecret  QuestionKind = "secret" // a passphrase or password is wanted
)

// IDs of choices that more than one question has.
const (
	ChoiceNo    = "no"
	ChoiceYes   = "yes"
	ChoiceDrain = "drain" // drain the nodes before they are shut down
)

// Line is one line of a question.
type Line struct {
	Level Severity `json:"level,omitzero"`
	Text  string   `json:"text"`
}

// Choice is one way to answer.
type Choice struct {
	ID, Label string
}

// MarshalText writes a choice as a record has it: its label.
func (c Choice) MarshalText() ([]byte, error) { return []byte(c.Label), nil }

// UnmarshalText reads a choice of a record. It can't be chosen any more, and
// its ID is its label.
func (c *Choice) UnmarshalText(b []byte) error {
	c.ID, c.Label = string(b), string(b)
	return nil
}

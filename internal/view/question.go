package view

// Question is asked of the operator. It is answered by an Answer with its ID.
type Question struct {
	ID    string
	Kind  QuestionKind
	Title string
	// Lines are shown in order; a heading line ends in a colon.
	Lines []Line
	// Refused: nothing can be answered but "close".
	Refused bool
	// Type, if set, must be typed out in full before Yes can be chosen.
	Type string
	// Secret: what is typed must not be shown.
	Secret bool
	// Choices are offered in order; the first is the safe one.
	Choices []Choice
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
	Level Severity
	Text  string
}

// Choice is one way to answer.
type Choice struct {
	ID, Label string
}

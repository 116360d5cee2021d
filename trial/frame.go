package trial

import (
	"time"

	"lightsout/cluster"
	"lightsout/loadgen"
	"lightsout/power"
)

// Frame is everything that a screen shows at one moment. It is immutable and
// is handed over newest-wins: a screen that does not keep up misses frames,
// never events (they are in Events of a later frame, and on disk).
type Frame struct {
	// Title parts: the cluster's name, the way to it ("via mdxuser@bastion"),
	// the pace when it is not real, and the modes.
	Cluster, Via, Pace string
	ReadOnly, DryRun   bool
	Production         bool

	Now time.Time
	// Zero is the trial's zero, the first power-off asked for; zero time
	// before that.
	Zero time.Time

	Snapshot *cluster.Snapshot
	// Power is what is known of each node's machine, by node name.
	Power map[string]MachineView
	// History holds, by deployment, the available replicas once a second,
	// newest last, at most two minutes.
	History map[cluster.Key][]int

	Load loadgen.Run
	// LoadReady is empty when load can be sent, else one sentence why not.
	LoadReady string
	// Focus is the deployment that the load goes to; zero when not known.
	Focus cluster.Key

	// Events is the newest part of the timeline, oldest first.
	Events []Event
	// Next are sentences on what the control plane will do next, soonest first.
	Next []string

	// Question is what the operator is being asked; nil when nothing.
	Question *Question
	// Recording is true while the record can be written; RecordErr says in
	// one sentence why it can't.
	Recording bool
	RecordErr string
	// Notice is the newest thing that the operator must know and did not ask
	// for, one sentence; NoticeAt is when it came up.
	Notice   string
	NoticeAt time.Time
}

// MachineView is what is known of a node's machine.
type MachineView struct {
	Reading power.Reading
	// Busy is the action under way, with its phase and sentence; empty when none.
	Busy  power.Action
	Phase power.Phase
	Text  string
	// Machine says which machine stands for the node, for details.
	Machine string
	// LeftOff: the journal says that this program switched it off and has not
	// seen it on again.
	LeftOff bool
}

// Severity says how an event is drawn.
type Severity int

// Severities, mildest first.
const (
	Info Severity = iota
	Good
	Warning
	Bad
)

// Event is one line of the timeline.
type Event struct {
	// Seq counts from 1 without gaps.
	Seq int `json:"seq"`
	// At is when it happened by its own source where the source gives a time,
	// else when it was seen; Seen is when it was seen.
	At   time.Time `json:"at"`
	Seen time.Time `json:"seen"`
	// Offset is At relative to the trial's zero, in seconds; negative before
	// it. Nil when there is no zero yet.
	Offset *float64 `json:"offset,omitempty"`
	// Lane is where it comes from: power, heartbeat, node, taint, pod,
	// endpoints, deployment, event, load, link, operator.
	Lane string `json:"lane"`
	// Kind is the sort of object that Subject names, where it is one.
	Kind    string   `json:"kind,omitempty"`
	Subject string   `json:"subject"`
	Text    string   `json:"text"`
	Level   Severity `json:"level"`
	// From, To and Why are a transition's own.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	Why  string `json:"why,omitempty"`
}

// Question is asked of the operator. It is answered by an Answer with its ID.
type Question struct {
	ID string
	// Kind is "switch" (power), "quit" (machines are off), "restore" (left off
	// by an earlier run), "hostkey", "secret" (a passphrase is wanted).
	Kind  string
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

// Line is one line of a question.
type Line struct {
	Level Severity
	Text  string
}

// Choice is one way to answer.
type Choice struct {
	ID, Label string
}

// Intent is what the operator wants. The screen returns intents, the engine
// carries them out; none is carried out in the screen.
type Intent interface{ intent() }

// Intents.
type (
	// AskPower asks for a question about switching the named nodes.
	AskPower struct {
		Action power.Action
		Nodes  []string
	}
	// Answer answers a question. Typed is what was typed, if asked for.
	Answer struct{ Question, Choice, Typed string }
	// StartLoad starts sending; it replaces a hold or rate that is running
	// and adds a burst to it.
	StartLoad struct{ Spec loadgen.Spec }
	// StopLoad stops starting requests; Cancel also ends those in flight.
	StopLoad struct{ Cancel bool }
	// SetFocus chooses the deployment that the gauge is about.
	SetFocus struct{ Deployment cluster.Key }
	// Mark puts a line of the operator's own on the timeline.
	Mark struct{ Text string }
	// AskQuit asks to leave; the engine either ends or asks a question first.
	AskQuit struct{}
)

func (AskPower) intent()  {}
func (Answer) intent()    {}
func (StartLoad) intent() {}
func (StopLoad) intent()  {}
func (SetFocus) intent()  {}
func (Mark) intent()      {}
func (AskQuit) intent()   {}

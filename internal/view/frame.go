package view

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

	// Trial is the trial under way, or the last one that has ended; nil when
	// there was none.
	Trial *TrialView
	// Outages are the spans in which nodes were off or not Ready, in the order
	// in which they began; To is zero while one lasts.
	Outages []Outage
	// Replay is set when the frame comes from a record and not from a cluster.
	Replay *ReplayView

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
	// Busy is the action under way, with its phase and sentence; empty when
	// none. A drain before a shutdown is part of that; Text tells how it stands.
	Busy  power.Action
	Phase power.Phase
	Text  string
	// Machine says which machine stands for the node, for details.
	Machine string
	// LeftOff: the journal says that this program switched it off and has not
	// seen it on again.
	LeftOff bool
}

// TrialView is what is shown of a trial. It is immutable.
type TrialView struct {
	Name string
	// Dir is the folder of its record.
	Dir string
	// Free: there is no plan; the operator's own doings are the trial.
	Free bool
	// Driven: the plan's steps are taken one by one, each when the operator
	// says so. Waiting: the step at Next is waiting for that.
	Driven, Waiting bool
	Steps           []StepView
	// Next is the index of the step under way, or of the one to come;
	// len(Steps) when all are over.
	Next int
	// Doing is one sentence on the step under way or, when Waiting, on what
	// the next one will do ("next: shut down kube-node3, kube-node4").
	Doing   string
	Started time.Time
	// Phases is the table of predicted against observed so far.
	Phases []Phase
	// Verdict is empty until the trial has been judged; Why has its reasons
	// and Expectations what was wanted and seen.
	Verdict      Verdict
	Why          []string
	Expectations []Expectation
}

// StepView is one step of a trial's plan.
type StepView struct {
	// Name is unique in the plan, Text says what it does.
	Name, Text string
	// State is "to come", "under way", "done", "failed", "skipped" or "cut".
	State string
}

// OutageKind is what an Outage is about.
type OutageKind string

// Kinds of outages.
const (
	OutageOff      OutageKind = "off"       // the machine is off, or presumed so
	OutageNotReady OutageKind = "not ready" // the control plane says so
)

// Outage is a span in which a node was off or not Ready, by the time seen.
type Outage struct {
	Node     string
	Kind     OutageKind
	From, To time.Time
}

// ReplayView is where the replay of a record stands.
type ReplayView struct {
	Dir        string
	Start, End time.Time
	// Zero is the record's, also before the replay has come to it; the zero
	// time when there is none.
	Zero time.Time
	// Paused, and how many times faster than it happened it is played.
	Paused bool
	Speed  float64
	// Torn says in one sentence that the record was cut short; empty if not.
	Torn string
	// Marks are moments worth jumping to, in order.
	Marks []ReplayMark
}

// ReplayMark is a moment of a record with a word for it ("kube-node3 NotReady").
type ReplayMark struct {
	At   time.Time
	Text string
}

// Question is asked of the operator. It is answered by an Answer with its ID.
type Question struct {
	ID string
	// Kind is "switch" (power), "drain" (one is held up), "quit" (machines are
	// off), "restore" (left off or cordoned by an earlier run), "trial",
	// "rollout", "hostkey", "secret" (a passphrase is wanted).
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
	// AbortTrial ends the trial under way at once; Why is one sentence.
	AbortTrial struct{ Why string }
	// AskTrial asks for a question about trials: which to start, or, while one
	// is under way, whether to end or to abort it.
	AskTrial struct{}
	// NextStep takes the next step of a driven trial; the engine asks first
	// where it always asks. Step is TrialView.Next as the operator saw it: a
	// key that comes too late takes no other step.
	NextStep struct{ Step int }
	// AskRollout asks for a question about restarting a deployment's rollout.
	AskRollout struct{ Deployment cluster.Key }
	// AskQuit asks to leave; the engine either ends or asks a question first.
	AskQuit struct{}

	// ReplayPause pauses a replay or goes on with it.
	ReplayPause struct{}
	// ReplaySpeed plays Factor times as fast as now.
	ReplaySpeed struct{ Factor float64 }
	// ReplaySeek moves by By, or to the moment At when that is set.
	ReplaySeek struct {
		By time.Duration
		At time.Time
	}
)

func (AskPower) intent()    {}
func (Answer) intent()      {}
func (StartLoad) intent()   {}
func (StopLoad) intent()    {}
func (SetFocus) intent()    {}
func (Mark) intent()        {}
func (AbortTrial) intent()  {}
func (AskTrial) intent()    {}
func (NextStep) intent()    {}
func (AskRollout) intent()  {}
func (AskQuit) intent()     {}
func (ReplayPause) intent() {}
func (ReplaySpeed) intent() {}
func (ReplaySeek) intent()  {}

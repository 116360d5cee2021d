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
//
// What a record keeps of it is written as the types here are: their JSON names
// are those of the lines of a record.
type Frame struct {
	Title

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
	// Switching are the nodes of requests to switch that have not ended: being
	// looked at, asked about, or carried out. It is not recorded.
	Switching []string
	// Looked is what is known of the operator's Look; nil while nothing has been
	// told. It is not recorded.
	Looked *Looked
	// Places are what else could be shown; nil while they are not known. They are
	// not recorded.
	Places *Places
	// Recording is true while the record can be written; RecordErr says in
	// one sentence why it can't.
	Recording bool
	RecordErr string
	Notice    Notice
}

// Title is what the title line says of the session.
type Title struct {
	// Cluster is the cluster's name, Via the way to it ("via mdxuser@bastion"),
	// Pace is empty when it is real.
	Cluster string `json:"cluster,omitzero"`
	Via     string `json:"via,omitzero"`
	Pace    string `json:"pace,omitzero"`
	// Namespaces are those that are watched, joined by commas; empty is all.
	Namespaces string `json:"namespaces,omitzero"`

	ReadOnly   bool `json:"read_only,omitzero"`
	DryRun     bool `json:"dry_run,omitzero"`
	Production bool `json:"production,omitzero"`
}

// Notice is the newest thing that the operator must know and did not ask for:
// one sentence, and when it came up. Its Text is empty when there is none.
type Notice struct {
	Text string    `json:"text"`
	At   time.Time `json:"at,omitzero"`
	// Level is Good for what was hoped for, Warning for what went wrong.
	Level Severity `json:"level,omitzero"`
}

// MachineView is what is known of a node's machine.
type MachineView struct {
	Reading power.Reading `json:"reading,omitzero"`
	// Busy is the action under way, with its phase and sentence; empty when
	// none. A drain before a shutdown is part of that; Text tells how it stands.
	Busy  power.Action `json:"busy,omitzero"`
	Phase power.Phase  `json:"phase,omitzero"`
	Text  string       `json:"text,omitzero"`
	// Machine says which machine stands for the node, for details.
	Machine string `json:"machine,omitzero"`
	// LeftOff: the journal says that this program switched it off and has not
	// seen it on again.
	LeftOff bool `json:"left_off,omitzero"`
}

// TrialView is what is shown of a trial. It is immutable.
type TrialView struct {
	Name string `json:"name,omitzero"`
	// Dir is the folder of its record, Report the path of its report, which is
	// there soon after the verdict; empty before that and where there is none.
	Dir    string `json:"-"`
	Report string `json:"-"`
	// Free: there is no plan; the operator's own doings are the trial.
	Free bool `json:"free,omitzero"`
	// Driven: the plan's steps are taken one by one, each when the operator
	// says so. Waiting: the step at Next is waiting for that.
	Driven  bool       `json:"driven,omitzero"`
	Waiting bool       `json:"waiting,omitzero"`
	Steps   []StepView `json:"steps,omitempty"`
	// Next is the index of the step under way, or of the one to come;
	// len(Steps) when all are over.
	Next int `json:"next,omitzero"`
	// Doing is one sentence on the step under way or, when Waiting, on what
	// the next one will do ("next: shut down kube-node3, kube-node4"). It
	// changes often and is recorded beside the rest.
	Doing   string    `json:"-"`
	Started time.Time `json:"started,omitzero"`
	// Phases is the table of predicted against observed so far.
	Phases []Phase `json:"phases,omitempty"`
	// Verdict is empty until the trial has been judged; Why has its reasons
	// and Expectations what was wanted and seen.
	Verdict      Verdict       `json:"verdict,omitzero"`
	Why          []string      `json:"why,omitempty"`
	Expectations []Expectation `json:"expectations,omitempty"`
}

// StepView is one step of a trial's plan.
type StepView struct {
	// Name is unique in the plan, Text says what it does.
	Name  string    `json:"name"`
	Text  string    `json:"text,omitzero"`
	State StepState `json:"state"`
}

// StepState is where a step of a trial stands.
type StepState string

// States of a step.
const (
	StepToCome   StepState = "to come"
	StepUnderWay StepState = "under way"
	StepDone     StepState = "done"
	StepFailed   StepState = "failed"
	StepSkipped  StepState = "skipped" // the trial ended before it
	StepCut      StepState = "cut"     // ended before its own end
)

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

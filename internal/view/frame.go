package view

import (
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
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
	// Zero is the moment from which the record counts (docs/concepts.md); zero time
	// before that.
	Zero time.Time

	Snapshot *cluster.Snapshot
	// Power is the state of each node's machine, by node name.
	Power map[string]MachineView
	// History holds, by deployment, the available replicas once a second,
	// newest last, at most two minutes.
	History map[cluster.Key][]int

	Load loadgen.Run
	// NoLoad is empty when load can be sent, else one sentence why not.
	NoLoad string
	// Focus is the deployment that the gauge measures; zero if unknown.
	Focus cluster.Key

	// Events is the newest part of the timeline, oldest first.
	Events []Event
	// Next describes the next actions of the control plane, one sentence each, soonest
	// first.
	Next []string

	// Trial is the trial under way, or the last one that has ended; nil when
	// there was none.
	Trial *TrialView
	// Outages are the spans in which nodes were off or not Ready, in the order
	// in which they began; To is zero while one lasts.
	Outages []outage.Span
	// Replay is set when the frame comes from a record and not from a cluster.
	Replay *ReplayView

	// Question is the open question to the operator; nil if there is none.
	Question *Question
	// Switching lists the nodes of requests to switch that have not ended: being
	// polled, asked about, or carried out. Records leave it out.
	Switching []string
	// LeavesAfter lists the nodes that the session waits for before it ends, at the
	// operator's request; empty if it does not end. Records leave it out.
	LeavesAfter []string
	// Inspection has the answers about the object that the operator inspects; nil until
	// the first one. Records leave it out.
	Inspection *Inspection
	// Scopes are the other scopes that the screen could show; nil while they are
	// unknown. Records leave them out.
	Scopes *Scopes
	// Kubectl are the first words of a kubectl command for this cluster, Program is the command with which another
	// terminal shows it, and Restore the one that powers on what lightsout has left off, empty if the machines
	// end with the screen. Records leave them out.
	Kubectl          []string
	Program, Restore string
	// Recording is true while the record can be written; RecordErr is the reason, in
	// one sentence, why it cannot.
	Recording bool
	RecordErr string
	// RecordsOutage: an outage is being recorded that no trial caused.
	RecordsOutage bool
	Notice        Notice
}

// Title is the session's part of the title line.
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

// Notice is the newest message that the operator must see without having asked: one
// sentence, and its time. Its Text is empty if there is none.
type Notice struct {
	Text string    `json:"text"`
	At   time.Time `json:"at,omitzero"`
	// Level is Good for a success, Warning for a problem.
	Level Level `json:"level,omitzero"`
}

// MachineView is the last known state of a node's machine.
type MachineView struct {
	Reading power.Reading `json:"reading,omitzero"`
	// Busy is the action under way, with its stage and sentence; empty if there is
	// none. It includes a drain before a shutdown; Text describes its progress.
	Busy  power.Action `json:"busy,omitzero"`
	Stage power.Stage  `json:"stage,omitzero"`
	Text  string       `json:"text,omitzero"`
	// Machine names the machine of the node, for details.
	Machine string `json:"machine,omitzero"`
	// SSH is the command line that logs in to the machine; empty if the way is unknown. Records leave
	// it out.
	SSH string `json:"-"`
	// Names are the names in Machine, for a reader that replaces them. Records leave
	// them out.
	Names [2]MachineNames `json:"-"`
	// LeftOff: according to the journal, this program switched it off and has not seen
	// it on again.
	LeftOff bool `json:"left_off,omitzero"`
	// HeartbeatOpen: the machine is proven off, and a heartbeat of the node, which would prove that it is
	// another node's machine, may still come.
	HeartbeatOpen bool `json:"-"`
}

// GoesOff reports whether a request to switch the machine off is under way.
func (v MachineView) GoesOff() bool {
	return (v.Busy == power.ActionOff || v.Busy == power.ActionShutdown) && v.Stage.Active()
}

// TrialView is the part of a Frame about a trial. It is immutable.
type TrialView struct {
	Name string `json:"name,omitzero"`
	// Dir is the folder of its record, and Report the path of its report, which exists
	// soon after the verdict; empty before that and if there is none.
	Dir    string `json:"-"`
	Report string `json:"-"`
	// Keyboard: there is no plan; the operator's own actions are the trial.
	Keyboard bool `json:"keyboard,omitzero"`
	// Driven: the trial takes each step of the plan at the operator's request. Waiting:
	// the step at Next waits for that.
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
	// Verdict is empty until the trial has been judged; Why lists the reasons, and
	// Expectations the expected and observed values.
	Verdict      Verdict       `json:"verdict,omitzero"`
	Why          []string      `json:"why,omitempty"`
	Expectations []Expectation `json:"expectations,omitempty"`
}

// StepView is one step of a trial's plan.
type StepView struct {
	// Name is unique in the plan; Text describes the step.
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
	// Torn reports, in one sentence, that the record was cut short; empty otherwise.
	Torn string
	// Marks are moments worth jumping to, in order.
	Marks []Bookmark
}

// Bookmark is a moment of a record with a word for it ("kube-node3 NotReady").
type Bookmark struct {
	At   time.Time
	Text string
}

// Renew hands out a frame by a channel with room for one; it replaces one that nobody has received. It never
// blocks the only sender.
func Renew(frames chan *Frame, f *Frame) {
	select {
	case <-frames:
	default:
	}
	frames <- f
}

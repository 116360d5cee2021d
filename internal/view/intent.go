package view

import (
	"time"

	"lightsout/cluster"
	"lightsout/loadgen"
	"lightsout/power"
)

// Intent is a request of the operator: a value of one of the types below, an [Inspect] or
// a [SwitchScope]. The screen returns intents, and the session carries them out.
type Intent any

// NodeAct is what can be done to a node without its machine, as in kubectl.
type NodeAct string

// What can be done to a node.
const (
	ActCordon   NodeAct = "cordon"
	ActUncordon NodeAct = "uncordon" // only where lightsout has cordoned it
	ActDrain    NodeAct = "drain"
)

// Intents.
type (
	// AskPower asks for a question about switching the named nodes; with Drain, about draining them first.
	AskPower struct {
		Action power.Action
		Nodes  []string
		Drain  bool
	}
	// AskNodes asks for something to be done to nodes without their machines; the session
	// asks before a drain.
	AskNodes struct {
		Act   NodeAct
		Nodes []string
	}
	// Answer answers a question. Typed is the typed text, if the question asks for one.
	Answer struct{ Question, Choice, Typed string }
	// StartLoad starts sending; it replaces a hold or rate that is running and adds a
	// burst to it. With Ask the session asks first, until the operator has agreed once.
	// The session always asks before it sends more to a production cluster.
	StartLoad struct {
		Spec loadgen.Spec
		Ask  bool
	}
	// StopLoad stops starting requests; Cancel also ends those in flight.
	StopLoad struct{ Cancel bool }
	// SetFocus chooses the deployment that the gauge measures; requests still go to
	// load.url.
	SetFocus struct{ Deployment cluster.Key }
	// Remark puts a line of the operator's own on the timeline.
	Remark struct{ Text string }
	// AbortTrial ends the trial under way at once; Why is one sentence.
	AbortTrial struct{ Why string }
	// AskTrial asks for a question about trials: which to start, or, while one
	// is under way, whether to end or to abort it.
	AskTrial struct{}
	// NextStep takes the next step of a driven trial; the session asks first
	// where it always asks. Step is TrialView.Next as the operator saw it: a
	// key that comes too late takes no other step.
	NextStep struct{ Step int }
	// AskRollout asks for a question about restarting a deployment's rollout.
	AskRollout struct{ Deployment cluster.Key }
	// End ends the session in order, without a question. It first aborts a running
	// trial, which powers on the machines that it switched off. Why is one sentence.
	End struct{ Why string }
	// AskQuit asks to leave; the session either ends or asks a question first.
	AskQuit struct{}

	// RecordScreen begins to record the screen to a file, or ends that. It is
	// carried out by who shows the screen.
	RecordScreen struct{}
	// SaveScreen keeps a picture of the screen as it is, SaveTimeline the timeline as
	// text. ShowRecords asks for the list of records, ShowReport for the report of the
	// record in Dir, or else of the trial, in lines of Width cells. The program that shows
	// the screen carries them out too.
	SaveScreen   struct{}
	SaveTimeline struct{}
	// SaveText keeps lines of text in a file of that Kind: "yaml", "log" or "txt".
	SaveText struct {
		Kind  string
		Lines []string
	}
	ShowRecords struct{}
	ShowReport  struct {
		Dir   string
		Width int
	}

	// ReplayPause pauses or continues a replay.
	ReplayPause struct{}
	// ReplaySpeed plays Factor times as fast as now.
	ReplaySpeed struct{ Factor float64 }
	// ReplaySeek moves by By, or to the moment At when that is set.
	ReplaySeek struct {
		By time.Duration
		At time.Time
	}
)

package view

import (
	"strings"

	"lightsout/cluster"
	"lightsout/loadgen"
	"lightsout/power"
)

// Code identifies the kind of an event, for programs. The code of a transition consists
// of the kind of object and the aspect that changed; see TransitionCode.
type Code string

// Codes of transitions that other packages read.
const (
	CodeNodeStatus    Code = "node_status"
	CodeNodeHeartbeat Code = "node_heartbeat"
	CodeNodeBoot      Code = "node_boot"
	CodeNodeNode      Code = "node_node" // the node was created or deleted
	CodePodStatus     Code = "pod_status"
)

// All other codes, each with the Facts that it uses.
const (
	CodeMachineState     Code = "machine_state"   // Reading; From and To are power.States
	CodePowerOperation   Code = "power_operation" // Action, Stage, Reported
	CodeDrainBegun       Code = "drain_begun"     // N pods to go, Gone
	CodeDrainHeld        Code = "drain_held"      // Reported; Name is the pod, and Budget what holds it, if known
	CodeDrainCancelled   Code = "drain_cancelled"
	CodeDrained          Code = "drained"            // Gone, N stay
	CodeCordoned         Code = "cordoned"           //
	CodeCordonedBefore   Code = "cordoned_before"    //
	CodeUncordoned       Code = "uncordoned"         // Reported
	CodeDryRun           Code = "dry_run"            // Reported: the action that lightsout did not carry out
	CodeZero             Code = "zero"               //
	CodeSessionStarted   Code = "session_started"    //
	CodeRemark           Code = "remark"             // Reported: the operator's text
	CodeAPIAnswers       Code = "api_answers"        //
	CodeAPILost          Code = "api_lost"           // Reported
	CodeLoadStarted      Code = "load_started"       // Name
	CodeLoadChanged      Code = "load_changed"       // Name; From and To are sizes
	CodeLoadStopping     Code = "load_stopping"      //
	CodeLoadCancelled    Code = "load_cancelled"     //
	CodeLoadEnded        Code = "load_ended"         // Name, Counts, Reported
	CodeRequestsFail     Code = "requests_fail"      // Class, Reported
	CodeRequestsPartFail Code = "requests_part_fail" // N of Of failed
	CodeRequestsRecover  Code = "requests_recover"   // N of Of failed, within Seconds
	CodeRolloutRestarted Code = "rollout_restarted"  //
	CodeNodeReturned     Code = "node_returned"      // Seconds after the power-on
	CodeTrialStarted     Code = "trial_started"      // Name
	CodeTrialStep        Code = "trial_step"         // N of Of, Name
	CodeTrialStepFailed  Code = "trial_step_failed"  // Name, Reported
	CodeTrialAborted     Code = "trial_aborted"      // Reported
	CodeTrialPoweringOn  Code = "trial_powering_on"  // Nodes
	CodeTrialVerdict     Code = "trial_verdict"      // Verdict; Reported is the reason
	CodeReportWritten    Code = "report_written"     // Reported is the path
	CodeOutageSummary    Code = "outage_summary"     // Reported: the report's first sentences
	CodeOutageSign       Code = "outage_sign"        // Sign; At is when all was well last
	CodeOutageOver       Code = "outage_over"        // Seconds without a sign, or it is cut short; Nodes are still down
	CodeProgramPaused    Code = "program_paused"     // for Seconds
	CodePlannedOff       Code = "planned_off"        // Name is who switched the node off
	CodeLeads            Code = "leads"              // Reported is why it does; else Name is the host of the recorder that does
	CodeRecordFails      Code = "record_fails"       // Name, Reported
	CodeRecordWorks      Code = "record_works"       // Name, N lines missing
	CodeWarning          Code = "warning"            // Reported
)

// Facts are the facts of an Event besides its subject. The Code determines which fields
// are set. Names have fields of their own; only Reported is free text, for people, from
// another component or system.
type Facts struct {
	Name     string          `json:"name,omitempty"`
	Budget   string          `json:"budget,omitempty"` // the name of a PodDisruptionBudget
	Nodes    []string        `json:"nodes,omitempty"`
	N        int             `json:"n,omitempty"`
	Of       int             `json:"of,omitempty"`
	Gone     int             `json:"gone,omitempty"`
	Seconds  float64         `json:"seconds,omitempty"`
	Action   power.Action    `json:"action,omitempty"`
	Stage    power.Stage     `json:"stage,omitempty"`
	Proof    power.Proof     `json:"proof,omitempty"`
	Class    loadgen.Class   `json:"class,omitempty"`
	Counts   *loadgen.Counts `json:"counts,omitempty"`
	Verdict  Verdict         `json:"verdict,omitempty"`
	Sign     Sign            `json:"sign,omitempty"`
	Reported string          `json:"reported,omitempty"`
}

// TransitionCode returns the code of a change in the cluster: "pod_status".
func TransitionCode(t cluster.Transition) Code {
	return Code(strings.ReplaceAll(string(t.Subject.Kind), " ", "_") + "_" + string(t.Change))
}

// lanes lists the changes that have a lane of their own; every other change is in its
// subject's lane.
var lanes = map[cluster.Change]Lane{
	cluster.ChangeHeartbeat: LaneHeartbeat, cluster.ChangeTaint: LaneTaint,
	cluster.ChangeEndpoints: LaneEndpoints, cluster.ChangeEvent: LaneEvent,
}

// Transition returns the event of a change in the cluster.
func Transition(t cluster.Transition) Event {
	lane := lanes[t.Change]
	switch {
	case lane != "":
	case t.Subject.Kind == cluster.KindKnativeService, t.Subject.Kind == cluster.KindRevision:
		lane = LaneDeployment
	default:
		lane = Lane(t.Subject.Kind)
	}
	e := Event{
		At: t.SourceTime, Seen: t.When.By, Code: TransitionCode(t), Lane: lane, Kind: string(t.Subject.Kind), Change: t.Change,
		Namespace: t.Subject.Namespace, Subject: t.Subject.Name, From: t.From, To: t.To, Was: t.Was, Is: t.Is, Cause: t.Cause, Why: t.Why,
	}
	if t.Change == cluster.ChangeReplicas {
		e.N, e.Of = t.Available, t.Replicas
	}
	switch {
	case t.Is == cluster.HealthBad:
		e.Level = Bad
	case t.Was == cluster.HealthBad, t.Is == cluster.HealthGood && t.Change == cluster.ChangeStatus, t.Change == cluster.ChangeBoot:
		e.Level = Good
	case t.Change == cluster.ChangeTaint && t.From == "", t.Is == cluster.HealthChanging:
		e.Level = Warning
	}
	e.Text = e.Sentence()
	return e
}

// NewEvent returns any other event. The code determines its Lane and Level.
func NewEvent(code Code, subject string, f Facts) Event {
	k := codeSpecs[code]
	e := Event{Code: code, Lane: k.lane, Subject: subject, Level: k.level, Facts: f}
	e.Text = e.Sentence()
	return e
}

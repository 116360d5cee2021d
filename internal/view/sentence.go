package view

import (
	"fmt"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/text"
	"lightsout/power"
)

// codeSpec has the properties that all events of a code share.
type codeSpec struct {
	lane     Lane
	level    Level
	sentence func(e *Event) string
}

// always is a sentence without facts.
func always(s string) func(*Event) string { return func(*Event) string { return s } }

// after is a sentence that ends with Reported.
func after(s string) func(*Event) string { return func(e *Event) string { return s + e.Reported } }

// codeSpecs is the only source of the events' sentences.
var codeSpecs = map[Code]codeSpec{
	CodeMachineState:   {LanePower, Info, machineSentence},
	CodePowerOperation: {LanePower, Info, after("")},
	CodeDrainBegun: {LanePower, Info, func(e *Event) string {
		return "draining: " + text.Count(e.N, "pod", "pods") + " to go" + optional(e.Gone > 0, ", %d gone", e.Gone)
	}},
	CodeDrainHeld: {LanePower, Warning, func(e *Event) string {
		return "drain blocked: " + optional(e.Budget != "", "budget %s holds pod %s: ", e.Budget, e.Name) + e.Reported
	}},
	CodeDrainCancelled: {LanePower, Info, always("the drain is cancelled: lightsout evicts no more pods, and the node stays on")},
	CodeDrained: {LanePower, Good, func(e *Event) string {
		return "drained: " + text.Count(e.Gone, "pod has gone", "pods have gone") + optional(e.N > 0, ", %s with the node", text.Count(e.N, "stays", "stay"))
	}},
	CodeCordoned:       {LanePower, Info, always("cordoned: the scheduler places no more pods on it")},
	CodeCordonedBefore: {LanePower, Info, always("somebody else cordoned it before; it stays cordoned")},
	CodeUncordoned:     {LanePower, Good, after("")},
	CodeDryRun:         {LanePower, Info, after("dry run: ")},

	CodeZero:           {LaneOperator, Info, always("T+0: lightsout starts to switch off")},
	CodeSessionStarted: {LaneOperator, Info, always("session started")},
	CodeRemark:         {LaneOperator, Info, after("")},
	CodeAPIAnswers:     {LaneLink, Good, always("answers")},
	CodeAPILost:        {LaneLink, Bad, after("does not answer: ")},

	CodeLoadStarted:   {LaneLoad, Info, func(e *Event) string { return e.Name + " started" }},
	CodeLoadChanged:   {LaneLoad, Info, func(e *Event) string { return e.Name + " changed: " + e.From + " → " + e.To }},
	CodeLoadStopping:  {LaneLoad, Info, always("no more requests are started")},
	CodeLoadCancelled: {LaneLoad, Info, always("stopped, requests in flight are cancelled")},
	CodeLoadEnded:     {LaneLoad, Good, func(e *Event) string { return e.Name + " ended: " + e.Reported }},
	CodeRequestsFail: {LaneLoad, Bad, func(e *Event) string {
		return "requests begin to fail: " + e.Class.String() + optional(e.Reported != "", " (%s)", e.Reported)
	}},
	CodeRequestsPartFail: {LaneLoad, Bad, func(e *Event) string {
		return fmt.Sprintf("some of the requests fail: %d of %d", e.N, e.Of)
	}},
	CodeRequestsRecover: {LaneLoad, Good, func(e *Event) string {
		return fmt.Sprintf("requests sent from now on succeed; before, %d of %d failed, the last %.1f s after the first was sent", e.N, e.Of, e.Seconds)
	}},

	CodeRolloutRestarted: {LaneOperator, Info, always("rollout restarted")},
	CodeNodeReturned:     {LaneNode, Good, func(e *Event) string { return "Ready, " + e.ago() + " after the power-on" }},

	CodeTrialStarted:    {LaneOperator, Info, func(e *Event) string { return "trial " + e.Name + " started" }},
	CodeTrialStep:       {LaneOperator, Info, func(e *Event) string { return fmt.Sprintf("step %d of %d: %s", e.N, e.Of, e.Name) }},
	CodeTrialStepFailed: {LaneOperator, Bad, func(e *Event) string { return "step failed: " + e.Name + ": " + e.Reported }},
	CodeTrialAborted:    {LaneOperator, Warning, after("aborted: ")},
	CodeTrialPoweringOn: {LaneOperator, Info, func(e *Event) string {
		return "powering on the machines that the trial switched off: " + strings.Join(e.Nodes, ", ")
	}},
	CodeTrialVerdict: {LaneOperator, Bad, func(e *Event) string {
		return "verdict: " + string(e.Verdict) + optional(e.Reported != "", ": %s", e.Reported)
	}},
	CodeOutageSummary: {LaneOperator, Info, after("")},
	CodeReportWritten: {LaneOperator, Info, after("the report is ")},

	CodeOutageSign: {LaneOperator, Bad, func(e *Event) string { return "sign of an outage, counted from " + e.Sign.LastGood(e.Subject) }},
	CodeOutageOver: {LaneOperator, Info, func(e *Event) string {
		return "the record of the outage ends" + optional(e.Seconds > 0, " after %s without a new sign", e.ago()) + optional(len(e.Nodes) > 0, "; still down: %s", text.List(e.Nodes))
	}},
	CodeLeads: {LaneOperator, Info, func(e *Event) string {
		if e.Reported == "" {
			return "stands by: the recorder on " + e.Name + " reports outages"
		}
		return "reports outages: " + e.Reported
	}},
	CodeProgramPaused: {LaneOperator, Warning, func(e *Event) string {
		return "did not run for " + e.ago() + ": it saw nothing in that time"
	}},
	CodePlannedOff: {LaneOperator, Info, func(e *Event) string { return "planned: " + e.Name + " has its machine go off" }},

	CodeRecordFails: {LaneOperator, Bad, func(e *Event) string { return e.Name + " cannot be written (retrying): " + e.Reported }},
	CodeRecordWorks: {LaneOperator, Good, func(e *Event) string {
		if e.N == 0 {
			return e.Name + " can be written again; nothing is missing"
		}
		return fmt.Sprintf("%s can be written again; %s missing", e.Name, text.Count(e.N, "line of it is", "lines of it are"))
	}},
	CodeWarning: {LaneOperator, Warning, after("")},
}

// Sentence describes the event in words, without its subject. It may contain text from
// outside: clean it before showing it.
func (e Event) Sentence() string {
	if k, ok := codeSpecs[e.Code]; ok {
		return k.sentence(&e)
	}
	if e.Change == "" && e.Text != "" {
		return e.Text
	}
	return transitionSentence(&e)
}

// optional formats a part of a sentence that is there at times only.
func optional(is bool, format string, args ...any) string {
	if !is {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

func (e *Event) ago() string { return text.Span(time.Duration(e.Seconds * float64(time.Second))) }

func machineSentence(e *Event) string {
	presumed := e.To == power.Off.String() && e.Proof == power.Presumed
	return "machine " + optional(presumed, "presumed ") + e.To + optional(e.Reported != "", " (%s)", e.Reported)
}

// knativeWords begin the sentences about objects in the lane of their deployments.
var knativeWords = map[cluster.Kind]string{cluster.KindKnativeService: "Knative service ", cluster.KindRevision: "revision "}

// transitionSentence describes a change in the cluster.
func transitionSentence(e *Event) string {
	var s string
	switch {
	case e.From == "" && e.To == "":
		s = string(e.Change)
	case e.From == "" && e.Kind == string(cluster.KindPod) && e.Change == cluster.ChangeNode:
		s = "placed on " + e.To
	case e.From == "" && e.Kind == string(cluster.KindPod) && e.Change == cluster.ChangeStatus:
		s = "created (" + e.To + ")"
	case e.From == "":
		s = e.To
	case e.To == "":
		s = "deleted (was " + e.From + ")"
	default:
		s = e.From + " → " + e.To
	}
	if what := knativeWords[cluster.Kind(e.Kind)]; what != "" && e.Change == cluster.ChangeStatus {
		s = what + s
		if e.Is != cluster.HealthGood && e.To != "" && e.Why != "" {
			s += ": " + e.Why
		}
	}
	switch e.Change {
	case cluster.ChangeHeartbeat:
		return "heartbeat " + e.To
	case cluster.ChangeEndpoints, cluster.ChangeReplicas:
		return s + " " + e.Why
	case cluster.ChangeBoot:
		return "rebooted (new boot ID)"
	case cluster.ChangeTaint:
		if e.To == "" {
			return "taint " + e.From + " gone"
		}
		return "taint " + e.To
	case cluster.ChangeEvent:
		if e.Why != "" {
			s += ": " + e.Why
		}
		return s
	case "", cluster.ChangeStatus, cluster.ChangeNode, cluster.ChangeReady:
		return s
	}
	return string(e.Change) + " " + s
}

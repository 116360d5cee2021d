package record

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/internal/clock"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// The files of a record's folder.
const (
	PlanFile     = "plan.yaml"      // the plan as it was given, or as the keyboard made it
	EventsFile   = "events.jsonl"   // one view.Event a line
	RequestsFile = "requests.jsonl" // one loadgen.Record a line
	SamplesFile  = "samples.jsonl"  // one Sample a line
	SummaryFile  = "summary.json"   // a Summary; written last, by rename
	ReportFile   = "report.md"
	HTMLFile     = "report.html"
)

// ReportPath returns the absolute path of the report of the record in dir.
func ReportPath(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return filepath.Join(dir, HTMLFile)
}

// SummaryVersion is the version of the schema of Summary. It changes when a
// field's meaning does; fields may be added under the same version.
const SummaryVersion = 2

// Summary is summary.json: expectations, forecasts and observations. All offsets are
// seconds from Zero, the time of the first power-off request; a null offset was not
// observed.
type Summary struct {
	Version int          `json:"version"`
	Name    string       `json:"name"`
	About   string       `json:"about,omitempty"`
	Verdict view.Verdict `json:"verdict"`
	// Why lists the reasons for the verdict, the most important first.
	Why []string `json:"why,omitempty"`
	// Pace is "real", or "fast" when a lab shortens Kubernetes' timings.
	Pace string `json:"pace"`
	// Cluster is the kubeconfig context, Server the API server's version.
	Cluster string `json:"cluster,omitempty"`
	Server  string `json:"server,omitempty"`
	// Deployment is the one that the load goes to, namespace/name.
	Deployment string    `json:"deployment,omitempty"`
	Started    time.Time `json:"started"`
	// Zero is when the first power-off was asked for; absent when none was.
	Zero time.Time `json:"zero,omitzero"`
	// Disrupted is when the first drain or power-off began.
	Disrupted time.Time `json:"disrupted,omitzero"`
	Ended     time.Time `json:"ended"`

	Settings     []Setting          `json:"settings"`
	Expectations []view.Expectation `json:"expectations"`
	// Outages lists the power-off requests, each with the power-on request that
	// followed.
	Outages loadgen.PowerOffs `json:"outages,omitempty"`
	Steps   []Step            `json:"steps"`
	Phases  []view.Phase      `json:"phases"`
	Load    []Load            `json:"load"`
	Ledger  Ledger            `json:"ledger"`
	Nodes   []Node            `json:"nodes"`
	Blind   []Blind           `json:"blind"`
	// Skew is how the pods of Deployment lay over the nodes at the end, Start
	// how they lay when the trial began; by node, with zeros.
	Skew      map[string]int `json:"skew,omitempty"`
	SkewStart map[string]int `json:"skew_start,omitempty"`
	// LowestAvailable is the least number of available pods of Deployment since
	// Disrupted; null: not observed. SkewBeforeRollout is the largest minus the
	// smallest number of its pods on a worker when the first rollout began.
	LowestAvailable   *int `json:"lowest_available,omitempty"`
	SkewBeforeRollout *int `json:"skew_before_rollout,omitempty"`
	// Pending is the number of pods without a node at the first power-on request, or at
	// the end; null: not observed. PendingForecast is the range that lightsout forecast at
	// the last power-off request.
	Pending         *int    `json:"pending,omitempty"`
	PendingForecast *[2]int `json:"pending_forecast,omitempty"`
	// Forecast lists the forecast at the first power-off request: the effects, and what
	// will not happen.
	Forecast []string `json:"forecast,omitempty"`
	// LeftOff names the nodes whose machines were still off at the end. Restore is the
	// command that powers them on, on the host where the trial ran; a redacted record
	// has none.
	LeftOff []string `json:"left_off,omitempty"`
	// MayGoOff names the nodes whose machines were on at the end but may still go off:
	// the power API may carry out lightsout's last request to switch them off late.
	MayGoOff []string `json:"may_go_off,omitempty"`
	Restore  string   `json:"restore,omitempty"`
	// ClockSet is how far, in seconds, the wall clock was set while the record was kept, in either
	// direction. Times of requests and events are by that clock, all others by one that nobody sets.
	ClockSet float64 `json:"clock_set,omitempty"`
	// Unplanned is there if the recorder wrote the record. Zero is then the time of the
	// first sign, and the verdict is empty.
	Unplanned *Unplanned `json:"unplanned,omitempty"`
}

// Unplanned describes an outage that nobody planned.
type Unplanned struct {
	Severity Severity `json:"severity"`
	// Why is why nobody knows what clients noticed; empty if somebody does.
	Why string `json:"why,omitempty"`
	// Signs are the signs of the outage in the order in which the recorder noticed them.
	Signs []Sign `json:"signs"`
	// Unseen lists what the recorder did not see, a sentence each.
	Unseen []string `json:"unseen,omitempty"`
	// RequestsFrom is there if the recorder had forgotten requests that ended after zero, and
	// until then: they are neither counted nor in requests.jsonl.
	RequestsFrom *time.Time `json:"requests_from,omitempty"`
}

// Sign is one sign of an outage.
type Sign struct {
	Kind view.Sign `json:"kind"`
	// Subject is the node or the service; empty for other signs.
	Subject string `json:"subject,omitempty"`
	// Action is how the operator switched the node's machine off.
	Action power.Action `json:"action,omitempty"`
	// At is when all was well last, Noticed when the recorder noticed the sign.
	At      time.Time `json:"at"`
	Noticed time.Time `json:"noticed"`
}

// Severity is what clients noticed of an outage, in a word.
type Severity string

// Severities of an outage.
const (
	SeverityUnknown    Severity = "unknown" // too few requests were sent, or ended by themselves, to tell
	SeverityNoneFailed Severity = "no request failed"
	SeverityDegraded   Severity = "degraded" // some requests failed
	SeverityDown       Severity = "down"     // three or more requests failed while none succeeded for at least 3 s, or since: loadgen.Series.Service
)

// Setting is one timing in force.
type Setting = forecast.Setting

// Step is one step of the plan as it went.
type Step struct {
	Name  string         `json:"name"`
	State view.StepState `json:"state"`
	// Started and Ended are wall-clock times; zero when it never began.
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	// Text is one sentence on how it ended.
	Text string `json:"text,omitempty"`
}

// Load is one load step.
type Load struct {
	Step string `json:"step"`
	// Run is the number of its run in requests.jsonl.
	Run int `json:"run"`
	// Sent is how many requests were sent; Sent = OK + Failed + Cancelled + InFlight.
	Sent int `json:"sent"`
	// Counts account for them.
	loadgen.Counts
	// PeakServed and PeakQueued are the gauge's largest values during the step; Basis
	// is their source ("measured", "partly", "estimated").
	PeakServed int    `json:"peak_served"`
	PeakQueued int    `json:"peak_queued"`
	Basis      string `json:"basis,omitempty"`
	// PeakStreaming is the largest number of answers of which bytes came within the same
	// 2 s: of lightsout's own requests alone, whoever else uses the service.
	PeakStreaming int `json:"peak_streaming,omitempty"`
	Failures
	// Steady: the load has the shape hold or rate.
	Steady bool `json:"steady,omitempty"`
	// FailedAfterDetection counts, at least and at most, the failed requests that were sent after zero while the
	// control plane had marked the nodes of all machines that were off NotReady; null when a
	// node was not detected each time that it went off, or when no request was sent after the
	// last detection that succeeded or failed.
	FailedAfterDetection *[2]int `json:"failed_after_detection,omitempty"`
	// Started and Ended are offsets; negative before zero, null without one.
	Started *float64 `json:"started,omitempty"`
	Ended   *float64 `json:"ended,omitempty"`
}

// Ledger accounts for every request of the session.
type Ledger struct {
	loadgen.Counts
	// Balanced reports whether the generator's own ledger balanced.
	Balanced bool `json:"balanced"`
}

// Node is a node whose machine was switched.
type Node struct {
	Name    string `json:"name"`
	Machine string `json:"machine"`
	// OffProof and OnProof say how well it is known that the machine was off,
	// and on again: "proven (PowerOFF)", "presumed (ssh silent, node silent)",
	// "proven (booted)", "none".
	OffProof string `json:"off_proof"`
	OnProof  string `json:"on_proof"`
}

// AddStanding adds a node's machine to those that are left off or may go off, if it is one of them. One
// that was seen off is not if the newest reading proves it on.
func (s *Summary) AddStanding(node string, standing power.Standing, newest power.Reading) {
	switch {
	case standing == power.MayGoOff:
		s.MayGoOff = append(s.MayGoOff, node)
	case standing == power.MayBeOff, standing == power.StandsOff && !newest.Proves(power.On):
		s.LeftOff = append(s.LeftOff, node)
	}
}

// NodeOf is a node whose machine was switched, with the proofs of the phases that were observed, and of
// the newest reading since it was powered on.
func NodeOf(name, machine string, phases []view.Phase, since power.Reading) Node {
	n := Node{Name: name, Machine: machine, OffProof: "none", OnProof: "none"}
	if since.State == power.On {
		n.OnProof = since.With(since.Proof.String())
	}
	for _, p := range phases {
		switch {
		case p.Subject != name || p.Observed == nil:
		case p.Name == view.PhaseOff:
			n.OffProof = p.Note
		case p.Name == view.PhaseBooted:
			n.OnProof = "proven (booted)"
		}
	}
	return n
}

// Blind is a span in which the API server did not answer, or answered late, or lightsout
// stood still.
type Blind struct {
	// From and To are seconds from zero, or from the start if there is no zero.
	From float64 `json:"from"`
	To   float64 `json:"to"`
	Why  string  `json:"why"`
	// StoodStill: lightsout itself did not run, so it sent no requests either.
	StoodStill bool `json:"stood_still,omitempty"`
}

// BlindOf lists what a Snapshot tells of the blind spans from one time to another, in seconds by offset.
func BlindOf(s *cluster.Snapshot, offset func(time.Time) float64, from, to time.Time) (out []Blind) {
	for _, b := range s.Blind() {
		b.From, b.To = clock.Latest(b.From, from), cmp.Or(b.To, to)
		if b.From.Before(b.To) {
			out = append(out, Blind{From: offset(b.From), To: offset(b.To), Why: b.Reason(), StoodStill: b.StoodStill})
		}
	}
	return out
}

// Unasked reports whether there were loads, and none of their requests succeeded or failed after zero.
func (s *Summary) Unasked() bool {
	return len(s.Load) > 0 && !slices.ContainsFunc(s.Load, func(l Load) bool { return !l.Unasked })
}

// Write writes summary.json into dir: whole or not at all. Lists that are empty
// are written as such, never as null. Names are replaced.
func (s *Summary) Write(dir string, names *Names) error {
	c := *s
	c.Settings, c.Expectations, c.Steps = some(c.Settings), some(c.Expectations), some(c.Steps)
	c.Phases, c.Load, c.Nodes, c.Blind = some(c.Phases), some(c.Load), some(c.Nodes), some(c.Blind)
	for i := range c.Load {
		if c.Load[i].FailedByClass == nil {
			c.Load[i].FailedByClass = map[loadgen.Class]int{}
		}
	}
	return WriteSummary(dir, c, names)
}

// WriteSummary writes a summary of any kind as summary.json into dir, complete or not
// at all. It replaces names. The error describes the failure.
func WriteSummary(dir string, summary any, names *Names) error {
	b, err := json.MarshalIndent(summary, "", "  ")
	if err != nil {
		return fmt.Errorf("the summary can't be written: %w", err)
	}
	return text.WriteFile(filepath.Join(dir, SummaryFile), func(f *os.File) error {
		_, err := f.Write(append(names.JSON(b), '\n'))
		return errors.Join(err, f.Sync())
	})
}

func some[T any](list []T) []T {
	return append([]T{}, list...)
}

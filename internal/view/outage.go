package view

import (
	"cmp"
	"strings"
	"time"
)

// Sign is what shows that an outage has begun.
type Sign string

// Signs of an outage, by which the recorder notices it.
const (
	SignSilent   Sign = "silent"    // a node's heartbeat is overdue
	SignNotReady Sign = "not ready" // a node is not Ready, and is heard
	SignNotBack  Sign = "not back"  // a node has not returned after a planned switch-off
	// SignSwitchedOff: the operator of the screen had a node's machine asked to go off, without a trial.
	SignSwitchedOff Sign = "off"
	SignEndpoints   Sign = "endpoints" // a service has lost its last ready endpoint
	SignRequests    Sign = "requests"  // requests fail
	SignPending     Sign = "pending"   // pods find no node
	SignAPI         Sign = "api"       // the API server does not answer
)

// SettlesAfterAPI is how long after the API server answers again the control plane may still
// take nodes for silent that could not renew their Leases meanwhile: a kubelet renews each
// 10 s and waits at most 7 s after an error (pkg/kubelet/kubelet.go,
// k8s.io/component-helpers/apimachinery/lease).
const SettlesAfterAPI = 15 * time.Second

// HowDown is how a node went down, in words.
type HowDown struct {
	// Text stands in tables; One and Several follow the name of one node, and of several.
	Text, One, Several string
}

// signWords are the words of a sign; … is its subject. A sign has either a clause or, if it is that of a
// node, how that went down.
type signWords struct {
	// subject names, on the timeline, that of a sign that concerns no single object.
	subject string
	// lastGood describes the last observation before it.
	lastGood string
	// clause is what happened, up to its time.
	clause string
	down   HowDown
}

// Signs are the words of all signs.
var Signs = map[Sign]signWords{
	SignSilent:   {lastGood: "the last heartbeat of …", down: HowDown{"unplanned: its heartbeats stopped", "fell silent", "fell silent"}},
	SignNotReady: {lastGood: "the end of …'s readiness", down: HowDown{"unplanned: not Ready", "became NotReady", "became NotReady"}},
	SignNotBack: {lastGood: "the end of the planned switch-off of …",
		down: HowDown{"not back after a planned switch-off", "was due back from a planned switch-off", "were due back from a planned switch-off"}},
	SignSwitchedOff: {lastGood: "the request to switch off …", down: HowDown{"asked to go off by lightsout", "was asked to go off", "were asked to go off"}},
	SignEndpoints:   {lastGood: "the loss of the last ready endpoint of …", clause: "service … lost its last ready endpoint at"},
	SignRequests:    {subject: "load", lastGood: "the last good answer to a request", clause: "requests began to fail after"},
	SignPending:     {subject: "pods", lastGood: "the first pod without a node", clause: "pods found no node from"},
	SignAPI:         {subject: "API server", lastGood: "the last answer of the API server", clause: "the API server gave lightsout no answer any more from"},
}

// OfNode reports whether the sign is that of a node.
func (s Sign) OfNode() bool { return s.Down() != HowDown{} }

// Down is how a node with the sign went down; the zero value for signs of anything else.
func (s Sign) Down() HowDown { return Signs[s].down }

// Named names the subject of a sign, also of one that concerns no single object.
func (s Sign) Named(subject string) string { return cmp.Or(subject, Signs[s].subject) }

// LastGood describes the last observation before a sign; its time is that of the sign.
func (s Sign) LastGood(subject string) string {
	return strings.ReplaceAll(cmp.Or(Signs[s].lastGood, string(s)), "…", subject)
}

// Clause is what happened by a sign that is not of a node, up to its time; empty if it is of a node.
func (s Sign) Clause(subject string) string {
	return strings.ReplaceAll(Signs[s].clause, "…", subject)
}

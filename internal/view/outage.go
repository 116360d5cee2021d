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
	// SignSwitchedOff: the operator of the screen switched a node's machine off, without a trial.
	SignSwitchedOff Sign = "off"
	SignEndpoints   Sign = "endpoints" // a service has lost its last ready endpoint
	SignRequests    Sign = "requests"  // requests fail
	SignPending     Sign = "pending"   // pods find no node
	SignAPI         Sign = "api"       // the API server does not answer
)

// SignSubjects are the subjects, on the timeline, of signs that concern no single object.
var SignSubjects = map[Sign]string{SignAPI: "API server", SignRequests: "load", SignPending: "pods"}

// SettlesAfterAPI is how long after the API server answers again the control plane may still
// take nodes for silent that could not renew their Leases meanwhile: a kubelet renews each
// 10 s and waits at most 7 s after an error (pkg/kubelet/kubelet.go,
// k8s.io/component-helpers/apimachinery/lease).
const SettlesAfterAPI = 15 * time.Second

// OfNode reports whether the sign is that of a node.
func (s Sign) OfNode() bool {
	return s == SignSilent || s == SignNotReady || s == SignNotBack || s == SignSwitchedOff
}

// lastGood describes, for each sign, the last observation before it; … is its subject.
var lastGood = map[Sign]string{
	SignSilent:      "the last heartbeat of …",
	SignNotReady:    "the end of …'s readiness",
	SignNotBack:     "the end of the planned switch-off of …",
	SignSwitchedOff: "the request to switch off …",
	SignEndpoints:   "the loss of the last ready endpoint of …",
	SignRequests:    "the last good answer to a request",
	SignPending:     "the first pod without a node",
	SignAPI:         "the last answer of the API server",
}

// LastGood describes the last observation before a sign; its time is that of the sign.
func (s Sign) LastGood(subject string) string {
	return strings.ReplaceAll(cmp.Or(lastGood[s], string(s)), "…", subject)
}

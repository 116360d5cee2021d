// Package recorder records outages without a trial: those that nobody planned, and on a screen those
// that the operator causes.
//
// A Recorder is the guest of a session without power drivers, or of a screen: it receives what the
// session observes, and acts on nothing.
//
// # The model
//
// A condition is what a snapshot, or the ends of requests, show: a node is down, a service has no
// endpoint, the API server does not answer, requests fail. All kinds are rows of
// one table (kinds.go). While the API server does not answer, the state of nodes and
// endpoints is unknown, and what showed before goes on.
//
// An alert is a condition over time (alert.go). It is pending until the condition has shown for the
// hold of its kind, then firing, and forgotten when the condition resolves. Its sign is what the
// record has of it. An alert that goes on when its record ends is told: it begins no other record. So
// is that of a node which was cordoned before it went down, and one that at the first look is older
// than Options.Past; a younger one begins a record, in which the time until then is a blind span.
//
// A mute covers alerts for a time: a planned switch-off (package planned; plan.go), a record that has ended, the time
// before the first good answer. While it does, they are muted, and one that outlives it began at its
// end. A trial is a mute too: it keeps the record of all alerts but those of nodes that it did not
// switch, so those under it are told. A failed request is muted if a mute covers any moment in which it
// was in flight (requests.go).
//
// The first alert that fires opens an incident, and its time is the zero. The incident ends when no
// alert has shown for Options.Steady (incident.go). What others hear of it is in notice.go
// and package reporting; its summary, and what clients noticed, in summary.go. keep.go keeps the
// folder of the records in order.
//
// On a screen, a machine that the operator switches off is a condition like the others, until it is
// on again; only a trial mutes it.
//
// To add a kind of alert, begin at rules.
package recorder

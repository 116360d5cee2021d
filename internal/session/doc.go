// Package session is the loop of a running lightsout: facts in, frames out. It
// puts power, cluster and requests on one clock, switches machines, drains nodes,
// sends load and keeps the timeline; it never waits for a screen. What is shown
// is handed out as Frames, newest wins; what the operator wants comes back as
// Intents; every Event is on disk before it is in a Frame.
//
// It is wired in one direction: a Recorder and Questions first, which the parts
// below are told to use; then a Session of all of them; then Run, with a Guest.
// session.go has the loop, and each other file a part of it with its own state:
// machines, switching, cordons, drains, loads, rollouts, leaving. All parts belong
// to the loop's goroutine and see what the session is made of (loop.go). What takes
// long is done in a goroutine of its own, which posts what came of it.
//
// Where there is no cluster and only requests are sent, LoadOnly shows these
// without a session.
//
// A trial is a Guest: it is told what happens, and acts by Controls. The package
// knows nothing of plans, phases and verdicts, and draws nothing. Connections are
// made, and machines switched, by the packages below.
package session

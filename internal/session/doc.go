// Package session is the loop of a running lightsout: facts in, frames out. It puts
// power, cluster and requests on one clock, switches machines, drains nodes, sends load
// and keeps the timeline; it never waits for a screen. The session sends Frames, of
// which only the newest counts, and receives the operator's Intents. Every Event is on
// disk before a Frame contains it.
//
// It is wired in one direction: a RecordWriter and Questions first, which the parts below
// use; then a Session of all of them; then Run, with a Guest. session.go has the loop,
// and each other file a part of it with its own state: machines, switching, cordons,
// drains, loads, rollouts, leaving. All parts belong to the loop's goroutine and see
// what the session is made of (loop.go). Slow work runs in a goroutine of its own,
// which posts its result to the loop.
//
// A trial is a Guest: it receives the events, and acts through Controls. This package
// does not know plans, phases or verdicts, and draws nothing. The packages below it
// make connections and switch machines.
package session

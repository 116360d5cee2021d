// Package session puts power, cluster and requests on one clock. Its Engine
// watches, switches, sends load and keeps the timeline; it never waits for a
// screen. What is shown is handed out as Frames, newest wins; what the operator
// wants comes back as Intents; every Event is on disk before it is in a Frame.
//
// A trial is a plan that the engine carries out step by step, or what the
// operator does by keyboard: run.go has its course, step.go the steps, verdict.go
// the judgement. Beside it stand the plan file (plan), the phases that are
// forecast and observed (phase), the folder that keeps the proof (record),
// reports made from it (report), and its replay on the same screen (replay).
//
// The package stands above cluster, power and loadgen, which do not know each
// other: what one has to know of another is carried here. It may do file I/O
// for the record and nothing else; connections are made by the packages below.
// It draws nothing.
package session

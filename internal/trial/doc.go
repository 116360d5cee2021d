// Package trial runs plans, judges the observations, and writes the record.
//
// A Runner is the guest of a session (they only share interfaces; internal/cli connects
// them). It runs trials one after the other: a plan, step by step, or the operator's
// actions by keyboard. run.go has a trial's course, step.go what each step does,
// cleanup.go ends it, verdict.go judges it, keep.go writes its record.
// Beside it stand the plan file (plan) and the phases that are forecast and observed
// (phase).
//
// This package decides the order of the steps and judges their results. The session
// carries the steps out, and has all goroutines that act on the cluster.
package trial

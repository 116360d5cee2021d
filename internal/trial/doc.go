// Package trial carries plans out, judges what was seen, and keeps the record.
//
// A Runner is the guest of a session (the two know each other by interfaces
// alone; internal/cli brings them together). It runs trials one after the other:
// a plan, step by step, or what the operator does by keyboard. run.go has a
// trial's course, step.go what each step does, cleanup.go how it is ended,
// verdict.go how it is judged, keep.go what is written. Beside it stand the plan
// file (plan) and the phases that are forecast and observed (phase).
//
// What lives here decides what is to be done when, and what it proves. How it is
// done, and all goroutines that act on the cluster, are the session's.
package trial

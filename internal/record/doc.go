// Package record reads and writes the folder that keeps the evidence of a trial. The
// writers hand each line to the operating system before they return, so that a record
// is complete up to the end of the program, even after a crash; the readers accept a
// torn last line. If the disk is full, lines wait and the writer retries; an event
// reports a gap.
//
// Events and requests are the proof, and are read strictly. Samples keep the
// state of the screen beside them: differences, with a keyframe now and then, from which
// a State restores it. A lost line of them costs the time up to the next keyframe.
//
// The package knows the value types of cluster, power and loadgen and nothing
// of sessions; a picture of the screen is drawn by a function that it is given.
// It receives verdicts and forecasts and makes none.
package record

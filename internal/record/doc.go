// Package record is the folder that keeps the proof of a trial: what is in it,
// how it is written while the trial runs, and how it is read afterwards. The
// writers hand each line to the operating system before they return, so that a
// record is complete up to the moment at which the program ended, however it
// ended; the readers take a torn last line for what it is. What can't be written,
// because the disk is full, waits and is tried again; a gap is told.
//
// Events and requests are the proof, and are read strictly. What was on the
// screen is kept beside them as Samples: differences, with a keyframe now and
// then, that a State puts together again; a line of them that is lost costs the
// time up to the next keyframe.
//
// The package knows the value types of cluster, power and loadgen and nothing
// of sessions; a picture of the screen is drawn by a function that it is given.
// What is judged and forecast is handed to it.
package record

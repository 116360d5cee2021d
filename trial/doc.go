// Package trial puts power, cluster and requests on one clock. Its Engine
// watches, switches, sends load and keeps the timeline; it never waits for a
// screen. What is shown is handed out as Frames, newest wins; what the operator
// wants comes back as Intents; every Event is on disk before it is in a Frame.
//
// The package stands above cluster, power and loadgen, which do not know each
// other: what one has to know of another is carried here. It may do file I/O
// for the record and nothing else; connections are made by the packages below.
// It draws nothing.
package trial

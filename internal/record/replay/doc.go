// Package replay plays the record of a trial or a session: it hands out the
// Frames that the session handed out then, with their clock, and carries out the
// intents that move about in time. It needs no cluster and switches nothing.
//
// Package record reads records; this package converts its State into a Frame, keeps the
// replay's clock, and finds the moments worth jumping to. It draws nothing and does no
// I/O.
package replay

// Package text makes hostile text harmless, and writes words, lengths of time
// and lines of a given width the same way everywhere.
//
// Whatever comes from a cluster, a server, a power API, another machine or a
// record goes through [Clean] before it is kept or written, and through [Cells]
// before it is drawn on a screen. Nothing here knows what a text is about: this
// is the ground floor, and it imports nothing of this module.
package text

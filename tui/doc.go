// Package tui is the screen: it draws a view.Frame and turns keys into
// view.Intents.
//
// The screen is one tea.Model, Model.
// Model holds the newest frame, the panes and a stack of dialogs. A pane implements one small interface (pane): it finds its rows, draws
// itself in given cells, handles movement keys, and returns the object under
// its cursor and its filter. paneSpecs lists all panes: a new one needs a file with its
// spec, and a line there. Lists share their columns, headers, order, filter and cursor
// (list). A drawn pane stays until its data changes, or a second has passed. Rows,
// selections and marks are keyed by identity (a node's name, an object's key), never by
// index.
//
// A Painter draws the same screen as text, for recordings and pictures. A frame of a
// record has a scrubber. There is one list of common keys (commonKeys) besides each
// pane's own; each key declares its needs (need), so that a replay refuses keys that
// switch, send or mark, and a screen without a cluster refuses keys that need one.
//
// What may live here: layout, drawing, keys, words for what other packages
// know. What may not: I/O of any kind, goroutines, decisions about machines,
// pods or requests. Nothing here waits; an intent is handed to Options.Send,
// which must not block. Everything that came from outside the program passes
// through clean before it is drawn.
//
// Colour alone never shows a state: a symbol or a word does too, so that the screen is
// readable without colours (NO_COLOR) and, in ASCII mode, on the simplest terminal.
package tui

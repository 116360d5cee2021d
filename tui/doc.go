// Package tui is the screen: it draws a view.Frame and turns keys into
// view.Intents.
//
// There is exactly one tea.Model, Model. It holds the newest frame, the panes and
// a stack of dialogs. A pane stands behind one small interface (pane): it finds
// its rows, draws itself in given cells, takes movement keys and clicks, and says
// what lies under its cursor and what it is filtered by. paneSpecs names all panes: one is
// added by a file with its spec, and a line there. Lists share their columns,
// headers, order, filter and cursor (list). Drawn panes are kept until what they
// show changes, or a second is over. Rows, selections and marks are keyed by
// identity (a node's name, an object's key), never by index.
//
// A Painter draws the same screen as text, for recordings and pictures.
// A frame that comes from a record has a scrubber. There is one list of keys
// (commonKeys) beside each pane's own; each says what it needs (need), so that
// what would switch, send or mark is refused in a record, and what needs a
// cluster where there is none.
//
// What may live here: layout, drawing, keys, words for what other packages
// know. What may not: I/O of any kind, goroutines, decisions about machines,
// pods or requests. Nothing here waits; an intent is handed to Options.Send,
// which must not block. Everything that came from outside the program passes
// through clean before it is drawn.
//
// State is never told by colour alone: a symbol or a word says it too, so that
// the screen can be read without colours (NO_COLOR) and, in ASCII mode, with a
// terminal that knows nothing else.
package tui

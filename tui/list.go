package tui

import "strings"

// list is the cursor, the scroll position and the filter of a pane with rows.
// The cursor is the identity of a row: it stays on it when rows come, go or
// change places.
type list[K comparable] struct {
	n      int         // rows
	key    func(int) K // their identities
	cursor K
	at     int  // the row the cursor is on
	moved  bool // the operator has chosen a row
	top    int
	page   int // rows shown at the last drawing
	filter string
}

// settle takes the newest rows. A cursor whose row is gone stays at its place
// in the list.
func (l *list[K]) settle(n int, key func(int) K) {
	l.n, l.key = n, key
	switch {
	case n == 0:
		l.at = 0
		return
	case !l.moved:
		l.at = 0
	case l.at < n && key(l.at) == l.cursor:
		return
	default:
		for i := range n {
			if key(i) == l.cursor {
				l.at = i
				return
			}
		}
	}
	l.at = min(l.at, n-1)
	l.cursor = key(l.at)
}

// selected gives the key under the cursor.
func (l *list[K]) selected() (K, bool) {
	if l.n == 0 {
		var none K
		return none, false
	}
	return l.cursor, true
}

// move changes the cursor and reports whether a was a movement.
func (l *list[K]) move(a action) bool {
	at := l.at
	switch a {
	case actUp:
		at--
	case actDown:
		at++
	case actPageUp:
		at -= max(1, l.page-1)
	case actPageDown:
		at += max(1, l.page-1)
	case actTop:
		at = 0
	case actBottom:
		at = l.n - 1
	default:
		return false
	}
	if l.n > 0 {
		l.at = min(max(at, 0), l.n-1)
		l.cursor, l.moved = l.key(l.at), true
	}
	return true
}

// window gives the rows to draw in h lines, with the cursor among them.
func (l *list[K]) window(h int) (from, to int) {
	l.page = h
	if l.at < l.top {
		l.top = l.at
	}
	if l.at >= l.top+h {
		l.top = l.at - h + 1
	}
	l.top = max(0, min(l.top, l.n-h))
	return l.top, min(l.top+h, l.n)
}

// matches reports whether any of the texts contains the filter, whatever the case.
func matches(filter string, texts ...string) bool {
	if filter == "" {
		return true
	}
	for _, s := range texts {
		if containsFold(s, filter) {
			return true
		}
	}
	return false
}

// containsFold: filter is in lower case already.
func containsFold(s, filter string) bool {
	for i := 0; i+len(filter) <= len(s); i++ {
		if strings.EqualFold(s[i:i+len(filter)], filter) {
			return true
		}
	}
	return false
}

// lead writes the cursor of a row: bright in the focused pane, faint in others
// where the operator has left it.
func (r *row) lead(t *theme, here, focus, moved bool) *row {
	switch {
	case here && focus:
		return r.put(t.accent, t.cursor)
	case here && moved:
		return r.put(t.dim, t.cursorOff)
	}
	return r.space(1)
}

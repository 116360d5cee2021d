package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lightsout/cluster"
)

// column is one column of a list.
type column[R any] struct {
	fitting
	title string
	cell  func(*scene, R) cell
	// less orders by it; nil compares the texts of the cells.
	less func(s *scene, a, b R) int
}

// mostSorted is how many rows can be put in the order of a column: more would take
// longer than a change may take to be seen.
const mostSorted = 20_000

// list is the rows of a pane: in columns with headers, filtered, sorted, and
// with a cursor. The cursor is the identity of a row: it stays on it when rows
// come, go or change places.
type list[K comparable, R any] struct {
	columns []column[R]
	fits    []fitting
	id      func(R) K
	// object is what a row stands for.
	object func(*scene, R) object
	// trouble orders rows before anything else does, 0 first; nil: it does not.
	// It must be less than troubles.
	trouble func(*scene, R) int
	// has reports whether a text of the row contains the searched text.
	has func(s *scene, r R, contains func(string) bool) bool
	// namespace returns a row's namespace. If nil, rows have none, and the pane shows
	// all of them for every choice of namespaces.
	namespace func(R) string
	// labels gives a row's labels; nil: rows have none.
	labels func(R) string
	// lead draws the signs before the columns, leadWidth wide.
	lead      func(s *scene, r *row, item R)
	leadWidth int
	// tail draws into the rest of a row; tailTitle is its header, tailLeast the width kept for it unless names
	// would be shortened, and tailMin also then, with the gap before it.
	tail      func(s *scene, r *row, item R, w int)
	tailTitle string
	tailLeast int
	tailMin   int
	kind      cluster.Kind
	none      string               // text of an empty list
	chosen    func(s *scene, id K) // after a key has moved the cursor; nil: nothing
	follows   bool                 // without a cursor of the operator's, the last row is in sight

	rows     []R
	many     bool // they, or those that the filter hides, are in more than one namespace
	by       filter
	sort     int // the column sorted by, counted from 1; 0: trouble first
	reversed bool

	cursor K
	at     int  // the row the cursor is on; -1 once the filter has changed
	moved  bool // the operator has chosen a row
	top    int
	page   int // rows shown at the last drawing

	seen inputs // the input of the present rows

	need  widths // of the cells drawn since the width changed
	needW int    // the width that need was found for
	drawn []cell // of the last drawing, whose memory the next takes

	fitted plan // of the last drawing
}

// troubles is the number of ranks that list.trouble may give.
const troubles = 4

// take takes the newest rows. They are not changed.
func (l *list[K, R]) take(s *scene, all []R) {
	l.rows = all
	l.by.only = ""
	if l.namespace != nil && s.only.on() {
		l.by.only = s.only.text
		l.rows = slices.DeleteFunc(slices.Clone(all), func(r R) bool { return !s.only.has(l.namespace(r)) })
	}
	l.many = l.namespace != nil && slices.ContainsFunc(l.rows, func(r R) bool { return l.namespace(r) != l.namespace(l.rows[0]) })
	if text, inverse := l.by.what(); text != "" {
		contains, _ := l.by.contains()
		text = strings.ToLower(text)
		byLabels := l.labels != nil && strings.Contains(text, "=")
		l.rows = slices.DeleteFunc(slices.Clone(l.rows), func(r R) bool {
			return (l.has(s, r, contains) || byLabels && labelled(l.labels(r), text)) == inverse
		})
	}
	l.by.shown, l.by.all = len(l.rows), len(all)
	l.order(s)
	l.follow()
}

// order sorts the rows, on a copy.
func (l *list[K, R]) order(s *scene) {
	switch {
	case l.sort > 0 && len(l.rows) <= mostSorted:
		c := l.columns[l.sort-1]
		less := c.less
		if less == nil {
			less = func(s *scene, a, b R) int { return cmp.Compare(c.cell(s, a).plain(), c.cell(s, b).plain()) }
		}
		l.rows = slices.Clone(l.rows)
		slices.SortStableFunc(l.rows, func(a, b R) int {
			if l.reversed {
				a, b = b, a
			}
			return less(s, a, b)
		})
	case l.trouble != nil && !slices.IsSortedFunc(l.rows, func(a, b R) int { return l.trouble(s, a) - l.trouble(s, b) }):
		ranks := ranked(s, l.rows, l.trouble)
		l.rows = slices.Concat(ranks[:]...)
	}
}

// ranked sorts rows by their ranks.
func ranked[R any](s *scene, rows []R, trouble func(*scene, R) int) (ranks [troubles][]R) {
	for _, r := range rows {
		rank := trouble(s, r)
		ranks[rank] = append(ranks[rank], r)
	}
	return ranks
}

// follow puts the cursor where its row is now. A cursor whose row is gone
// stays at its place in the list; one whose row another filter hides is shown at the first, and returns with its row.
func (l *list[K, R]) follow() {
	n := len(l.rows)
	first := max(0, n-1) * btoi(l.follows)
	switch {
	case n == 0 || !l.moved:
		l.at = first
	case l.at < 0 || l.at >= n || l.id(l.rows[l.at]) != l.cursor:
		i := slices.IndexFunc(l.rows, func(r R) bool { return l.id(r) == l.cursor })
		switch {
		case i >= 0:
			l.top *= btoi(i <= l.at || l.sort > 0 || l.trouble == nil) // trouble above is in sight
			l.at = i
		case l.at < 0:
			l.at = first
			return
		}
	}
	if n == 0 {
		return
	}
	l.at = min(l.at, n-1)
	l.cursor = l.id(l.rows[l.at])
}

// begin puts the cursor on the first row that fits, unless the operator has
// chosen one.
func (l *list[K, R]) begin(fits func(R) bool) {
	if l.moved {
		return
	}
	if i := slices.IndexFunc(l.rows, fits); i >= 0 {
		l.at, l.cursor = i, l.id(l.rows[i])
	}
}

// inputs is what rows are found from, compared by value; first what the operator has chosen to see.
type inputs [9]any

// stale reports whether to find the rows again: their input, or the operator's choice
// of it, has changed since the last call. With another choice the cursor begins anew; with another filter it stays on its row.
func (l *list[K, R]) stale(chosen any, from ...any) bool {
	now := inputs{l.by.text, chosen, l.sort, l.reversed}
	copy(now[4:], from)
	stale := now != l.seen
	l.moved = l.moved && now[1] == l.seen[1]
	if now[0] != l.seen[0] {
		l.at = -1
	}
	l.seen = now
	return stale
}

// selected gives the row under the cursor.
func (l *list[K, R]) selected() (r R, ok bool) {
	if l.at >= len(l.rows) {
		return r, false
	}
	return l.rows[l.at], true
}

// row is the object under the cursor.
func (l *list[K, R]) row(s *scene) (o object, ok bool) {
	r, ok := l.selected()
	if ok {
		o = l.object(s, r)
	}
	return o, ok
}

// key moves the cursor.
func (l *list[K, R]) key(s *scene, m motion) {
	switch {
	case m == moveHome:
		l.moved = false
		l.follow()
	case len(l.rows) > 0:
		l.at = m.moved(l.at, len(l.rows), l.page)
		l.cursor = l.id(l.rows[l.at])
		l.moved = !l.follows || l.at < len(l.rows)-1 // at the newest it follows again
	}
	if l.chosen != nil && len(l.rows) > 0 && m != moveNone {
		l.chosen(s, l.cursor)
	}
}

func (l *list[K, R]) filter() *filter { return &l.by }

// sortBy sorts by the next column that is shown, or in the other direction, and returns the order as
// text.
func (l *list[K, R]) sortBy(reverse bool) string {
	l.top = 0
	if reverse {
		l.reversed = l.sort > 0 && !l.reversed
	} else {
		next := slices.IndexFunc(l.fitted.widths[min(l.sort, len(l.fitted.widths)):], func(w int) bool { return w > 0 })
		l.sort, l.reversed, l.needW = (l.sort+next+1)*btoi(next >= 0), false, 0
	}
	switch {
	case l.sort == 0:
		return "sorted: problems first"
	case len(l.rows) > mostSorted:
		return fmt.Sprintf("lightsout does not sort more than %d rows: filter them first", mostSorted)
	}
	return "sorted by " + l.columns[l.sort-1].title + strings.Repeat(", reversed", btoi(l.reversed))
}

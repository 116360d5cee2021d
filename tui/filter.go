package tui

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"lightsout/internal/view"
)

// filter chooses rows by a text that any of their columns contains, whatever
// the case, by a pattern that it fits ("^web-\\d", RE2), or by labels
// ("app=web,tier=db"); with "!" before it, those that it does not fit.
type filter struct {
	text       string
	only       string // the namespaces to show, separated by commas; empty: all
	shown, all int    // rows shown, and rows in total
}

// what returns the text to search for, and whether rows must lack it.
func (f filter) what() (text string, inverse bool) { return strings.CutPrefix(f.text, "!") }

// on reports whether there is anything to filter by.
func (f filter) on() bool {
	text, _ := f.what()
	return text != ""
}

// patternSigns turn a text into a pattern. A dot alone does not: addresses contain it.
const patternSigns = `\^$*+?()[]{}|`

// contains returns the test for one text. fault is the reason, in a sentence, why the
// typed text is not a pattern; the filter then searches for the text itself.
func (f filter) contains() (fits func(string) bool, fault string) {
	what, _ := f.what()
	if strings.ContainsAny(what, patternSigns) {
		pattern, err := regexp.Compile("(?i)" + what)
		if err == nil {
			return pattern.MatchString, ""
		}
		fault = "not a pattern: searching for plain text"
	}
	what = strings.ToLower(what)
	return func(s string) bool { return containsFold(s, what) }, fault
}

// mostFilter is the number of cells that a title gives to a filter; the number of rows
// is more important.
const mostFilter = 20

// title is the first part of a pane's title, of w cells: the filter, and the number of rows that it
// leaves; empty without a filter.
func (f filter) title(s *scene, w int) string {
	by := strings.TrimLeft(after("in ", s.t.text(f.only), "")+after(" /", s.t.text(f.text), ""), " ")
	if by == "" {
		return ""
	}
	count := fmt.Sprintf(": %d of %d", f.shown, f.all)
	return fit(by, min(mostFilter, w-width(count)), s.t.ellipsis) + count
}

// labelled reports whether labels, in the format of a Pod, match a selector: each of
// its parts is a key and the beginning of the value. The operator may leave out the
// key's prefix, up to its slash.
func labelled(labels, selector string) bool {
	all := strings.Split(strings.ToLower(labels), ",")
	return !slices.ContainsFunc(strings.Split(selector, ","), func(part string) bool {
		key, value, _ := strings.Cut(part, "=")
		return !slices.ContainsFunc(all, func(label string) bool {
			k, v, _ := strings.Cut(label, "=")
			return (k == key || strings.HasSuffix(k, "/"+key)) && strings.HasPrefix(v, value)
		})
	})
}

// containsFold expects the searched text in lower case.
func containsFold(s, what string) bool {
	for i := 0; i+len(what) <= len(s); i++ {
		if strings.EqualFold(s[i:i+len(what)], what) {
			return true
		}
	}
	return false
}

// openFilter asks for the filter of the active pane; the rows follow each keystroke.
func openFilter(m *Model) {
	f, p := m.active.filter(), m.active
	if f == nil {
		return
	}
	before := *f
	var d *promptDialog
	set := func(text string) {
		f.text = text
		p.settle(&m.s)
		_, d.fault = f.contains()
	}
	d = &promptDialog{
		heading: "Filter " + p.name, label: "containing:", in: newInput(false),
		help: func() string {
			if !f.on() {
				return "text, pattern (^web-\\d) or labels (app=web); ! inverts"
			}
			return fmt.Sprintf("%d of %d", f.shown, f.all)
		},
		changed: set,
		accept:  func(text string) (view.Intent, string) { set(text); p.key(&m.s, moveNone); return nil, "" },
		cancel:  func() { set(before.text) },
	}
	d.in.insert(before.text)
	m.dialogs.open(d)
}

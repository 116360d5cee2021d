package tui

import (
	"errors"
	"fmt"
	"regexp"
	regexpsyntax "regexp/syntax"
	"slices"
	"strings"

	"lightsout/internal/view"
)

// filter chooses rows by a text that any of their columns contains, whatever
// the case, by a pattern that it fits ("^web-\\d", RE2), or by labels
// ("app=web,tier=db"); with "!" before it, those that it does not fit.
type filter struct {
	text       string
	shown, all int // rows that it has left, of how many
}

// what is what rows are looked through for, and whether it must be absent.
func (f filter) what() (text string, inverse bool) { return strings.CutPrefix(f.text, "!") }

// on reports whether there is anything to filter by.
func (f filter) on() bool {
	text, _ := f.what()
	return text != ""
}

// patternSigns make a pattern of a text. A dot alone does not: it stands in
// addresses.
const patternSigns = `\^$*+?()[]{}|`

// contains gives the test for one text. fault says in a sentence why what was
// typed is no pattern; it is then looked for as it is.
func (f filter) contains() (fits func(string) bool, fault string) {
	what, _ := f.what()
	if strings.ContainsAny(what, patternSigns) {
		pattern, err := regexp.Compile("(?i)" + what)
		if err == nil {
			return pattern.MatchString, ""
		}
		var syntax *regexpsyntax.Error
		if errors.As(err, &syntax) {
			fault = "no pattern (" + syntax.Code.String() + "): taken as plain text"
		}
	}
	what = strings.ToLower(what)
	return func(s string) bool { return containsFold(s, what) }, fault
}

// title is what a pane's title says of it.
func (f filter) title(s *scene) string {
	if f.text == "" {
		return ""
	}
	return " /" + s.t.text(f.text)
}

// labelled reports whether labels, as a Pod has them, fit a selector: each of its
// parts is a key and what the value begins with. The key's prefix, up to its
// slash, may be left away.
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

// containsFold: what is looked for is in lower case already.
func containsFold(s, what string) bool {
	for i := 0; i+len(what) <= len(s); i++ {
		if strings.EqualFold(s[i:i+len(what)], what) {
			return true
		}
	}
	return false
}

// openFilter asks for the filter of the focused pane; rows follow as it is typed.
func openFilter(m *Model) {
	f, p := m.focus.filter(), m.focus
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
				return "text, pattern (^web-\\d) or labels (app=web); !: others"
			}
			return fmt.Sprintf("%d of %d", f.shown, f.all)
		},
		changed: set,
		accept:  func(text string) (view.Intent, string) { set(text); return nil, "" },
		cancel:  func() { set(before.text) },
	}
	d.in.insert(before.text)
	m.dialogs.open(d)
}

package tui

import "strings"

// filter chooses rows by a text that any of their columns contains, whatever
// the case, or by labels ("app=web,tier=db"); with "!" before it, those that it
// does not fit.
type filter struct{ text string }

// needle is the text looked for, in lower case, and whether it must be absent.
func (f filter) needle() (text string, inverse bool) {
	text, inverse = strings.CutPrefix(f.text, "!")
	return strings.ToLower(text), inverse
}

// on reports whether there is anything to filter by.
func (f filter) on() bool {
	text, _ := f.needle()
	return text != ""
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
next:
	for _, part := range strings.Split(selector, ",") {
		key, value, _ := strings.Cut(part, "=")
		for _, l := range strings.Split(strings.ToLower(labels), ",") {
			k, v, _ := strings.Cut(l, "=")
			if (k == key || strings.HasSuffix(k, "/"+key)) && strings.HasPrefix(v, value) {
				continue next
			}
		}
		return false
	}
	return true
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

package tui

import (
	"regexp"
	"strings"
)

// ids are the identifiers that say nothing to a reader: machines are known by
// their nodes' names. Details have them.
var ids = regexp.MustCompile(`(?i) ?\(?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\)?`)

// brief makes a sentence on a subject that stands beside it already: without
// its name at the beginning, and without identifiers.
func brief(subject, text string) string {
	if strings.Count(text, "-") >= 4 {
		text = ids.ReplaceAllString(text, "")
	}
	if subject == "" {
		return text
	}
	rest, ok := strings.CutPrefix(text, subject)
	if !ok || rest == "" || rest[0] != ' ' && rest[0] != ':' {
		return text
	}
	rest = strings.TrimLeft(rest, " :")
	if strings.HasPrefix(rest, "(") { // where it is
		if _, after, ok := strings.Cut(rest, ") "); ok {
			rest = after
		}
	}
	return strings.TrimPrefix(rest, "is ")
}

// btoi counts what is so.
func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

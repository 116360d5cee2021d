package tui

import (
	"regexp"
	"strings"
	"time"

	"lightsout/internal/text"
)

// The screen makes every text harmless itself, and relies on no other package for that.

func clean(s string) string                          { return text.Cells(s) }
func onlyASCII(s string) string                      { return text.ASCII(s) }
func width(s string) int                             { return text.Width(s) }
func cutLeft(s string, w int) (string, int)          { return text.CutLeft(s, w) }
func cutRight(s string, w int) string                { return text.CutRight(s, w) }
func fit(s string, w int, ellipsis string) string    { return text.Fit(s, w, ellipsis) }
func middle(s string, w int, ellipsis string) string { return text.Middle(s, w, ellipsis) }
func wrap(s string, w int) []string                  { return text.Wrap(s, w) }
func age(d time.Duration) string                     { return text.Span(d) }
func took(d time.Duration) string                    { return text.Took(d) }
func signed(d time.Duration, tenths bool) string     { return text.Offset(d, tenths) }

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

// btoi is 1 for true and 0 for false.
func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

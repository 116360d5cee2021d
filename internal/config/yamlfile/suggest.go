package yamlfile

import (
	"fmt"
	"path"
	"strings"

	"lightsout/internal/text"
)

// Suggest returns the one of known that name was most likely meant to be, or
// "" when none is near: one letter differs, or at most one in three, without a namespace that both have.
func Suggest(name string, known []string) string {
	name = Plain(Shorten(name, 80))
	best, least := "", len(name)+1
	for _, k := range known {
		of, rest := name, Plain(k)
		if path.Dir(of) == path.Dir(rest) {
			of, rest = path.Base(of), path.Base(rest)
		}
		if d := text.Distance(of, rest); d < least && d <= max(1, len(of)/3) {
			best, least = k, d
		}
	}
	return best
}

// Plain returns s for comparison: in lower case, with one way to join words.
func Plain(s string) string {
	return strings.NewReplacer("_", " ", "-", " ").Replace(strings.ToLower(s))
}

// Hint ends the error that name is not one of known.
func Hint(name string, known []string) string {
	if near := Suggest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "there are " + strings.Join(known, ", ")
}

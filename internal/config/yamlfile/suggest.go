package yamlfile

import (
	"fmt"
	"path"
	"strings"
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
		if d := distance(of, rest); d < least && d <= max(1, len(of)/3) {
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

// distance is the number of letters to insert, delete, change or swap with the
// next to make b of a (optimal string alignment).
func distance(a, b string) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			next[j+1] = min(row[j+1]+1, next[j]+1, row[j]+change)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}

// Package yamlfile reads YAML files strictly, and reports errors with their lines: the
// plans of trials, value by value, and lightsout.yaml.
//
// It reads a document and the values in it, and words the errors about them. The meaning
// of a file belongs to other packages.
package yamlfile

import (
	"fmt"
	"slices"
)

// Error is an error in a file: one sentence, and its line.
type Error struct {
	// Line counts from 1; 0 if unknown.
	Line int
	Text string
}

// Error returns "line 12: …", without the line if it is unknown.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Text
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Text)
}

// Sort orders *Errors by their lines; those without one come first.
func Sort(faults []error) {
	slices.SortStableFunc(faults, func(a, b error) int { return a.(*Error).Line - b.(*Error).Line })
}

// ErrorAt makes an *Error.
func ErrorAt(line int, format string, args ...any) error {
	return &Error{Line: line, Text: fmt.Sprintf(format, args...)}
}

// Package yamlfile reads YAML files strictly and says with the line what is
// wrong with them: the plans of trials, value by value, and lightsout.yaml.
//
// What may live here: reading a document, the values that files are made of,
// and the words of errors about them. What may not: what any file means.
package yamlfile

import "fmt"

// Error is what is wrong with a file: one sentence, and the line it is about.
type Error struct {
	// Line counts from 1; 0 where there is none.
	Line int
	Text string
}

// Error gives "line 12: …", without the line when there is none.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Text
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Text)
}

// ErrorAt makes an *Error.
func ErrorAt(line int, format string, args ...any) error {
	return &Error{Line: line, Text: fmt.Sprintf(format, args...)}
}

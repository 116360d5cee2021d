// Package yamlfile reads YAML files strictly and says with the line what is
// wrong with them: the plans of trials, value by value, and lightsout.yaml.
//
// What may live here: reading a document, the values that files are made of,
// and the words of errors about them. What may not: what any file means.
package yamlfile

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Error is what is wrong with a file: one sentence, and the line it is about.
type Error struct {
	// Line counts from 1; 0 where there is none.
	Line int
	Text string
	// node is what is wrong, where it is a part of a document.
	node *yaml.Node
}

// Node is the part of the document that is wrong, nil where that is not known.
func (e *Error) Node() *yaml.Node { return e.node }

// Error gives "line 12: …", without the line when there is none.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Text
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Text)
}

// errorOf makes an *Error about n.
func errorOf(n *yaml.Node, format string, args ...any) error {
	return &Error{Line: n.Line, Text: fmt.Sprintf(format, args...), node: n}
}

// ErrorAt makes an *Error.
func ErrorAt(line int, format string, args ...any) error {
	return &Error{Line: line, Text: fmt.Sprintf(format, args...)}
}

package plan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Bounds on a plan.
const (
	MaxSize   = 256 << 10 // bytes of the file
	MaxSteps  = 200
	MaxExpect = 200
)

// Error is what is wrong with a plan: one sentence, and the line it is about.
type Error struct {
	// Line counts from 1; 0 for a plan that was not read from a file.
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

func errorAt(line int, format string, args ...any) error {
	return &Error{Line: line, Text: fmt.Sprintf(format, args...)}
}

// Open reads the built-in plan of that name, or else the file at that path.
// Errors name the file; what is wrong in it is an *Error.
func Open(name string) (*Plan, error) {
	if text, ok := builtinText(name); ok {
		return Parse(text)
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(name, `/\.`) {
		hint := "; built in are " + and(Builtin())
		if near := suggest(name, Builtin()); near != "" {
			hint = fmt.Sprintf("; did you mean %q, which is built in?", near)
		}
		return nil, fmt.Errorf("there is no plan %s, neither built in nor as a file%s", quote(name), hint)
	}
	if err != nil {
		return nil, fmt.Errorf("the plan can't be read: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("the plan can't be read: %w", err)
	}
	p, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// Parse reads a plan strictly: what it does not know, what can never happen
// and what contradicts itself is an error, always an *Error with its line. The
// first one found is returned. Text is kept and not changed afterwards.
func Parse(text []byte) (*Plan, error) {
	p, err := parse(text)
	if e := (*Error)(nil); errors.As(err, &e) {
		// What is missing at the end of a file has a line after the last one.
		e.Line = min(e.Line, 1+bytes.Count(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")))
	}
	if err != nil {
		return nil, err
	}
	p.Text = slices.Clone(text)
	return p, nil
}

func parse(text []byte) (*Plan, error) {
	root, err := tree(text)
	if err != nil {
		return nil, err
	}
	p, err := decodePlan(root)
	if err != nil {
		return nil, err
	}
	return p, p.Check()
}

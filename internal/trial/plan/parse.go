package plan

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"lightsout/internal/config/yamlfile"
)

// Bounds on a plan.
const (
	MaxSize   = 256 << 10 // bytes of the file
	maxSteps  = 200
	maxExpect = 200
)

// file holds the limits of a plan's file.
var file = yamlfile.Kind{Noun: "plan", Empty: "the plan is empty: it needs at least a name and steps", MaxSize: MaxSize}

// Open reads the built-in plan of that name, or else the file at that path. Errors name
// the file; a fault in the plan is an *Error.
func Open(name string) (*Plan, error) {
	text, err := Text(name)
	if err != nil {
		return nil, err
	}
	p, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// Read is Open with all faults, by their lines.
func Read(name string) (*Plan, []error) {
	text, err := Text(name)
	if err != nil {
		return nil, []error{err}
	}
	p, faults := parse(text)
	slices.SortStableFunc(faults, func(a, b error) int { return lineOf(a) - lineOf(b) })
	for i := range faults {
		faults[i] = fmt.Errorf("%s: %w", name, faults[i])
	}
	return p, faults
}

// Text returns the text of a plan: a built-in one's by its name, or that of a file.
func Text(name string) ([]byte, error) {
	if text, ok := builtinText(name); ok {
		return text, nil
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(name, `/\.`) {
		hint := "; built in are " + and(Builtin())
		if near := yamlfile.Suggest(name, Builtin()); near != "" {
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
	return text, nil
}

// Parse reads a plan strictly: unknown fields and impossible steps are
// errors, each an *Error with its line. It returns the first one.
func Parse(text []byte) (*Plan, error) {
	p, faults := parse(text)
	if len(faults) > 0 {
		return nil, faults[0]
	}
	return p, nil
}

// parse is Parse with all faults: at most one of a step or an expectation.
func parse(text []byte) (*Plan, []error) {
	p, faults := &Plan{}, []error(nil)
	if root, err := file.Read(text); err != nil {
		faults = []error{err}
	} else if faults = p.decode(root); len(p.Steps) > 0 {
		faults = append(faults, p.check()...)
	}
	if len(faults) == 0 {
		p.Text = slices.Clone(text)
		return p, nil
	}
	last := yamlfile.LastLine(text)
	for _, err := range faults {
		if e := (*Error)(nil); errors.As(err, &e) {
			// What is missing at the end of a file has a line after the last one.
			e.Line = min(e.Line, last)
		}
	}
	return nil, faults
}

func lineOf(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Line
	}
	return 0
}

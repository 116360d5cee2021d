package plan

import (
	"errors"
	"fmt"
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

// Open reads the built-in plan of that name, or else the file at that path. The error has every fault, each an
// *yamlfile.Error, in a line with the file.
func Open(name string) (*Plan, error) {
	text, err := Text(name)
	if err != nil {
		return nil, err
	}
	p, faults := Parse(text)
	for i := range faults {
		faults[i] = fmt.Errorf("%s: %w", name, faults[i])
	}
	return p, errors.Join(faults...)
}

// Text returns the text of a plan: a built-in one's by its name, or that of a file.
func Text(name string) ([]byte, error) {
	text, err := builtin.ReadFile("builtin/" + name + ".yaml")
	if err == nil {
		return text, nil
	}
	text, err = os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(name, `/\.`) {
		return nil, fmt.Errorf("there is no plan %s, neither built in nor as a file; %s", yamlfile.Quote(name), yamlfile.Hint(name, Builtin()))
	}
	if err != nil {
		return nil, fmt.Errorf("the plan can't be read: %w", err)
	}
	return text, nil
}

// Parse reads a plan strictly: unknown fields and impossible steps are errors, each an *yamlfile.Error with its
// line. It returns all of them by their lines, without those that may follow from others.
func Parse(text []byte) (*Plan, []error) {
	p, faults := &Plan{}, []error(nil)
	if root, err := file.Read(text); err != nil {
		faults = []error{err}
	} else if faults = p.decode(root); len(faults) == 0 || len(p.Steps) > 0 {
		faults = append(faults, p.check()...)
	}
	if len(faults) == 0 {
		p.Text = slices.Clone(text)
		return p, nil
	}
	last := yamlfile.LastLine(text)
	for _, err := range faults {
		e := err.(*yamlfile.Error)
		e.Line = min(e.Line, last) // what is missing at the end of a file has a line after the last one
	}
	yamlfile.Sort(faults)
	return nil, faults
}

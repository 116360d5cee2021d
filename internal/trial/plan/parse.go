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
	MaxSteps  = 200
	MaxExpect = 200
)

// file is what a plan's file may be.
var file = yamlfile.Kind{Noun: "plan", Empty: "the plan is empty: it needs at least a name and steps", MaxSize: MaxSize}

// Open reads the built-in plan of that name, or else the file at that path.
// Errors name the file; what is wrong in it is an *Error.
func Open(name string) (*Plan, error) {
	if text, ok := builtinText(name); ok {
		return Parse(text)
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
		e.Line = min(e.Line, yamlfile.LastLine(text))
	}
	if err != nil {
		return nil, err
	}
	p.Text = slices.Clone(text)
	return p, nil
}

func parse(text []byte) (*Plan, error) {
	root, err := file.Read(text)
	if err != nil {
		return nil, err
	}
	p, err := decodePlan(root)
	if err != nil {
		return nil, err
	}
	return p, p.Check()
}

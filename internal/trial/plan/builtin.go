package plan

import (
	"embed"
	"path"
	"slices"
	"strings"
)

//go:embed builtin/*.yaml
var builtin embed.FS

// Builtin are the names of the plans that are built in, sorted.
func Builtin() []string {
	files, _ := builtin.ReadDir("builtin") // it is part of the program
	var out []string
	for _, f := range files {
		out = append(out, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return sorted(out)
}

// BuiltinPlan returns the built-in plan of that name; false when there is none.
func BuiltinPlan(name string) (*Plan, bool) {
	text, ok := builtinText(name)
	if !ok {
		return nil, false
	}
	p, err := Parse(text)
	return p, err == nil
}

func builtinText(name string) ([]byte, bool) {
	if !slices.Contains(Builtin(), name) {
		return nil, false
	}
	text, err := builtin.ReadFile(path.Join("builtin", name+".yaml"))
	return text, err == nil
}

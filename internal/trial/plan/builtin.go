package plan

import (
	"embed"
	"path"
	"slices"
	"strings"
)

//go:embed builtin/*.yaml
var builtin embed.FS

//go:embed example.yaml
var example string

// Example returns a plan to start from, with comments.
func Example() string { return example }

// Builtin are the names of the plans that are built in, sorted.
func Builtin() []string {
	files, _ := builtin.ReadDir("builtin") // it is part of the program
	var out []string
	for _, f := range files {
		out = append(out, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return sorted(out)
}

func builtinText(name string) ([]byte, bool) {
	if !slices.Contains(Builtin(), name) {
		return nil, false
	}
	text, err := builtin.ReadFile(path.Join("builtin", name+".yaml"))
	return text, err == nil
}

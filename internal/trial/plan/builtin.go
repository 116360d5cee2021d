package plan

import (
	"embed"
	"io/fs"
	"strings"

	"lightsout/internal/text"
)

//go:embed builtin/*.yaml
var builtin embed.FS

//go:embed example.yaml
var example string

//go:embed help.txt
var helpText string

// Help is the grammar of a plan file, for users: text without a final newline.
func Help() string { return strings.TrimSuffix(helpText, "\n") }

// Example returns a plan to start from, with comments.
func Example() string { return example }

// Builtin are the names of the plans that are built in, sorted.
func Builtin() []string {
	files, _ := builtin.ReadDir("builtin") // it is part of the program
	return text.Each(files, func(f fs.DirEntry) string { return strings.TrimSuffix(f.Name(), ".yaml") })
}

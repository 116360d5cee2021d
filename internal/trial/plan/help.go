package plan

import (
	_ "embed"
	"strings"
)

//go:embed help.txt
var helpText string

// Help is the grammar of a plan file, for users: text without a final newline.
func Help() string { return strings.TrimSuffix(helpText, "\n") }

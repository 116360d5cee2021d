package plan

import (
	_ "embed"
	"strings"
)

//go:embed help.txt
var helpText string

// Help is the grammar of a plan file, for users: text without a final newline.
func Help() string {
	var steps strings.Builder
	for _, k := range kinds {
		steps.WriteString(k.help)
	}
	return strings.TrimSuffix(strings.Replace(helpText, "{steps}\n", steps.String(), 1), "\n")
}

package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// Formats of what a command prints.
const (
	formatTable    = "table"
	formatText     = "text"
	formatJSON     = "json"
	formatMarkdown = "markdown"
)

// formatFlag adds -o to a command, which chooses how it prints its result, and nothing else; the first
// format is the default.
func formatFlag(cmd *cobra.Command, all ...string) *string {
	value := all[0]
	choiceFlag(cmd, &value, "output", "o", "print as this `format`: "+strings.Join(all, ", ")+" (default "+value+")", all...)
	return &value
}

// choiceFlag adds a flag whose value is one of some words; value has its default.
func choiceFlag(cmd *cobra.Command, value *string, name, short, usage string, all ...string) {
	cmd.Flags().FuncP(name, short, usage, func(word string) error {
		*value = word
		return oneOf("--"+name, word, all...)
	})
	completeFlag(cmd, name, cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp))
}

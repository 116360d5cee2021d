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

// format is the value of -o, which chooses how a command prints its result, and nothing else.
type format struct {
	value string
	all   []string
}

// formatFlag adds -o to a command, with its formats; the first is the default.
func formatFlag(cmd *cobra.Command, all ...string) *format {
	f := &format{all[0], all}
	cmd.Flags().VarP(f, "output", "o", "print as this `format`: "+strings.Join(all, ", "))
	completeFlag(cmd, "output", words(all...))
	return f
}

// Set takes one of the formats.
func (f *format) Set(value string) error {
	f.value = value
	return oneOf("format", value, f.all...)
}

// String is the format.
func (f *format) String() string { return f.value }

// Type names the value in the help.
func (f *format) Type() string { return "format" }

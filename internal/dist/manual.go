package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manual writes a page for each command.
func (r *release) manual(cmd *cobra.Command) error {
	cmd.DisableAutoGenTag = true
	asWritten(cmd)
	return doc.GenManTree(cmd, &doc.GenManHeader{Section: "1", Source: "lightsout " + r.version, Manual: "lightsout", Date: &r.when}, r.staged("man"))
}

// asWritten keeps the lines of commands' texts that are set in: tables and
// examples, which would be filled like the text around them.
func asWritten(cmd *cobra.Command) {
	var b strings.Builder
	set := false
	for line := range strings.Lines(cmd.Long) {
		in := strings.HasPrefix(line, "  ")
		if in != set && strings.TrimSpace(line) != "" {
			b.WriteString("\n")
			set = in
		}
		if in {
			b.WriteString("    ")
		}
		b.WriteString(line)
	}
	cmd.Long = b.String()
	for _, c := range cmd.Commands() {
		asWritten(c)
	}
}

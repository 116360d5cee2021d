package cli

import (
	_ "embed"
	"strings"

	"github.com/spf13/cobra"

	"lightsout/internal/record/examples"
)

//go:embed help.txt
var helpText string

// part is the part of a text that begins with "== " and its name; empty where there
// is none.
func part(text, name string) string {
	_, part, _ := strings.Cut("\n"+text, "\n== "+name+"\n")
	part, _, _ = strings.Cut(part, "\n== ")
	return part
}

// addHelp gives a command and those below it their long texts and examples, which
// are the parts of help.txt with their paths.
func addHelp(cmd *cobra.Command, path string) {
	if text := part(helpText, path); text != "" {
		long, example, _ := strings.Cut("\n"+text, "\nExamples:\n")
		cmd.Long = strings.ReplaceAll(strings.TrimPrefix(long, "\n"), "{examples}", strings.Join(examples.Names(), ", "))
		cmd.Example = strings.TrimRight(example, "\n")
	}
	for _, c := range cmd.Commands() {
		addHelp(c, path+" "+c.Name())
	}
}

package cli

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lightsout/internal/record/examples"
	"lightsout/tui"
)

//go:embed help.txt
var helpText string

//go:embed topics.txt
var topicText string

// topics are help texts that belong to no command: "lightsout help files" prints one,
// and the manual page of lightsout contains all of them.
func topics() []*cobra.Command {
	topic := func(name, short, text string) *cobra.Command {
		return &cobra.Command{Use: name, Short: short, Long: strings.TrimRight(text, "\n")}
	}
	return []*cobra.Command{
		topic("keys", "Keys of the screen", tui.Keys()),
		topic("files", "Files that lightsout reads and writes", part(topicText, "files")),
		topic("environment", "Environment variables", part(topicText, "environment")),
		topic("exit-status", "Exit status of all commands", part(topicText, "exit-status")),
	}
}

// part returns the part of a text under "== " and its name; empty if there is none.
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

// helpWidth is the width of the help text: that of a usual terminal.
const helpWidth = 80

// commandGroups are the groups of commands in the help.
var commandGroups = []struct{ title, commands string }{
	{"Look at a cluster:", "check snapshot survey"},
	{"Switch machines:", "power restore"},
	{"Trials and load:", "demo load trial"},
	{"Recordings:", "export recorder records replay"},
	{setUp, "config"},
}

const setUp = "Set up:"

// group assigns the commands below the root to groups.
func group(root *cobra.Command) {
	for _, g := range commandGroups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range root.Commands() {
			if slices.Contains(strings.Fields(g.commands), c.Name()) {
				c.GroupID = g.title
			}
		}
	}
	root.SetHelpCommandGroupID(setUp)
	root.SetCompletionCommandGroupID(setUp)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", helpWidth)))
}

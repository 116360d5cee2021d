package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the width of the help text: that of a usual terminal.
const helpWidth = 80

// commandGroups are the groups of commands in the help, by their IDs.
var commandGroups = []*cobra.Group{
	{ID: "look", Title: "Look at a cluster:"},
	{ID: "switch", Title: "Switch machines:"},
	{ID: "trials", Title: "Trials and load:"},
	{ID: "recordings", Title: "Recordings:"},
	{ID: "setup", Title: "Set up:"},
}

// groupOf is the group of each command below the root.
var groupOf = map[string]string{
	"check": "look", "snapshot": "look", "survey": "look",
	"power": "switch", "restore": "switch",
	"demo": "trials", "load": "trials", "trial": "trials",
	"export": "recordings", "recorder": "recordings", "records": "recordings", "replay": "recordings",
	"config": "setup",
}

// flagGroups are the groups of flags in the help. Flags without a group come last.
var flagGroups = []struct {
	title string
	names []string
}{
	{"Load", []string{"burst", "hold", "rate", "requests", "for", "max-in-flight"}},
	{"Request", []string{"method", "header", "body", "host", "entry", "ca", "http2", "connections"}},
	{"Chat", []string{"chat", "model", "prompt", "prompts", "max-tokens", "api-key-env", "api-key-file"}},
	{"Time limit", []string{"timeout", "connect-timeout", "first-byte-timeout", "idle-timeout", "stall"}},
	{"Lab", []string{"lab", "pace", "scenario"}},
	{"Cluster", []string{"config", "kubeconfig", "context", "namespace", "all-namespaces", "bastion", "state", "wait-for-api"}},
	{"Switching", []string{"dry-run", "read-only", "yes", "confirm", "drain", "keep-off"}},
	{"Screen", []string{"plain", "once", "ascii", "color", "theme", "plan"}},
	{"Recording", []string{"cast", "redact", "record", "junit"}},
}

// group assigns the commands below the root to groups, and makes every command print
// its usage in groups.
func group(root *cobra.Command) {
	root.AddGroup(commandGroups...)
	for _, c := range root.Commands() {
		c.GroupID = groupOf[c.Name()]
	}
	root.SetHelpCommandGroupID("setup")
	root.SetCompletionCommandGroupID("setup")
	root.SetUsageFunc(printUsage)
}

// printUsage prints the usage of a command: its line, examples, commands and flags.
func printUsage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if only := cmd.HasAvailableSubCommands() && cmd.HasParent() && !strings.Contains(cmd.Use, " "); cmd.Runnable() && !only {
		b.WriteString("  " + cmd.UseLine() + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("  " + cmd.CommandPath() + " COMMAND\n")
	}
	if cmd.HasExample() {
		b.WriteString("\nExamples:\n" + cmd.Example + "\n")
	}
	printCommands(&b, cmd)
	printFlags(&b, cmd.LocalFlags())
	if cmd.HasHelpSubCommands() {
		b.WriteString("\nMore help:\n")
		for _, c := range cmd.Commands() {
			if c.IsAdditionalHelpTopicCommand() {
				fmt.Fprintf(&b, "  %-28s %s\n", cmd.CommandPath()+" help "+c.Name(), c.Short)
			}
		}
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\n\"" + cmd.CommandPath() + " COMMAND --help\" explains each command.\n")
	}
	_, err := io.WriteString(cmd.OutOrStderr(), b.String())
	return err
}

// printCommands lists the subcommands of cmd, in groups if they have groups.
func printCommands(b *strings.Builder, cmd *cobra.Command) {
	groups := cmd.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands:"}}
	}
	for _, g := range groups {
		title := "\n" + g.Title + "\n"
		for _, c := range cmd.Commands() {
			if c.GroupID == g.ID && (c.IsAvailableCommand() || c.Name() == "help") {
				fmt.Fprintf(b, "%s  %-*s %s\n", title, cmd.NamePadding(), c.Name(), c.Short)
				title = ""
			}
		}
	}
}

// printFlags lists flags in groups.
func printFlags(b *strings.Builder, all *pflag.FlagSet) {
	rest := pflag.NewFlagSet("", pflag.ContinueOnError)
	parts := make([]*pflag.FlagSet, len(flagGroups))
	for i := range parts {
		parts[i] = pflag.NewFlagSet("", pflag.ContinueOnError)
	}
	all.VisitAll(func(f *pflag.Flag) {
		for i, g := range flagGroups {
			if slices.Contains(g.names, f.Name) {
				parts[i].AddFlag(f)
				return
			}
		}
		rest.AddFlag(f)
	})
	for i, part := range parts {
		if part.HasAvailableFlags() {
			b.WriteString("\n" + flagGroups[i].title + " flags:\n" + part.FlagUsagesWrapped(helpWidth))
		}
	}
	if rest.HasAvailableFlags() {
		b.WriteString("\nFlags:\n" + rest.FlagUsagesWrapped(helpWidth))
	}
}

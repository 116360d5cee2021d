package cli

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
	{"Recording", []string{"cast", "redact", "record"}},
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
	cobra.AddTemplateFunc("flagGroups", flagGroupsText)
	root.SetUsageTemplate(usageTemplate)
}

// usageTemplate is cobra's, without aliases, and with the flags in groups.
const usageTemplate = `Usage:{{if and .Runnable (not (and .HasParent .HasAvailableSubCommands))}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} COMMAND{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{$all := .}}{{if and .HasAvailableSubCommands (not .Groups)}}

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{range $group := .Groups}}

{{.Title}}{{range $all.Commands}}{{if and (eq .GroupID $group.ID) (or .IsAvailableCommand (eq .Name "help"))}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}
{{flagGroups .LocalFlags}}{{if .HasHelpSubCommands}}
More help:{{range .Commands}}{{if .IsAdditionalHelpTopicCommand}}
  {{rpad .CommandPath .CommandPathPadding}} {{.Short}}{{end}}{{end}}
{{end}}{{if .HasAvailableSubCommands}}
"{{.CommandPath}} COMMAND --help" explains each command.
{{end}}`

// flagGroupsText lists flags in groups.
func flagGroupsText(all *pflag.FlagSet) string {
	var b strings.Builder
	part := func(title string, has func(name string) bool) {
		some := pflag.NewFlagSet("", pflag.ContinueOnError)
		all.VisitAll(func(f *pflag.Flag) {
			if has(f.Name) {
				some.AddFlag(f)
			}
		})
		if some.HasAvailableFlags() {
			b.WriteString("\n" + title + ":\n" + some.FlagUsagesWrapped(helpWidth))
		}
	}
	grouped := map[string]bool{}
	for _, g := range flagGroups {
		part(g.title+" flags", func(name string) bool { return slices.Contains(g.names, name) })
		for _, name := range g.names {
			grouped[name] = true
		}
	}
	part("Flags", func(name string) bool { return !grouped[name] })
	return b.String()
}

package cli

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

func TestEachPartOfTheHelpIsThatOfACommand(t *testing.T) {
	root, parts := Command("test"), 0
	for line := range strings.Lines(helpText) {
		path, isPart := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "== lightsout")
		if !isPart {
			continue
		}
		parts++
		cmd, rest, err := root.Find(strings.Fields(path))
		if err != nil || len(rest) > 0 || cmd.Example == "" {
			t.Errorf("there is no command lightsout%s", path)
		}
	}
	if parts < 18 {
		t.Errorf("%d parts", parts)
	}
}

// each calls f for a command and its subcommands.
func each(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, c := range cmd.Commands() {
		each(c, f)
	}
}

func TestEveryCommandHasHelpThatFitsATerminal(t *testing.T) {
	root := Command("test")
	root.InitDefaultHelpCmd()
	each(root, func(cmd *cobra.Command) {
		text := cmd.Long + "\n\n" + cmd.UsageString()
		switch topic := cmd.IsAdditionalHelpTopicCommand(); {
		case cmd.Name() == "help":
			return
		case cmd.Long == "":
			t.Errorf("%s has no text", cmd.CommandPath())
		case !topic && cmd.Runnable() && !strings.Contains(text, "Examples:\n"):
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		if cmd.Name() == "trial" || cmd.Name() == "keys" {
			return // tables
		}
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 86 {
				t.Errorf("%s: %d columns: %s", cmd.CommandPath(), n, line)
			}
		}
	})
}

// The help lists commands and flags in groups, and every command is in one.
func TestHelpIsInGroups(t *testing.T) {
	root := Command("test")
	for _, c := range root.Commands() {
		if !c.IsAdditionalHelpTopicCommand() && c.GroupID == "" {
			t.Errorf("%s is in no group", c.Name())
		}
	}
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs([]string{"--help"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	last := 0
	for _, want := range []string{
		"Look at a cluster:", "  check ", "Switch machines:", "  power ", "  restore ", "Trials and load:", "  trial ", "Recordings:", "  replay ",
		"Cluster flags:", "      --context", "Switching flags:", "      --dry-run", "Screen flags:", "Recording flags:", "      --cast", "lightsout help files",
	} {
		at := strings.Index(out.String(), want)
		if at < last {
			t.Errorf("the text lacks %q, or has it too early:\n%s", want, &out)
		}
		last = max(at, last)
	}
}

func TestHelpTopics(t *testing.T) {
	for topic, want := range map[string]string{
		"keys": "shut the marked nodes down", "files": "lightsout-locks", "environment": "KUBECONFIG", "exit-status": "not observed",
	} {
		out, err := say(t, "help", topic)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("help %s: %v\n%s", topic, err, out)
		}
	}
}

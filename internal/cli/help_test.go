package cli

import (
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

func TestFlagsOfTheRootBeforeACommandDoNotKeepItsHelpAway(t *testing.T) {
	for _, line := range []string{"--config x power --help", "--read-only power -h", "--config x power"} {
		if out, err := program(t, strings.Fields(line)...).CombinedOutput(); err != nil || !strings.Contains(string(out), "Usage:") {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
}

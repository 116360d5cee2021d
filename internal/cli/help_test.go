package cli

import (
	"strings"
	"testing"
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

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What reaches the machines is in DriverSettings: another load is not, nor is another place of the file.
func TestDriverSettings(t *testing.T) {
	read := func(text string) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), Name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Flags{File: path}.Read()
		if err != nil {
			t.Fatal(err)
		}
		return c.DriverSettings()
	}
	const power = "power: {off_by: exec, on_by: exec, exec: {off_command: [/bin/off, '{{.Node}}'], on_command: [/bin/on, '{{.Node}}'], state_command: [/bin/state, '{{.Node}}', 'KEY=x a']}}\n"
	first := read("context: a\n" + power)
	for text, same := range map[string]bool{
		"context: b\nload: {url: 'http://127.0.0.1/'}\n" + power:                  true,
		"context: a\n" + strings.ReplaceAll(power, "KEY=x a", "KEY=x b"):          false,
		"context: a\nbastion: other\n" + power:                                    false,
		"context: a\nssh: {user: other}\n" + power:                                false,
		"context: a\n" + power[:len(power)-2] + ", nodes: {n1: {machine: m1}}}\n": false,
	} {
		if got := read(text); got == "" || (got == first) != same {
			t.Errorf("%q for\n%sand %q before", got, text, first)
		}
	}
}

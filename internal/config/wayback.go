package config

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"lightsout/internal/text"
)

// AbsPath returns the absolute path of the config file, for a restore from another
// folder; empty if there is no file that still exists by then.
func (f Flags) AbsPath() string {
	info, err := os.Stat(f.Path())
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	path, err := filepath.Abs(f.Path())
	if err != nil {
		return ""
	}
	return path
}

// RestoreCommand returns the command that later powers on and uncordons the nodes left
// off or cordoned. It has every flag that leads to the same machines, journal and
// cluster from any folder and in any shell. c is the config that Read returned for the
// flags.
func (f Flags) RestoreCommand(c *Config) string {
	kubeconfig, before := f.Kubeconfig, ""
	if list := os.Getenv("KUBECONFIG"); c.Kubeconfig == "" && list != "" {
		if kubeconfig = list; strings.ContainsRune(list, filepath.ListSeparator) {
			kubeconfig, before = "", "KUBECONFIG="+text.ShellWord(list)+" "
		}
	}
	state, _ := c.StateDir() // without a state folder there is no journal
	words := []string{before + "lightsout restore"}
	for _, w := range []struct{ flag, value string }{
		{"--config", cmp.Or(f.AbsPath(), f.File)}, {"--kubeconfig", kubeconfig}, {"--context", f.Context}, {"--bastion", f.Bastion}, {"--state", state},
	} {
		if whole, err := filepath.Abs(w.value); err == nil && w.value != "" && w.flag != "--context" && w.flag != "--bastion" {
			w.value = whole
		}
		if w.value != "" {
			words = append(words, w.flag, text.ShellWord(w.value))
		}
	}
	return strings.Join(words, " ")
}

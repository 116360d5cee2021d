package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/power"
)

// sayEnd ends, on the main screen, with what is still off or cordoned, and where
// the records are.
func (a *app) sayEnd() {
	if _, dir, _ := a.trials.Outcome(); dir != "" {
		fmt.Fprintf(os.Stderr, "the trial's record is in %s, its report in %s\n", dir, record.HTMLFile)
	}
	if a.opt.lab {
		return // its machines and the session's record are gone with it
	}
	a.sayLeftOff()
	fmt.Fprintf(os.Stderr, "the session's record is in %s\n", a.dir)
}

// leftBehind names the nodes that are still off, and those that are still
// cordoned, by what can be read of the journal.
func leftBehind(j *power.Journal) (off, cordoned []string, err error) {
	left, err := j.LeftOff()
	for _, l := range left {
		off = append(off, l.Node)
	}
	entries, _ := j.LeftCordoned() // its error is the same
	for _, e := range entries {
		cordoned = append(cordoned, e.Node)
	}
	slices.Sort(off)
	slices.Sort(cordoned)
	return off, cordoned, err
}

// sayLeftOff says what is still off or cordoned.
func (a *app) sayLeftOff() {
	if len(a.left) > 0 {
		fmt.Fprintf(os.Stderr, "still off: %s. Power on with: %s\n", strings.Join(a.left, ", "), a.opt.command("restore"))
	}
	if len(a.cordoned) > 0 {
		fmt.Fprintf(os.Stderr, "still cordoned: %s. Uncordon with: %s\n", strings.Join(a.cordoned, ", "), a.opt.command("restore"))
	}
}

// restore is the command that undoes later what is left off or cordoned; empty
// for a lab, which leaves nothing.
func (o options) restore() string {
	if o.lab {
		return ""
	}
	for _, path := range []*string{&o.File, &o.Kubeconfig, &o.State} { // it may be given elsewhere
		if whole, err := filepath.Abs(*path); err == nil && *path != "" {
			*path = whole
		}
	}
	return o.command("restore")
}

// command is a command line with the flags that lead to the same cluster, the
// same machines and the same journal.
func (o options) command(name string) string {
	words := []string{"lightsout", name}
	for _, f := range []struct{ flag, value string }{
		{"--config", o.File}, {"--kubeconfig", o.Kubeconfig}, {"--context", o.Context}, {"--bastion", o.Bastion}, {"--state", o.State},
	} {
		if f.value != "" {
			words = append(words, f.flag, text.ShellWord(f.value))
		}
	}
	return strings.Join(words, " ")
}

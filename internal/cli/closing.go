package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lightsout/internal/config"
	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/power"
)

// sayEnd prints, on the main screen, the machines and nodes that are still off or
// cordoned, and the paths of the records.
func (a *app) sayEnd() {
	say := func(of, dir string) {
		fmt.Fprintf(stderr, "the %s's record is in %s, its report in %s\n", of, dir, filepath.Join(dir, record.HTMLFile))
	}
	for _, k := range a.trials.Kept() {
		say("trial", k)
	}
	if a.outages != nil && a.outages.Newest() != "" {
		say("outage", a.outages.Newest())
	}
	a.left.back = a.session.PoweredOn()
	a.sayLeftOff()
	if a.opt.lab == "" { // which ends with its record
		fmt.Fprintf(stderr, "the session's record is in %s\n", a.dir)
	}
}

// leftover are the nodes that are left off or cordoned: those that are off, those that lightsout did not
// see off and that may still go off, those that are still cordoned, and those that stay so, as the operator wanted;
// and those that are back, because the operator wanted that before leaving.
type leftover struct{ off, late, cordoned, wanted, back []string }

// leftBehind returns what is left according to the readable part of the journal.
func leftBehind(j *power.Journal) (left leftover, err error) {
	machines, err := j.LeftOff()
	for _, l := range machines {
		name := leftName(l, j.Config())
		if l.Stands == power.MayBeOff {
			left.late = append(left.late, name)
		} else {
			left.off = append(left.off, name)
		}
	}
	entries, _ := j.LeftCordoned() // its error is the same
	for _, e := range entries {
		if e.Action == power.ForItself {
			left.wanted = append(left.wanted, e.Node)
		} else {
			left.cordoned = append(left.cordoned, e.Node)
		}
	}
	for _, nodes := range [][]string{left.off, left.late, left.cordoned, left.wanted} {
		slices.Sort(nodes)
	}
	return left, err
}

// errors describe what is left, with the command that restores it.
func (l leftover) errors(command string) (all []error) {
	for _, s := range []struct {
		nodes      []string
		what, then string
	}{{l.off, "off by the journal", "power on"}, {l.late, "may be off", "check and power on"}, {l.cordoned, "still cordoned", "uncordon"}} {
		if len(s.nodes) > 0 {
			all = append(all, text.Advise(errors.New(s.what+": "+strings.Join(s.nodes, ", ")), s.then+" with: "+command))
		}
	}
	return all
}

// leftName names a machine in the journal. It adds a remark if the machine may be on, and
// until when it may yet go off, or if lightsout switched it off with another config than the present one, which may lack the
// machine's driver.
func leftName(l power.LeftOff, present string) string {
	if l.Stands == power.MayBeOff {
		name := l.Node + " (asked to go off; outcome unknown"
		if l.Until.After(time.Now()) {
			name += "; it may still go off until " + l.Until.Local().Format("15:04:05")
		}
		return name + ")"
	}
	if l.Config != "" && present != "" && l.Config != present {
		return fmt.Sprintf("%s (switched off with --config %s)", l.Node, text.ShellWord(l.Config))
	}
	return l.Node
}

// sayLeftOff prints the machines and nodes that are back, still off or cordoned, or may be; nothing for
// a lab, which has ended with them.
func (a *app) sayLeftOff() {
	if a.opt.lab != "" {
		return
	}
	if len(a.left.back) > 0 {
		fmt.Fprintf(stderr, "powered on before leaving: %s (Ready)\n", text.List(a.left.back))
	}
	for _, err := range a.left.errors(a.opt.restore(a.config)) {
		fmt.Fprintln(stderr, err)
	}
	if len(a.left.wanted) > 0 {
		fmt.Fprintf(stderr, "%s %s cordoned, as you asked; uncordon with: %s\n", text.List(a.left.wanted), text.Noun(len(a.left.wanted), "stays", "stay"), text.ShellLine(slices.Concat(a.kubectl, []string{"uncordon"}, a.left.wanted)...))
	}
}

// restore returns the command that later powers on and uncordons the nodes left off or
// cordoned. It is empty for a lab, which keeps nothing.
func (o options) restore(cfg *config.Config) string {
	if o.lab != "" {
		return ""
	}
	return o.CommandLine("restore", cfg)
}

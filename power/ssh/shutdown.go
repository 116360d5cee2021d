package ssh

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"lightsout/internal/text"
	"lightsout/power"
	"lightsout/power/internal/secret"
)

// asksPassword is how a shutdown command begins that hands sudo a password.
const asksPassword = "sudo -S "

// locale has programs print English; it suits every login shell.
const locale = "env LC_ALL=C "

// Preflight runs what shows whether the node would obey, and changes nothing:
// it logs in and runs the probe of the shutdown command.
func (d *Driver) Preflight(ctx context.Context, _ power.Action, m power.Machine) error {
	p := d.wouldRun(m, "")
	if p == nil || strings.HasPrefix(d.opt.Shutdown, asksPassword) {
		p = &job{command: "true", judge: d.obeys(m, "")}
	}
	r, err := d.client.run(ctx, spec(m), job{command: p.command, limit: d.opt.CommandTimeout})
	if err != nil {
		return err
	}
	return p.judge(r)
}

// wouldRun returns what shows whether the shutdown command would run: by sudo's own list of
// what it allows, else by whether there is such a program. Of several commands in one
// line it cannot be known: nil.
func (d *Driver) wouldRun(m power.Machine, password string) *job {
	command := strings.TrimSpace(d.opt.Shutdown)
	if strings.ContainsAny(command, ";&|<>`$()\n") {
		return nil
	}
	rest, sudo := strings.CutPrefix(command, "sudo ")
	withPassword, asks := strings.CutPrefix(command, asksPassword)
	rest = strings.TrimPrefix(rest, "-n ")
	switch {
	case asks: // the first checks the password, the second whether sudo allows the command
		const ask = locale + "sudo -k -S --prompt= "
		return &job{command: ask + "-v && " + ask + "-l " + withPassword, stdin: password + "\n" + password + "\n", judge: d.obeys(m, "")}
	case sudo && !strings.HasPrefix(rest, "-"): // the second lists the rules by which it allows it
		list := locale + "sudo -n -l"
		return &job{command: marked(list + " " + rest + " && " + list), judge: d.obeys(m, rest)}
	}
	name, _, _ := strings.Cut(command, " ")
	return &job{command: `sh -c 'p=$(command -v "$0") || exit 127; case $p in /*) test -x "$p" || exit 126;; esac' ` + name, judge: d.obeys(m, "")}
}

// obeys judges a probe by its exit status. rest is the command that sudo is to run without
// a password.
func (d *Driver) obeys(m power.Machine, rest string) func(result) error {
	return func(r result) error {
		why, todo := complaint(r), ""
		switch sudo := strings.HasPrefix(d.opt.Shutdown, "sudo "); {
		case r.Outcome == succeeded && (rest == "" || withoutPassword(output(r), rest)):
			return nil
		case r.Outcome == succeeded:
			why, todo = "sudo asks for a password", allowSudo
		case r.Outcome != failed:
			return fmt.Errorf("%s did not report whether the user may shut it down, so nothing was sent: %s", m.Title(), cmp.Or(r.Why, fmt.Sprintf("status %d", r.Status)))
		case r.Status == 126 || r.Status == 127:
			why, todo = "the command was not found", "set ssh.shutdown to a command that exists"
		case strings.HasPrefix(d.opt.Shutdown, asksPassword):
			why = "sudo did not accept the password, or does not allow the command"
		case sudo:
			why, todo = cmp.Or(strings.TrimSuffix(power.Clean(r.Stderr), "."), "sudo does not allow it"), allowSudo
		}
		return text.Advise(&power.RefusedError{Why: fmt.Sprintf("%s does not accept %q: %s", m.Title(), d.opt.Shutdown, why)}, todo)
	}
}

// withoutPassword judges by sudo's list of rules whether a command that is
// allowed needs no password. A rule stands on a line of its own behind the
// users that it lets one become: "(root) NOPASSWD: /bin/a, PASSWD: /bin/b".
func withoutPassword(listing, command string) bool {
	name := command
	if words := strings.Fields(command); len(words) > 0 {
		name = words[0][strings.LastIndexByte(words[0], '/')+1:]
	}
	tagged, bare := false, false
	for _, line := range strings.Split(listing, "\n") {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "(") {
			continue
		}
		_, free, ok := strings.Cut(line, "NOPASSWD:")
		free, _, _ = strings.Cut(free, " PASSWD:")
		bare = bare || !ok
		tagged = tagged || ok && (strings.Contains(free, "ALL") || strings.Contains(free, name))
	}
	// Without any rule that could want one it was sudo's whole configuration
	// that wants none.
	return tagged || !bare
}

// allowSudo is what to do where sudo refuses.
const allowSudo = "allow the user this command without a password (NOPASSWD in sudoers)"

// complaint describes a command that failed.
func complaint(r result) string {
	return fmt.Sprintf("%s (status %d)", cmp.Or(power.Clean(r.Stderr), power.Clean(output(r)), "it printed nothing"), r.Status)
}

// bootIDs matches the boot ID of a Linux kernel.
var bootIDs = regexp.MustCompile(`(?m)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\r?$`)

// BootID reads the boot ID of the system that answers: kubelets report the same one
// (cadvisor, utils/sysfs: /proc/sys/kernel/random/boot_id). It is empty if the system has
// none.
func (d *Driver) BootID(ctx context.Context, m power.Machine) (string, error) {
	r, err := d.client.run(ctx, spec(m), job{command: marked("cat /proc/sys/kernel/random/boot_id"), limit: d.opt.CommandTimeout})
	if ids := bootIDs.FindAllString(output(r), -1); err == nil && r.Outcome == succeeded && len(ids) > 0 {
		return strings.TrimSpace(ids[len(ids)-1]), nil
	}
	return "", err
}

// Switch shuts down: it logs in and runs the shutdown command once. Nil means
// that it was started, and ended well or was cut short by the machine's going
// down; only the state proves that it is off.
func (d *Driver) Switch(ctx context.Context, _ power.Action, m power.Machine) error {
	work := job{command: d.opt.Shutdown, limit: d.opt.CommandTimeout}
	var password string
	if command, ok := strings.CutPrefix(work.command, asksPassword); ok {
		h, _, err := d.client.node(spec(m))
		if err != nil {
			return err
		}
		password, err = d.client.keys.inTurn(ctx, "", SecretQuestion{Prompt: fmt.Sprintf("sudo's password for %s, to shut down %s", h, m.Title())})
		if err != nil {
			return &power.RefusedError{Why: fmt.Sprintf("%s was not shut down: sudo asks for a password, and none was given", m.Title())}
		}
		// What sudo remembers of an earlier password does not count.
		work.command, work.stdin = "sudo -k -S --prompt= "+command, password+"\n"
	}
	if strings.HasPrefix(work.command, "sudo ") {
		work.command = locale + work.command
	}
	work.probe = d.wouldRun(m, password)
	r, err := d.client.run(ctx, spec(m), work)
	if err != nil {
		return err
	}
	switch r.Outcome {
	case succeeded, vanished:
		return nil
	case failed:
		return &power.UnconfirmedError{Why: fmt.Sprintf("%s did not accept %q: %s", m.Title(), d.opt.Shutdown,
			secret.Hide(complaint(r), password, power.Clean(password)))} // it may repeat its input
	}
	return &power.UnconfirmedError{Why: r.Why}
}

// clockCommand prints the time in seconds, to the nanosecond where date can.
var clockCommand = marked("date +%s.%N")

// Clock asks a machine for its time. It returns how far its clock is ahead of this
// machine's (negative: behind), and the error bound: half of the time that the answer
// took.
func (d *Driver) Clock(ctx context.Context, m power.Machine) (ahead, within time.Duration, err error) {
	return readClock(m.Title(), func() (result, error) {
		return d.client.run(ctx, spec(m), job{command: clockCommand, limit: d.opt.CommandTimeout})
	})
}

// BastionClock is Clock for the bastion.
func (c *Client) BastionClock(ctx context.Context) (ahead, within time.Duration, err error) {
	return readClock(c.Via(), func() (result, error) { return c.runOnBastion(ctx, clockCommand) })
}

func readClock(name string, ask func() (result, error)) (ahead, within time.Duration, err error) {
	r, err := ask()
	if err != nil {
		return 0, 0, err
	}
	if r.Outcome != succeeded {
		return 0, 0, fmt.Errorf("%s did not report its time: %s", name, complaint(r))
	}
	there, ok := parseClock(output(r))
	if !ok {
		return 0, 0, fmt.Errorf("%s did not report its time: it answered %q", name, power.Clean(output(r)))
	}
	return there.Sub(r.sent.Add(r.took / 2)), r.took / 2, nil
}

// parseClock reads what date prints, in the last line; not every date knows %N.
func parseClock(said string) (time.Time, bool) {
	said = strings.TrimSpace(said)
	said = said[strings.LastIndexByte(said, '\n')+1:]
	since, err := time.ParseDuration(strings.TrimRight(strings.TrimSpace(said), ".%N") + "s")
	return time.Unix(0, int64(since)), err == nil && since >= 0
}

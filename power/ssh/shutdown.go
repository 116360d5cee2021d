package ssh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"lightsout/internal/text"
	"lightsout/power"
	"lightsout/power/internal/secret"
)

// asksPassword is how a shutdown command begins that hands sudo a password.
const asksPassword = "sudo -S "

// Preflight runs what shows whether the node would obey, and changes nothing:
// it logs in, and where sudo is to be used without a password it asks sudo
// whether that is allowed. It ignores the rest of the command.
func (d *Driver) Preflight(ctx context.Context, a power.Action, m power.Machine) error {
	if a != power.ActionShutdown {
		return power.ErrCannot
	}
	check := "true"
	rest, sudo := strings.CutPrefix(d.opt.Shutdown, "sudo -n ")
	if sudo = sudo && !strings.ContainsAny(rest, ";&|<>`$()\n"); sudo {
		// The first checks whether sudo allows it at all, the second by which rules.
		check = "sudo -n -l " + rest + " && sudo -n -l"
	}
	r, err := d.client.run(ctx, spec(m), job{command: check, limit: d.opt.CommandTimeout})
	switch {
	case err != nil:
		return err
	case r.Outcome == failed && sudo && strings.TrimSpace(r.Stderr) == "":
		return text.Advise(fmt.Errorf("%s does not accept %q: sudo does not allow it", m.Title(), d.opt.Shutdown), allowSudo)
	case r.Outcome == failed:
		return fmt.Errorf("%s does not accept %q: %w", m.Title(), d.opt.Shutdown, complaint(r))
	case r.Outcome != succeeded:
		return fmt.Errorf("%s did not report whether the user may shut it down: %s", m.Title(), r.Why)
	case sudo && !withoutPassword(r.Stdout, rest):
		return text.Advise(fmt.Errorf("%s does not accept %q: sudo asks for a password", m.Title(), d.opt.Shutdown), allowSudo)
	}
	return nil
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

// complaint returns the message of a failed command and, for a common failure, the next
// step.
func complaint(r result) error {
	said := cmp.Or(power.Clean(r.Stderr), power.Clean(r.Stdout))
	switch {
	case strings.Contains(said, "password is required"), strings.Contains(said, "terminal is required"):
		return text.Advise(errors.New(said), allowSudo)
	case strings.Contains(said, "incorrect password"), strings.Contains(said, "no password was provided"):
		return errors.New("sudo did not accept the password")
	case r.Status == 127:
		return text.Advise(fmt.Errorf("the command was not found (%s)", said), "set ssh.shutdown to a command that exists")
	case said == "":
		return fmt.Errorf("it ended with status %d and printed nothing", r.Status)
	}
	return fmt.Errorf("%s (status %d)", said, r.Status)
}

// bootIDs matches the boot ID of a Linux kernel.
var bootIDs = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// BootID reads the boot ID of the system that answers: kubelets report the same one
// (cadvisor, utils/sysfs: /proc/sys/kernel/random/boot_id). It is empty if the system has
// none.
func (d *Driver) BootID(ctx context.Context, m power.Machine) (string, error) {
	r, err := d.client.run(ctx, spec(m), job{command: "cat /proc/sys/kernel/random/boot_id", limit: d.opt.CommandTimeout})
	if id := strings.TrimSpace(r.Stdout); err == nil && r.Outcome == succeeded && bootIDs.MatchString(id) {
		return id, nil
	}
	return "", err
}

// Switch shuts down: it logs in and runs the shutdown command once. Nil means
// that it was started, and ended well or was cut short by the machine's going
// down; only the state proves that it is off.
func (d *Driver) Switch(ctx context.Context, a power.Action, m power.Machine) error {
	if a != power.ActionShutdown {
		return power.ErrCannot
	}
	work := job{command: d.opt.Shutdown, limit: d.opt.CommandTimeout}
	var password string
	if command, ok := strings.CutPrefix(work.command, asksPassword); ok {
		h, _, err := d.client.node(spec(m))
		if err != nil {
			return err
		}
		password, err = d.client.secret(ctx, h, fmt.Sprintf("sudo's password for %s, to shut down %s", h, m.Title()))
		if err != nil {
			return &power.RefusedError{Why: fmt.Sprintf("%s was not shut down: sudo asks for a password, and none was given", m.Title())}
		}
		// No prompt, which would be taken for a complaint; and what sudo
		// remembers of an earlier password does not count.
		work.command, work.stdin = "sudo -k -S --prompt= "+command, password+"\n"
	}
	r, err := d.client.run(ctx, spec(m), work)
	if err != nil {
		return err
	}
	switch r.Outcome {
	case succeeded, vanished, killed:
		d.update(m, func(s *sight) { s.answered = true }) // it let us in
		return nil
	case failed:
		why := fmt.Sprintf("%s did not accept %q: %s", m.Title(), d.opt.Shutdown,
			secret.Hide(complaint(r).Error(), password, power.Clean(password))) // it may repeat its input
		if notRun(d.opt.Shutdown, r) {
			return &power.NotSentError{Err: &power.RefusedError{Why: why}}
		}
		return &power.UnconfirmedError{Why: why}
	}
	return &power.UnconfirmedError{Why: r.Why}
}

// notRun reports whether a failed command certainly did nothing: the shell did not find or
// start it, or sudo did not permit it, and nothing else was printed. Any other failure is
// uncertain: systemctl and shutdown end with status 1 when logind answers too late, and the
// machine goes off. Of several commands one may have run.
func notRun(command string, r result) bool {
	if strings.ContainsAny(command, ";&|\n`$(") || strings.TrimSpace(r.Stdout) != "" {
		return false
	}
	first, _, _ := strings.Cut(strings.TrimSpace(command), " ")
	notStarted := regexp.MustCompile(`(^|: )` + regexp.QuoteMeta(first) + `: (command not found|not found|No such file or directory|Permission denied)$`)
	denied := false
	for line := range strings.Lines(r.Stderr) {
		switch line = power.Clean(line); {
		case line == "":
		case (r.Status == 126 || r.Status == 127) && notStarted.MatchString(line),
			first == "sudo" && slices.ContainsFunc(denials, func(words string) bool { return strings.Contains(line, words) }):
			denied = true
		default:
			return false
		}
	}
	return denied
}

// denials are the messages of sudo when it does not run a command (plugins/sudoers: check.c,
// logging.c and auth/sudo_auth.c) and of sudo-rs (src/common/error.rs).
var denials = []string{
	"password is required", "interactive authentication is required", "terminal is required", "incorrect password", "no password was provided",
	"is not allowed to execute", "is not allowed to run sudo", "not in the sudoers file", "may not run sudo", "Sorry, try again",
}

// clockCommand prints the time in seconds, to the nanosecond where date can.
const clockCommand = "date +%s.%N"

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
		return 0, 0, fmt.Errorf("%s did not report its time: %w", name, complaint(r))
	}
	there, ok := parseClock(r.Stdout)
	if !ok {
		return 0, 0, fmt.Errorf("%s did not report its time: it answered %q", name, power.Clean(r.Stdout))
	}
	return there.Sub(r.sent.Add(r.took / 2)), r.took / 2, nil
}

// parseClock reads what date prints; not every date knows %N.
func parseClock(said string) (time.Time, bool) {
	since, err := time.ParseDuration(strings.TrimRight(strings.TrimSpace(said), ".%N") + "s")
	return time.Unix(0, int64(since)), err == nil && since >= 0
}

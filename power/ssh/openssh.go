package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"lightsout/power"
)

// askLimit bounds one run of ssh -G, with the commands of Match exec.
const askLimit = 15 * time.Second

// systemConfig is the ssh_config for the whole machine, read after the user's.
const systemConfig = "/etc/ssh/ssh_config"

// question is what the settings of a host depend on besides the files. fallback is the user
// for whom nothing else is known.
type question struct{ user, alias, port, fallback string }

// sshProgram finds the installed OpenSSH client; empty if there is none.
func sshProgram() string {
	path, err := exec.LookPath("ssh")
	if err != nil {
		return ""
	}
	return path
}

// settings returns the settings of a host: those that the installed ssh reports, or where
// there is none, those that subset understands. It asks once.
func (c *config) settings(q question) (settings, error) {
	if known, ok := c.answers.Load(q); ok {
		return known.(settings), nil
	}
	var s settings
	var err error
	if c.program != "" {
		s, err = c.ask(q)
	} else {
		s, err = c.subset(q)
	}
	if err != nil {
		return nil, never(err)
	}
	c.answers.Store(q, s)
	return s, nil
}

// configFiles are the files of ssh, the first one for -F where ssh would not find it.
func (c *config) configFiles() (files []string, given string) {
	own := filepath.Join(c.home, ".ssh", "config")
	if c.opt.ConfigFile != "" {
		return []string{c.opt.ConfigFile}, c.opt.ConfigFile
	}
	if _, err := os.Stat(own); err == nil && c.home != c.account {
		given = own
	}
	return []string{own, systemConfig}, given
}

// ask asks ssh -G. It answers with the account's name where no line names a user: then
// fallback counts, behind all lines.
func (c *config) ask(q question) (settings, error) {
	files, given := c.configFiles()
	s, err := c.run(q, given, "")
	if err != nil || q.user != "" || q.fallback == "" || s.first("user") != c.local {
		return s, err
	}
	behind, err := c.run(q, "/dev/stdin", "Include \""+strings.Join(files, "\" \"")+"\"\nMatch all\nUser \""+q.fallback+"\"\n")
	if err == nil {
		s["user"] = behind["user"]
	}
	return s, err
}

// run runs ssh -G, which connects to nothing. It has no terminal, so that the commands of
// Match exec can't ask there.
func (c *config) run(q question, file, stdin string) (settings, error) {
	args := []string{"-G"}
	for _, a := range [][2]string{{"-F", file}, {"-l", q.user}, {"-p", q.port}} {
		if a[1] != "" {
			args = append(args, a[0], a[1])
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.program, append(args, "--", q.alias)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	if stdin != "" {
		cmd.Stdin = strings.NewReader(stdin)
	}
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("ssh -G %s did not end within %s; see what its Match exec waits for", q.alias, askLimit)
	case errors.As(err, new(*exec.ExitError)):
		return nil, fmt.Errorf("ssh does not understand its configuration for %s: %s; correct it, or name another file as ssh.config", q.alias, power.Clean(complaint.String()))
	case err != nil:
		return nil, fmt.Errorf("ssh -G %s can't be run: %w", q.alias, err)
	}
	s := settings{}
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		s[key] = append(s[key], value)
	}
	return s, nil
}

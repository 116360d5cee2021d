package ssh

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"lightsout/power"
	"lightsout/power/internal/program"
)

// settings are the settings of one host, by keyword in lower case, as ssh -G prints them.
type settings map[string][]string

func (s settings) first(key string) string { return cmp.Or(s[key]...) }

func (s settings) is(key, value string) bool { return strings.EqualFold(s.first(key), value) }

func (s settings) mayPassword() bool { return s.may("password", "passwordauthentication") }
func (s settings) mayKeyboard() bool {
	return s.may("keyboard-interactive", "kbdinteractiveauthentication")
}

// may reports whether the configuration leaves a way of logging in, which a keyword can
// rule out.
func (s settings) may(method, keyword string) bool {
	preferred := s.first("preferredauthentications")
	return !s.is(keyword, "no") && (preferred == "" || slices.Contains(strings.Split(strings.ToLower(preferred), ","), method))
}

// forwarder matches a ProxyCommand that is equivalent to a ProxyJump.
var forwarder = regexp.MustCompile(`^(?:exec +)?(?:/usr/bin/)?ssh +(?:-q +)?(?:-W +\[?%h\]?:%p +(?:-q +)?(\S+)|(\S+) +-W +\[?%h\]?:%p)$`)

// jumps lists the hosts to go through. The client never runs a ProxyCommand: it treats
// one that only asks ssh to forward as the equivalent ProxyJump, and returns an error
// for any other.
func (s settings) jumps(alias string) ([]string, error) {
	jump, command := s.first("proxyjump"), strings.Join(strings.Fields(s.first("proxycommand")), " ")
	if m := forwarder.FindStringSubmatch(command); m != nil {
		jump = cmp.Or(jump, m[1]+m[2])
	}
	switch {
	case jump == "" && command != "" && !strings.EqualFold(command, "none"):
		return nil, fmt.Errorf("the ssh configuration gives a ProxyCommand for %s, which is not supported: no command is run to connect; use ProxyJump", alias)
	case jump == "" || strings.EqualFold(jump, "none"):
		return nil, nil
	}
	return strings.Split(jump, ","), nil
}

// askLimit bounds one run of ssh -G, with the commands of Match exec.
const askLimit = 15 * time.Second

// question is what the settings of a host depend on besides the files. fallback is the user
// for whom nothing else is known.
type question struct{ user, alias, port, fallback string }

// settings returns the settings of a host: those that the installed ssh reports, or where
// there is none, the defaults. It asks once.
func (c *config) settings(q question) (settings, error) {
	if known, ok := c.answers.Load(q); ok {
		return known.(settings), nil
	}
	read := c.ask
	if c.program == "" {
		read = c.defaults
	}
	s, err := read(q)
	if err != nil {
		return nil, never(err)
	}
	c.answers.Store(q, s)
	return s, nil
}

// ask asks ssh -G, which connects to nothing. It has no terminal, so that the commands of
// Match exec can't ask there. It answers with the account's name where no line names a user:
// then fallback counts.
func (c *config) ask(q question) (settings, error) {
	args := []string{c.program, "-G"}
	for _, a := range [][2]string{{"-F", c.given}, {"-l", q.user}, {"-p", q.port}} {
		if a[1] != "" {
			args = append(args, a[0], a[1])
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	r, err := program.Run(ctx, program.Program{Argv: append(args, "--", q.alias)})
	switch {
	case err != nil:
		return nil, fmt.Errorf("ssh -G %s does not answer (%w); see what its Match exec waits for", q.alias, err)
	case !r.OK():
		return nil, fmt.Errorf("ssh does not understand its configuration for %s: %s; correct it, or name another file as ssh.config", q.alias, power.Clean(r.Stderr))
	}
	// ssh has put the account's home for ~.
	home := strings.NewReplacer(" "+c.home+"/", " "+c.home+"/", " "+c.account+"/", " ~/")
	s := settings{}
	for line := range strings.Lines(r.Stdout) {
		key, value, _ := strings.Cut(home.Replace(strings.TrimRight(line, "\r\n")), " ")
		s[key] = append(s[key], value)
	}
	if q.user == "" && q.fallback != "" && s.first("user") == c.local {
		s["user"] = []string{q.fallback}
	}
	return s, nil
}

// defaultKeys are the key files of ssh where the configuration names none.
var defaultKeys = []string{"~/.ssh/id_rsa", "~/.ssh/id_ecdsa", "~/.ssh/id_ecdsa_sk", "~/.ssh/id_ed25519", "~/.ssh/id_ed25519_sk", "~/.ssh/id_xmss", "~/.ssh/id_dsa"}

// mayMiss reports whether a key file is one of ssh's own choice, which may be missing.
func mayMiss(file string) bool {
	return filepath.Base(filepath.Dir(file)) == ".ssh" && slices.Contains(defaultKeys, "~/.ssh/"+filepath.Base(file))
}

// defaults returns the settings where there is no ssh to ask: those of no configuration. One that is there
// may say something else.
func (c *config) defaults(q question) (settings, error) {
	for _, file := range c.files {
		if _, err := os.Stat(file); err == nil {
			return nil, fmt.Errorf("there is no ssh program to ask for the settings of %s in %s: install the OpenSSH client, or remove that file", q.alias, file)
		}
	}
	return settings{
		"hostname": {q.alias}, "user": {cmp.Or(q.user, q.fallback, c.local)}, "port": {cmp.Or(q.port, "22")}, "identityfile": defaultKeys,
		"userknownhostsfile": {"~/.ssh/known_hosts ~/.ssh/known_hosts2"}, "globalknownhostsfile": {"/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2"},
	}, nil
}

package ssh

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"lightsout/internal/text"
)

// understood are the keywords that subset understands, each with one plain word.
var understood = []string{"hostname", "user", "port", "proxyjump", "identityfile", "userknownhostsfile"}

// defaultKeys are the key files of ssh where the configuration names none.
var defaultKeys = []string{"~/.ssh/id_rsa", "~/.ssh/id_ecdsa", "~/.ssh/id_ecdsa_sk", "~/.ssh/id_ed25519", "~/.ssh/id_ed25519_sk", "~/.ssh/id_xmss", "~/.ssh/id_dsa"}

// mayMiss reports whether a key file is one of ssh's own choice, which may be missing.
func mayMiss(file string) bool {
	return filepath.Base(filepath.Dir(file)) == ".ssh" && slices.Contains(defaultKeys, "~/.ssh/"+filepath.Base(file))
}

// subset reads the configuration where there is no ssh to ask: Host with patterns, and the
// keywords of understood. The error names every line for the host that it does not
// understand.
func (c *config) subset(q question) (settings, error) {
	s := settings{"user": {q.user}, "port": {q.port}}
	var strange []string
	for _, file := range c.files {
		data, err := text.ReadFile(file)
		if err != nil && (c.opt.ConfigFile != "" || !errors.Is(err, fs.ErrNotExist)) {
			return nil, fmt.Errorf("the ssh configuration can't be read: %w", err)
		}
		applies := true
		for n, line := range strings.Split(string(data), "\n") {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' && !s.read(line, q.alias, &applies) {
				strange = append(strange, fmt.Sprintf("line %d of %s (%s)", n+1, file, line))
			}
		}
	}
	if len(strange) > 0 {
		return nil, fmt.Errorf("there is no ssh program to ask, and lightsout alone does not understand these for %s: %s; install the OpenSSH client, or name another file as ssh.config",
			q.alias, strings.Join(strange, ", "))
	}
	defaults := settings{
		"hostname": {q.alias}, "user": {cmp.Or(q.fallback, c.local)}, "port": {"22"}, "identityfile": defaultKeys,
		"userknownhostsfile": {"~/.ssh/known_hosts ~/.ssh/known_hosts2"}, "globalknownhostsfile": {"/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2"},
	}
	for key, value := range defaults {
		if s.first(key) == "" {
			s[key] = value
		}
	}
	return s, nil
}

// read takes one line in, if it applies to the host, and reports whether it understood it.
func (s settings) read(line, alias string, applies *bool) bool {
	words := strings.Fields(strings.Replace(line, "=", " ", 1))
	key, plain := strings.ToLower(words[0]), len(words) > 1 && !strings.ContainsAny(line, "\"'\\#[]%$")
	switch {
	case key == "host":
		*applies = plain && matches(words[1:], alias)
		return plain
	case key == "match":
		*applies = false
		return false
	case *applies && (!plain || len(words) > 2 || !slices.Contains(understood, key)):
		return false
	case *applies && (key == "identityfile" || s.first(key) == ""): // of others the first one counts
		s[key] = append(s[key], words[1])
	}
	return true
}

// matches reports whether a host matches one of the patterns of a Host line and none that
// is negated.
func matches(patterns []string, alias string) (any bool) {
	for _, p := range patterns {
		p, negated := strings.CutPrefix(p, "!")
		matched, _ := path.Match(p, alias)
		if matched && negated {
			return false
		}
		any = any || matched
	}
	return any
}

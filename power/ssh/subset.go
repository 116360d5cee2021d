package ssh

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// understood are the keywords that subset understands.
const understood = " user hostname port proxyjump identityfile identitiesonly certificatefile identityagent hostkeyalias userknownhostsfile" +
	" globalknownhostsfile batchmode preferredauthentications "

// subset reads the configuration where there is no ssh to ask: Host with patterns, and the
// keywords of understood. The error names every line for the host that it does not
// understand.
func (c *config) subset(q question) (settings, error) {
	files, _ := c.configFiles()
	s := settings{}
	var strange []string
	for _, file := range files {
		data, err := os.ReadFile(file)
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
	return s, nil
}

// read takes one line in, if it applies to the host, and reports whether it understood it.
func (s settings) read(line, alias string, applies *bool) bool {
	words := strings.Fields(strings.Replace(line, "=", " ", 1))
	key, args, value := strings.ToLower(words[0]), words[1:], strings.Join(words[1:], " ")
	plain := value != "" && !strings.ContainsAny(line, "\"'\\#[]")
	switch {
	case key == "host":
		*applies = plain && matches(args, alias)
		return plain
	case key == "match":
		*applies = false
		return false
	case !*applies:
		return true
	case !plain || !strings.Contains(understood, " "+key+" ") || len(args) > 1 && !strings.HasSuffix(key, "knownhostsfile"):
		return false
	case key == "hostname":
		value = strings.ReplaceAll(value, "%h", alias)
	}
	if key == "identityfile" || key == "certificatefile" || len(s[key]) == 0 { // of others the first one counts
		s[key] = append(s[key], value)
	}
	return key != "hostname" || !strings.Contains(value, "%")
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

package ssh

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
)

// The keywords that subset understands, and those that do not matter here.
const (
	understood = " user hostname port proxyjump identityfile identitiesonly certificatefile identityagent hostkeyalias userknownhostsfile" +
		" globalknownhostsfile batchmode passwordauthentication kbdinteractiveauthentication preferredauthentications "
	unimportant = " addkeystoagent compression connecttimeout controlmaster controlpath controlpersist forwardagent forwardx11 gssapiauthentication" +
		" hashknownhosts loglevel sendenv serveralivecountmax serveraliveinterval tcpkeepalive visualhostkey "
	several = " userknownhostsfile globalknownhostsfile "
	yesOrNo = " identitiesonly batchmode passwordauthentication kbdinteractiveauthentication "
)

// subset reads the configuration where there is no ssh to ask: Host with patterns, Match all
// and the keywords of understood. The error names every line for the host that it does not
// understand.
func (c *config) subset(q question) (settings, error) {
	files, _ := c.configFiles()
	s := settings{}
	var strange []string
	for _, path := range files {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) && c.opt.ConfigFile == "" {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("the ssh configuration can't be read: %w", err)
		}
		applies := true
		for n, line := range strings.Split(string(data), "\n") {
			if !s.read(line, q.alias, &applies) {
				strange = append(strange, fmt.Sprintf("line %d of %s (%s)", n+1, path, strings.TrimSpace(line)))
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
	key, args, ok := directive(line)
	switch {
	case key == "":
		return true
	case key == "host":
		*applies = ok && matchesAny(args, alias)
		return ok
	case key == "match":
		*applies = ok && len(args) == 1 && strings.EqualFold(args[0], "all")
		return *applies
	case !*applies || strings.Contains(unimportant, " "+key+" "):
		return true
	case !ok || !strings.Contains(understood, " "+key+" ") || len(args) > 1 && !strings.Contains(several, " "+key+" "):
		return false
	}
	value := strings.Join(args, " ")
	switch {
	case strings.Contains(yesOrNo, " "+key+" ") && !slices.Contains([]string{"yes", "no"}, value):
		return false
	case key == "hostname":
		value = strings.NewReplacer("%%", "%", "%h", alias).Replace(value)
		if strings.Contains(strings.ReplaceAll(args[0], "%h", ""), "%") {
			return false
		}
	case key == "identityfile" || key == "certificatefile":
		if !slices.Contains(s[key], value) {
			s[key] = append(s[key], value)
		}
		return true
	}
	if len(s[key]) == 0 { // the first one counts
		s[key] = []string{value}
	}
	return true
}

// argument matches an argument of a line.
var argument = regexp.MustCompile(`^(?:"([^"]+)"|([^\s"]+))(?:\s+|$)`)

// directive splits a line into its keyword, in lower case, and its arguments. It is not ok
// with quotes, escapes and comments that only ssh understands.
func directive(line string) (key string, args []string, ok bool) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return "", nil, true
	}
	end := strings.IndexAny(line, " \t=")
	if end < 0 {
		return strings.ToLower(line), nil, false
	}
	key, rest := strings.ToLower(line[:end]), strings.TrimLeft(line[end:], " \t")
	rest = strings.TrimLeft(strings.TrimPrefix(rest, "="), " \t")
	if strings.ContainsAny(rest, "'\\#\r\f\v") {
		return key, nil, false
	}
	for rest != "" {
		m := argument.FindStringSubmatch(rest)
		if m == nil {
			return key, nil, false
		}
		args, rest = append(args, m[1]+m[2]), rest[len(m[0]):]
	}
	return key, args, len(args) > 0
}

// matchesAny reports whether a host matches one of the patterns of a Host line and none
// that is negated.
func matchesAny(patterns []string, alias string) bool {
	any := false
	for _, p := range patterns {
		p, negated := strings.CutPrefix(p, "!")
		expression := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(p))
		if matched, _ := regexp.MatchString("^(?:"+expression+")$", alias); matched && negated {
			return false
		} else if matched {
			any = true
		}
	}
	return any
}

package ssh

import (
	"fmt"
	"strings"
)

// fields splits at blanks, as ssh does for UserKnownHostsFile, minding quotes.
func fields(s string) []string {
	var out []string
	var word strings.Builder
	quoted, any := false, false
	for _, r := range s {
		switch {
		case r == '"':
			quoted, any = !quoted, true
		case !quoted && (r == ' ' || r == '\t'):
			if any {
				out = append(out, word.String())
			}
			word.Reset()
			any = false
		default:
			word.WriteRune(r)
			any = true
		}
	}
	if any {
		out = append(out, word.String())
	}
	return out
}

// splitSpec takes [ssh://][user@]host[:port] apart. An IPv6 address with a port
// stands in brackets.
func splitSpec(spec string) (user, name, port string, err error) {
	bad := func(why string) (string, string, string, error) {
		return "", "", "", fmt.Errorf("%q is no ssh host (%s): give an alias or [user@]host[:port]", spec, why)
	}
	rest := strings.TrimSuffix(strings.TrimPrefix(spec, "ssh://"), "/")
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		user, rest = rest[:i], rest[i+1:]
		if user == "" {
			return bad("the user is missing")
		}
	}
	switch {
	case strings.HasPrefix(rest, "["):
		end := strings.IndexByte(rest, ']')
		if end < 0 || (rest[end+1:] != "" && rest[end+1] != ':') {
			return bad("the brackets don't match")
		}
		name, port = rest[1:end], strings.TrimPrefix(rest[end+1:], ":")
	case strings.Count(rest, ":") == 1:
		name, port, _ = strings.Cut(rest, ":")
	default:
		name = rest
	}
	if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, " \t\r\n\"'`$;|&<>()\\/,*?") {
		return bad("the host's name is empty or has characters that no name has")
	}
	return user, name, port, nil
}

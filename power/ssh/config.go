package ssh

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// maxHosts is how many hosts may stand on the way to another, with it; more is taken for
// a loop in the configuration.
const maxHosts = 9

// host is a host to dial, after the look-up in the configuration.
type host struct {
	settings
	alias         string // as it was given, without user and port
	name          string // the address to dial
	port, user    string
	identityFiles []string // tried in order
	certificates  []string // CertificateFile
	agent         string   // IdentityAgent
	knownHosts    []string // the first one is written to
	globalHosts   []string // GlobalKnownHostsFile
	jumps         []string // ProxyJump, nearest to us first
}

// addr returns host:port for dialling.
func (h host) addr() string { return net.JoinHostPort(h.name, h.port) }

// keyAddr is host:port as known_hosts is looked up by: a HostKeyAlias stands
// there without a port, whatever the port is (ssh_config(5)).
func (h host) keyAddr() string {
	if alias := h.first("hostkeyalias"); alias != "" {
		return net.JoinHostPort(alias, "22")
	}
	return h.addr()
}

// portless is keyAddr with the usual port.
func (h host) portless() string {
	return net.JoinHostPort(cmp.Or(h.first("hostkeyalias"), h.name), "22")
}

// String is user@host:port, without the port when it is the usual one.
func (h host) String() string {
	if h.port == "22" {
		return h.user + "@" + h.name
	}
	return h.user + "@" + h.addr()
}

// config answers for hosts. It is safe for concurrent use.
type config struct {
	opt     Options
	home    string   // $HOME
	account string   // the home directory of the account, which ssh takes for ~
	local   string   // the local user's name
	program string   // the installed ssh; empty: none
	files   []string // the configuration files
	given   string   // the one for -F, where ssh would not find it
	answers sync.Map // settings by question
}

// readConfig finds out who answers for hosts. The error is that a configuration that was
// asked for can't be read.
func readConfig(opt Options) (*config, error) {
	c := &config{opt: opt, local: os.Getenv("USER")}
	c.program, _ = exec.LookPath("ssh")
	c.home, _ = os.UserHomeDir()
	c.account = c.home
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil {
		c.account, c.local = u.HomeDir, u.Username
	}
	own := filepath.Join(c.home, ".ssh", "config")
	c.files = []string{own, "/etc/ssh/ssh_config"}
	if opt.ConfigFile != "" {
		c.given = c.expand(opt.ConfigFile, host{})
		c.files = []string{c.given}
		if _, err := os.ReadFile(c.given); err != nil {
			return c, fmt.Errorf("the ssh configuration can't be read: %w", err)
		}
	} else if _, err := os.Stat(own); err == nil && c.home != c.account {
		c.given = own
	}
	return c, nil
}

// lookup resolves "alias", "[user@]host[:port]" or "ssh://[user@]host[:port]".
// What is given there wins over the configuration; defaultUser comes between
// the configuration and the local user's name.
func (c *config) lookup(spec, defaultUser string) (host, error) {
	userName, alias, port, err := splitSpec(spec)
	if err != nil {
		return host{}, err
	}
	s, err := c.settings(question{userName, alias, port, defaultUser})
	if err != nil {
		return host{}, err
	}
	h := host{settings: s, alias: alias, port: s.first("port"), user: s.first("user")}
	h.name = strings.TrimSuffix(strings.TrimPrefix(s.first("hostname"), "["), "]") // as ssh does (misc.c, cleanhostname)
	keys, known, global := s["identityfile"], words(s.first("userknownhostsfile")), words(s.first("globalknownhostsfile"))
	if len(c.opt.IdentityFiles) > 0 {
		keys = c.opt.IdentityFiles
	}
	if len(c.opt.KnownHosts) > 0 {
		known, global = c.opt.KnownHosts, nil
	}
	h.identityFiles, h.certificates = c.paths(keys, h), c.paths(s["certificatefile"], h)
	h.knownHosts, h.globalHosts = c.paths(known, h), c.paths(global, h)
	h.agent = c.expand(s.first("identityagent"), h)
	h.jumps, err = s.jumps(alias)
	return h, err
}

// paths expands each of the files.
func (c *config) paths(files []string, h host) (out []string) {
	for _, f := range files {
		if !strings.EqualFold(f, "none") {
			out = append(out, c.expand(f, h))
		}
	}
	return out
}

// variable matches an environment variable of ssh_config(5).
var variable = regexp.MustCompile(`\$\{[^}]*\}|^\$\w+$`)

// expand replaces what ssh -G leaves of ~, ${VAR} and the tokens of ssh_config(5).
func (c *config) expand(path string, h host) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		path = filepath.Join(c.home, path[1:])
	}
	path = variable.ReplaceAllStringFunc(path, func(v string) string { return os.Getenv(strings.Trim(v, "${}")) })
	if !strings.Contains(path, "%") {
		return path
	}
	full, _ := os.Hostname()
	short, _, _ := strings.Cut(full, ".")
	return strings.NewReplacer("%%", "%", "%d", c.home, "%h", h.name, "%n", h.alias, "%p", h.port, "%r", h.user, "%u", c.local,
		"%i", strconv.Itoa(os.Getuid()), "%k", cmp.Or(h.first("hostkeyalias"), h.alias), "%L", short, "%l", full).Replace(path)
}

// words splits a list of files as ssh -G prints it, without quotes: a file begins with
// /, ~, % or $, and blanks before anything else are a part of its name.
func words(list string) (out []string) {
	for _, w := range strings.Split(list, " ") {
		if len(out) > 0 && (w == "" || !strings.Contains("/~%$", w[:1])) {
			out[len(out)-1] += " " + w
		} else if w != "" {
			out = append(out, w)
		}
	}
	return out
}

// way looks up a host and returns the way to it: every host to go through, nearest to us
// first, the host itself last.
func (c *config) way(spec, defaultUser string) ([]host, error) {
	h, err := c.lookup(spec, defaultUser)
	way := []host{h}
	// Like ssh, only the nearest host's own ProxyJump is followed.
	for err == nil && len(way[0].jumps) > 0 {
		var hops []host
		for _, j := range way[0].jumps {
			hop, err := c.lookup(j, "")
			if err != nil {
				return nil, err
			}
			hops = append(hops, hop)
		}
		way = append(hops, way...)
		if len(way) > maxHosts {
			return nil, fmt.Errorf("the ssh configuration goes in a circle: the ProxyJump of %s leads through more than %d hosts", h.alias, maxHosts)
		}
	}
	return way, err
}

// splitSpec splits [ssh://][user@]host[:port]. An IPv6 address with a port is in
// brackets.
func splitSpec(spec string) (user, name, port string, err error) {
	rest := strings.TrimSuffix(strings.TrimPrefix(spec, "ssh://"), "/")
	at := strings.LastIndexByte(rest, '@')
	user, name = rest[:max(at, 0)], rest[at+1:]
	if strings.HasSuffix(name, "]") {
		name += ":"
	}
	if strings.HasPrefix(name, "[") || strings.Count(name, ":") == 1 {
		name, port, err = net.SplitHostPort(name)
	}
	number, wrong := strconv.ParseUint(cmp.Or(port, "22"), 10, 16)
	switch {
	case err != nil || at == 0 || name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, " \t\r\n\"'`$;|&<>()\\/,*?[]"):
		return "", "", "", fmt.Errorf("%q is not an ssh host: give an alias or [user@]host[:port]", spec)
	case wrong != nil || number == 0:
		return "", "", "", fmt.Errorf("%q is not a port of the ssh host %s", port, name)
	}
	return user, name, port, nil
}

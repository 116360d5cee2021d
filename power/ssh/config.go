package ssh

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// maxJumps is how many hosts may stand on the way to another; more is taken
// for a loop in the configuration.
const maxJumps = 8

// host is a host to dial, after the look-up in the configuration.
type host struct {
	alias          string // as it was given, without user and port
	name           string // the address to dial
	port           string
	user           string
	identityFiles  []string // tried in order
	identitiesOnly bool
	certificates   []string // CertificateFile
	agent          string   // IdentityAgent, empty: the usual one
	keyAlias       string   // HostKeyAlias
	knownHosts     []string // the first one is written to
	globalHosts    []string // GlobalKnownHostsFile
	jumps          []string // ProxyJump, nearest to us first
	// noPassword and noKeyboard: the configuration rules that method out; batch: nobody is
	// asked (BatchMode).
	noPassword, noKeyboard, batch bool
}

// addr returns host:port for dialling.
func (h host) addr() string { return net.JoinHostPort(h.name, h.port) }

// keyAddr is host:port as known_hosts is looked up by: a HostKeyAlias stands
// there without a port, whatever the port is (ssh_config(5)).
func (h host) keyAddr() string {
	if h.keyAlias != "" {
		return net.JoinHostPort(h.keyAlias, "22")
	}
	return h.addr()
}

// portless is keyAddr with the usual port.
func (h host) portless() string {
	name, _, _ := net.SplitHostPort(h.keyAddr())
	return net.JoinHostPort(name, "22")
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
	home    string // $HOME
	account string // the home directory of the account, which ssh takes for ~
	local   string // the local user's name
	program string // the installed ssh; empty: none
	answers sync.Map
}

// settings are the settings of one host, by keyword in lower case, as ssh -G prints them.
type settings map[string][]string

func (s settings) first(key string) string { return cmp.Or(s[key]...) }

func (s settings) is(key, value string) bool { return strings.EqualFold(s.first(key), value) }

// readConfig finds out who answers for hosts. The error is that a configuration that was
// asked for can't be read.
func readConfig(opt Options) (*config, error) {
	c := &config{opt: opt, program: sshProgram()}
	c.home, _ = os.UserHomeDir()
	c.account, c.local = c.home, os.Getenv("USER")
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil {
		c.account, c.local = u.HomeDir, u.Username
	}
	if opt.ConfigFile == "" {
		return c, nil
	}
	c.opt.ConfigFile = c.expand(opt.ConfigFile, host{})
	if _, err := os.ReadFile(c.opt.ConfigFile); err != nil {
		return c, fmt.Errorf("the ssh configuration can't be read: %w", err)
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
	if n, err := strconv.ParseUint(cmp.Or(port, "22"), 10, 16); err != nil || n == 0 {
		return host{}, fmt.Errorf("%q is not a port of the ssh host %s", port, alias)
	}
	s, err := c.settings(question{userName, alias, port, defaultUser})
	if err != nil {
		return host{}, err
	}
	h := host{alias: alias, name: cmp.Or(s.first("hostname"), alias), port: cmp.Or(port, s.first("port"), "22"), user: cmp.Or(userName, s.first("user"), defaultUser, c.local)}
	if inner, ok := strings.CutPrefix(h.name, "["); ok && strings.HasSuffix(inner, "]") {
		h.name = strings.TrimSuffix(inner, "]") // as ssh does (misc.c, cleanhostname)
	}
	h.keyAlias = s.first("hostkeyalias")
	if h.keyAlias != "" {
		if _, _, _, err := splitSpec(h.keyAlias); err != nil || strings.ContainsAny(h.keyAlias, "@[]") {
			return host{}, fmt.Errorf("%q is not a HostKeyAlias for the ssh host %s", h.keyAlias, alias)
		}
	}
	h.jumps, err = s.jumps(alias)
	if err != nil {
		return host{}, err
	}
	c.files(s, &h)
	h.identitiesOnly = s.is("identitiesonly", "yes")
	h.batch = s.is("batchmode", "yes")
	methods := strings.Split(strings.ToLower(cmp.Or(s.first("preferredauthentications"), "password,keyboard-interactive")), ",")
	h.noPassword = s.is("passwordauthentication", "no") || !slices.Contains(methods, "password")
	h.noKeyboard = s.is("kbdinteractiveauthentication", "no") || !slices.Contains(methods, "keyboard-interactive")
	return h, nil
}

// defaultKeys are the key files of ssh where the configuration names none.
var defaultKeys = []string{"id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", "id_xmss", "id_dsa"}

// files sets the files of a host.
func (c *config) files(s settings, h *host) {
	keys, known, global := s["identityfile"], words(s.first("userknownhostsfile")), words(s.first("globalknownhostsfile"))
	if len(keys) == 0 {
		for _, name := range defaultKeys {
			keys = append(keys, "~/.ssh/"+name)
		}
	}
	if len(known) == 0 {
		known = []string{"~/.ssh/known_hosts", "~/.ssh/known_hosts2"}
	}
	if len(global) == 0 {
		global = []string{"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"}
	}
	if len(c.opt.IdentityFiles) > 0 {
		keys = c.opt.IdentityFiles
	}
	if len(c.opt.KnownHosts) > 0 {
		known, global = c.opt.KnownHosts, nil
	}
	for i, f := range known { // ssh has put the account's home for ~
		if rest, ok := strings.CutPrefix(f, c.account+"/"); ok && !strings.HasPrefix(f, c.home+"/") {
			known[i] = filepath.Join(c.home, rest)
		}
	}
	h.identityFiles, h.certificates = c.paths(keys, *h), c.paths(s["certificatefile"], *h)
	h.knownHosts, h.globalHosts = c.paths(known, *h), c.paths(global, *h)
	if v := s.first("identityagent"); v != "" && v != "SSH_AUTH_SOCK" {
		if name, ok := strings.CutPrefix(v, "$"); ok && !strings.HasPrefix(name, "{") {
			v = os.Getenv(name)
		}
		h.agent = c.expand(v, *h)
	}
}

// mayMiss reports whether a key file is one of ssh's own choice, which may be missing.
func mayMiss(file string) bool {
	return filepath.Base(filepath.Dir(file)) == ".ssh" && slices.Contains(defaultKeys, filepath.Base(file))
}

// forwarder matches a ProxyCommand that is equivalent to a ProxyJump.
var forwarder = regexp.MustCompile(`^(?:exec +)?(?:/usr/bin/)?ssh +(?:-q +)?(?:-W +%h:%p +(?:-q +)?(\S+)|(\S+) +-W +%h:%p)$`)

// jumps lists the hosts to go through. The client never runs a ProxyCommand: it treats
// one that only asks ssh to forward as the equivalent ProxyJump, and returns an error
// for any other.
func (s settings) jumps(alias string) ([]string, error) {
	jump, command := s.first("proxyjump"), strings.Join(strings.Fields(s.first("proxycommand")), " ")
	if m := forwarder.FindStringSubmatch(command); m != nil && jump == "" {
		jump = m[1] + m[2]
	} else if jump == "" && command != "" && !strings.EqualFold(command, "none") {
		return nil, fmt.Errorf("the ssh configuration gives a ProxyCommand for %s, which is not supported: no command is run to connect; use ProxyJump", alias)
	}
	if jump == "" || strings.EqualFold(jump, "none") {
		return nil, nil
	}
	return strings.Split(jump, ","), nil
}

// paths expands each of the files.
func (c *config) paths(files []string, h host) []string {
	var out []string
	for _, f := range files {
		if !strings.EqualFold(f, "none") {
			out = append(out, c.expand(f, h))
		}
	}
	return out
}

// variable matches an environment variable of ssh_config(5).
var variable = regexp.MustCompile(`\$\{[^}]*\}`)

// expand replaces what ssh -G leaves of ~, ${VAR} and the tokens of ssh_config(5).
func (c *config) expand(path string, h host) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		path = filepath.Join(c.home, path[1:])
	}
	path = variable.ReplaceAllStringFunc(path, func(v string) string { return os.Getenv(v[2 : len(v)-1]) })
	if !strings.Contains(path, "%") {
		return path
	}
	full, _ := os.Hostname()
	short, _, _ := strings.Cut(full, ".")
	return strings.NewReplacer("%%", "%", "%d", c.home, "%h", h.name, "%n", h.alias, "%p", h.port, "%r", h.user, "%u", c.local,
		"%i", strconv.Itoa(os.Getuid()), "%k", cmp.Or(h.keyAlias, h.alias), "%L", short, "%l", full).Replace(path)
}

// words splits a list of files as ssh -G prints it, without quotes: a file begins with
// /, ~, % or $, and blanks before anything else are a part of its name.
func words(list string) []string {
	var out []string
	for _, w := range strings.Split(list, " ") {
		if len(out) > 0 && (w == "" || !strings.Contains("/~%$", w[:1])) {
			out[len(out)-1] += " " + w
		} else if w != "" {
			out = append(out, w)
		}
	}
	return out
}

// wayTo looks up a host and returns the way to it.
func (c *config) wayTo(spec string) ([]host, error) {
	h, err := c.lookup(spec, "")
	if err != nil {
		return nil, err
	}
	return c.route(h)
}

// route is the way to a host: every host to go through, nearest to us first,
// the host itself last.
func (c *config) route(h host) ([]host, error) {
	var way []host
	seen := map[string]bool{h.alias: true}
	jumps := h.jumps
	for len(jumps) > 0 {
		var next []host
		for _, j := range jumps {
			hop, err := c.lookup(j, "")
			if err != nil {
				return nil, err
			}
			if seen[hop.alias] || len(seen) > maxJumps {
				return nil, fmt.Errorf("the ssh configuration goes in a circle: ProxyJump of %s leads to %s again", h.alias, hop.alias)
			}
			seen[hop.alias] = true
			next = append(next, hop)
		}
		way = append(next, way...)
		// Like ssh, only the nearest host's own ProxyJump is followed.
		jumps = next[0].jumps
	}
	return append(way, h), nil
}

// splitSpec splits [ssh://][user@]host[:port]. An IPv6 address with a port is in
// brackets.
func splitSpec(spec string) (user, name, port string, err error) {
	bad := func(why string) (string, string, string, error) {
		return "", "", "", fmt.Errorf("%q is not an ssh host (%s): give an alias or [user@]host[:port]", spec, why)
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

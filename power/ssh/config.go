package ssh

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kevinburke/ssh_config"
)

// maxJumps is how many hosts may stand on the way to another; more is taken
// for a loop in the configuration.
const maxJumps = 8

// systemConfig is the ssh_config for the whole machine, read after the user's.
const systemConfig = "/etc/ssh/ssh_config"

// host is a host to dial, after the look-up in the configuration.
type host struct {
	alias string // as it was given, without user and port
	name  string // the address to dial
	port  string
	user  string
	// identityFiles are tried in order; explicit: the configuration names them, and
	// they are not the usual ones, which may be missing.
	identityFiles  []string
	explicit       bool
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

// config answers for hosts. It is immutable once read.
type config struct {
	files []*ssh_config.Config
	home  string
	local string // the local user's name
	opt   Options
	// skipped has a sentence for each block that lightsout cannot use.
	skipped []string
	// unusable is the error of reading the files; nil without an error.
	unusable error
}

// readConfig reads the ssh_config files. One that was asked for must be there. The
// configuration lacks the blocks that it has skipped.
func readConfig(opt Options) (*config, error) {
	c := &config{opt: opt}
	c.home, _ = os.UserHomeDir()
	if u, err := user.Current(); err == nil {
		c.local = u.Username
	}
	paths := []string{opt.ConfigFile}
	if opt.ConfigFile == "" {
		paths = []string{filepath.Join(c.home, ".ssh", "config"), systemConfig}
	}
	for _, path := range paths {
		text, err := os.ReadFile(c.expand(path, host{}))
		if err != nil {
			if opt.ConfigFile == "" && errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return nil, fmt.Errorf("the ssh configuration can't be read: %w", err)
		}
		if err := c.add(path, text, 0); err != nil {
			return nil, fmt.Errorf("the ssh configuration %s is not understood (%w); correct it, or name another file as ssh.config", path, err)
		}
	}
	return c, nil
}

// decode parses a text. The parser is not ours: a panic in it is an error.
func decode(text []byte) (cfg *ssh_config.Config, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return ssh_config.DecodeBytes(text)
}

// get is the first value for a keyword, all is every one.
func (c *config) get(alias, key string) string { return cmp.Or(c.all(alias, key)...) }

func (c *config) all(alias, key string) []string {
	var out []string
	for _, f := range c.files {
		if vs, err := f.GetAll(alias, key); err == nil {
			out = append(out, vs...)
		}
	}
	return out
}

// lookup resolves "alias", "[user@]host[:port]" or "ssh://[user@]host[:port]".
// What is given there wins over the configuration; defaultUser comes between
// the configuration and the local user's name.
func (c *config) lookup(spec, defaultUser string) (host, error) {
	if c.unusable != nil {
		return host{}, c.unusable
	}
	userName, alias, port, err := splitSpec(spec)
	if err != nil {
		return host{}, err
	}
	h := host{alias: alias, name: alias, port: cmp.Or(port, c.get(alias, "Port"), "22"), user: cmp.Or(userName, c.get(alias, "User"), defaultUser, c.local)}
	if n, err := strconv.ParseUint(h.port, 10, 16); err != nil || n == 0 {
		return host{}, fmt.Errorf("%q is not a port of the ssh host %s", h.port, alias)
	}
	if v := c.get(alias, "HostName"); v != "" {
		h.name = strings.NewReplacer("%%", "%", "%h", alias).Replace(v)
		if inner, ok := strings.CutPrefix(h.name, "["); ok && strings.HasSuffix(inner, "]") {
			h.name = strings.TrimSuffix(inner, "]") // as ssh does (misc.c, cleanhostname)
		}
	}
	h.identitiesOnly = strings.EqualFold(c.get(alias, "IdentitiesOnly"), "yes")
	h.identityFiles, h.explicit = c.identities(alias, h)
	h.knownHosts, h.globalHosts = c.knownHosts(alias, h)
	h.certificates = c.paths(c.all(alias, "CertificateFile"), h)
	h.keyAlias = c.get(alias, "HostKeyAlias")
	if h.keyAlias != "" {
		if _, _, _, err := splitSpec(h.keyAlias); err != nil || strings.ContainsAny(h.keyAlias, "@[]") {
			return host{}, fmt.Errorf("%q is not a HostKeyAlias for the ssh host %s", h.keyAlias, alias)
		}
	}
	if v := c.get(alias, "IdentityAgent"); v != "" && v != "SSH_AUTH_SOCK" {
		h.agent = c.expand(os.Expand(v, os.Getenv), h)
	}
	c.methods(alias, &h)
	h.jumps, err = c.jumps(alias)
	if err != nil {
		return host{}, err
	}
	return h, nil
}

// methods returns the login methods besides keys that are ruled out.
func (c *config) methods(alias string, h *host) {
	no := func(key string) bool { return strings.EqualFold(c.get(alias, key), "no") }
	h.batch = strings.EqualFold(c.get(alias, "BatchMode"), "yes")
	h.noPassword = no("PasswordAuthentication")
	h.noKeyboard = no("KbdInteractiveAuthentication") || no("ChallengeResponseAuthentication")
	if v := c.get(alias, "PreferredAuthentications"); v != "" {
		methods := strings.Split(strings.ToLower(v), ",")
		h.noPassword = h.noPassword || !slices.Contains(methods, "password")
		h.noKeyboard = h.noKeyboard || !slices.Contains(methods, "keyboard-interactive")
	}
}

// forwarder matches a ProxyCommand that is equivalent to a ProxyJump.
var forwarder = regexp.MustCompile(`^(?:exec +)?(?:/usr/bin/)?ssh +(?:-q +)?(?:-W +%h:%p +(?:-q +)?(\S+)|(\S+) +-W +%h:%p)$`)

// jumps lists the hosts to go through. The client never runs a ProxyCommand: it treats
// one that only asks ssh to forward as the equivalent ProxyJump, and returns an error
// for any other.
func (c *config) jumps(alias string) ([]string, error) {
	jump, command := c.get(alias, "ProxyJump"), strings.Join(strings.Fields(c.get(alias, "ProxyCommand")), " ")
	if m := forwarder.FindStringSubmatch(command); m != nil && jump == "" {
		jump = m[1] + m[2]
	} else if jump == "" && command != "" && !strings.EqualFold(command, "none") {
		return nil, fmt.Errorf("the ssh configuration gives a ProxyCommand for %s, which is not supported: no command is run to connect; use ProxyJump", alias)
	}
	if jump == "" || strings.EqualFold(jump, "none") {
		return nil, nil
	}
	var hops []string
	for _, j := range strings.Split(jump, ",") {
		hops = append(hops, strings.TrimSpace(j))
	}
	return hops, nil
}

// identities lists the key files for a host.
func (c *config) identities(alias string, h host) (files []string, explicit bool) {
	given := c.opt.IdentityFiles
	if len(given) == 0 {
		given = c.all(alias, "IdentityFile")
	}
	if len(given) > 0 {
		return c.paths(given, h), true
	}
	for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
		files = append(files, filepath.Join(c.home, ".ssh", name))
	}
	return files, false
}

// knownHosts lists the known_hosts files for a host: the user's and those of the whole
// machine. The option replaces both.
func (c *config) knownHosts(alias string, h host) (users, global []string) {
	if len(c.opt.KnownHosts) > 0 {
		return c.paths(c.opt.KnownHosts, h), nil
	}
	users = fields(cmp.Or(c.get(alias, "UserKnownHostsFile"), "~/.ssh/known_hosts ~/.ssh/known_hosts2"))
	global = fields(cmp.Or(c.get(alias, "GlobalKnownHostsFile"), "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2"))
	return c.paths(users, h), c.paths(global, h)
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

// expand replaces ~ and the tokens of ssh_config(5) that concern paths.
func (c *config) expand(path string, h host) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		path = filepath.Join(c.home, path[1:])
	}
	if !strings.Contains(path, "%") {
		return path
	}
	return strings.NewReplacer("%%", "%", "%d", c.home, "%h", h.name, "%n", h.alias,
		"%p", h.port, "%r", h.user, "%u", c.local).Replace(path)
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

// word matches a word between blanks; a quoted one may contain blanks.
var word = regexp.MustCompile(`(?:"[^"]*"?|[^ \t"])+`)

// fields splits at blanks, as ssh does for UserKnownHostsFile, minding quotes.
func fields(s string) []string {
	words := word.FindAllString(s, -1)
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, `"`, "")
	}
	return words
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

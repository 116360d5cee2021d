package ssh

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// dump runs ssh -G by itself and gives the values of a keyword, apart from the code under
// test.
func dump(t *testing.T, file, spec string) func(keyword string) []string {
	t.Helper()
	out, err := exec.Command(tool(t, "ssh"), "-G", "-F", file, spec).Output()
	if err != nil {
		return nil
	}
	return func(keyword string) (values []string) {
		for line := range strings.Lines(string(out)) {
			if v, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), keyword+" "); ok {
				values = append(values, v)
			}
		}
		return values
	}
}

// The first lines of a file, as people write them, and the user that OpenSSH takes.
func TestTheUserIsTheOneThatOpenSSHTakes(t *testing.T) {
	t.Parallel()
	tool(t, "ssh")
	included := emptyConfig(t, "Host node1", "  User right")
	for first, want := range map[string]string{
		"Match host node1 exec \"false\"\n User wrong":                       "ops",
		"Match host node1 !exec \"true\"\n User wrong":                       "ops",
		"Match host node1 exec \"true\"\n User right":                        "right",
		"Match host node1,node2\n User right":                                "right",
		"Match user somebody host node1\n User wrong":                        "ops",
		"Match host node1 user somebody\n User wrong":                        "ops",
		"Match host node1\texec \"false\"\n User wrong":                      "ops",
		"Match host node1 final\n User wrong":                                "ops",
		"Match originalhost node1\n User right":                              "right",
		"Host node1\tnode3\n User right":                                     "right",
		"Host \"node1\"\n User right":                                        "right",
		"Host nod??1\n User wrong":                                           "ops",
		"Host node1\n HostName 127.0.0.1\nMatch host 127.0.0.1\n User right": "right",
		"Host node1\n HostName 127.0.0.1\nMatch host node1\n User wrong":     "ops",
		"Include \"" + included + "\"":                                       "right",
		"Match exec \"exec >/dev/tty\"\n User wrong-it-has-a-terminal":       "ops",
	} {
		c, err := readConfig(Options{ConfigFile: emptyConfig(t, first, "Host *", " HostName 127.0.0.1", " User ops")})
		if err != nil {
			t.Fatal(err)
		}
		if h, err := c.lookup("node1", "someone"); err != nil || h.user != want {
			t.Errorf("%q: %q, %v; want %s", first, h.user, err, want)
		}
		alone := config{opt: c.opt, home: c.home, account: c.account, local: c.local, files: c.files}
		if h, err := alone.lookup("node1", "someone"); err == nil && h.user != want || err != nil && !strings.Contains(err.Error(), "line ") {
			t.Errorf("%q, without ssh: %q, %v; want %s or a refusal", first, h.user, err, want)
		}
	}
}

// writer writes configurations at random.
type writer struct {
	*rand.Rand
	dir   string
	plain bool // only what is understood without ssh
}

func (w writer) one(choices ...string) string { return choices[w.IntN(len(choices))] }

func (w writer) quoted(s string) string {
	if w.IntN(4) == 0 {
		return `"` + s + `"`
	}
	return s
}

// file is a path with tokens, a variable or neither.
func (w writer) file() string {
	return w.one("~/.ssh/", "${HOME}/", "/keys/", "%d/.ssh/") + w.one("a", "b", "%h", "%n-%r", "%p", "%%x", "%u")
}

func (w writer) setting() string {
	if w.plain {
		return w.one("User ops", "Port 2222", "HostName b.example", "IdentityFile ~/.ssh/a", "IdentityFile=/keys/b", "UserKnownHostsFile ~/k", "ProxyJump u@jump:2200")
	}
	set := w.one(" ", "  ", "\t", "=", " = ")
	switch w.IntN(14) {
	case 0, 1:
		return w.one("User", "user", "USER") + set + w.quoted(w.one("ops", "root", "u1"))
	case 2, 3:
		return "HostName" + set + w.quoted(w.one("10.0.0.1", "%h.example", "b.example", "a"))
	case 4:
		return "Port" + set + w.one("22", "2222", "2200")
	case 5, 6:
		return "IdentityFile" + set + w.quoted(w.file())
	case 7:
		return "UserKnownHostsFile" + set + w.file() + w.one("", " "+w.quoted(w.file()))
	case 8:
		return "GlobalKnownHostsFile" + set + w.quoted("/etc/known")
	case 9:
		return "ProxyJump" + set + w.one("none", "jump", "u@jump:2200", "one,two@jump", "ssh://u@jump:23")
	case 10:
		return w.one("Compression yes", "ServerAliveInterval 5", "SendEnv LANG", "# a comment", "", "LogLevel ERROR")
	case 11:
		return w.one("IdentitiesOnly", "BatchMode") + set + w.one("yes", "no")
	case 12:
		return "HostKeyAlias" + set + w.one("alias", "other")
	}
	return "CertificateFile" + set + w.file()
}

func (w writer) criteria() string {
	return w.one("all", "host a", "host a,b", "host *.example", "originalhost b", "user ops", "host a user root", `exec "true"`, `host a exec "false"`,
		`host b !exec "false"`, "localuser nobody", "final all", "canonical", "!host a", "host 10.0.0.1 exec \"test %h = 10.0.0.1\"")
}

func (w writer) text(depth, matches int) string {
	var b strings.Builder
	for range 1 + w.IntN(4) {
		if w.IntN(100) < matches {
			fmt.Fprintf(&b, "Match %s\n", w.criteria())
		} else if w.IntN(5) > 0 {
			fmt.Fprintf(&b, "Host%s%s\n", w.one(" ", "=", "\t"), w.one("a", "b", "*", "a b", `"a"`, "!a *", "?", "a*", "1* jump", "jump", "[a] c", "* !b", "A"))
		}
		for range w.IntN(5) {
			fmt.Fprintf(&b, "%s%s\n", w.one("", "  ", "\t"), w.setting())
		}
		if depth > 0 && matches > 0 && w.IntN(3) == 0 {
			name := filepath.Join(w.dir, fmt.Sprintf("inc-%d", w.Uint32()))
			_ = os.WriteFile(name, []byte(w.text(depth-1, matches)), 0o600)
			fmt.Fprintf(&b, "Include %s\n", w.quoted(w.one(name, name+"*")))
		}
	}
	return b.String()
}

// Over 200 configurations at random the settings are those of OpenSSH. Where there is no
// ssh, lightsout names what it does not understand, or has the same.
func TestTheSettingsAreThoseOfOpenSSH(t *testing.T) {
	t.Parallel()
	tool(t, "ssh")
	w := writer{Rand: rand.New(rand.NewPCG(41, 1)), dir: t.TempDir()}
	equal, refused, alone := 0, 0, 0
	for i := range 80 {
		file := filepath.Join(w.dir, fmt.Sprintf("config-%d", i))
		w.plain = i%4 == 0
		text := w.text(2, []int{0, 40}[i%2])
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		spec := w.one("a", "b", "u9@a", "10.0.0.7")
		asked, err := readConfig(Options{ConfigFile: file})
		if err != nil {
			t.Fatal(err)
		}
		want := dump(t, file, spec)
		h, err := asked.lookup(spec, "")
		if want == nil {
			if err == nil {
				t.Errorf("ssh refuses this for %s, and it gives %s:\n%s", spec, h, text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", spec, err, text)
			continue
		}
		if differs := compare(asked, h, want); differs != "" {
			t.Errorf("%s: %s\n%s", spec, differs, text)
			continue
		}
		equal++
		subset := config{opt: asked.opt, home: asked.home, account: asked.account, local: asked.local, files: asked.files}
		h, err = subset.lookup(spec, "")
		switch {
		case err != nil && strings.Contains(err.Error(), "line ") && strings.Contains(err.Error(), file):
			refused++
		case err != nil:
			t.Errorf("%s without ssh: %v\n%s", spec, err, text)
		default:
			if differs := compare(asked, h, want); differs != "" {
				t.Errorf("%s without ssh: %s\n%s", spec, differs, text)
			}
			alone++
		}
	}
	t.Logf("%d equal; without ssh %d equal, %d refused", equal, alone, refused)
	if equal < 50 || alone < 20 || refused < 15 {
		t.Error("the configurations are too much of one kind")
	}
}

// compare names the first difference between a host and what ssh -G printed.
func compare(c *config, h host, want func(string) []string) string {
	expand := func(lists ...string) (out []string) {
		for _, f := range lists {
			for _, old := range []string{"~/", "${HOME}/", "%d/"} {
				if rest, ok := strings.CutPrefix(f, old); ok {
					f = c.home + "/" + rest
				}
			}
			f = strings.NewReplacer("%h", h.name, "%n", h.alias, "%r", h.user, "%p", h.port, "%u", c.local, "%%", "%").Replace(f)
			out = append(out, f)
		}
		return out
	}
	var jumps []string
	for _, j := range want("proxyjump") {
		jumps = strings.Split(j, ",")
	}
	trimmed := slices.Clone(h.jumps)
	for i, j := range trimmed {
		trimmed[i] = strings.TrimSuffix(strings.TrimPrefix(j, "ssh://"), "/")
	}
	for _, d := range []struct {
		what      string
		got, want []string
	}{
		{"user", []string{h.user}, want("user")},
		{"host", []string{h.name}, want("hostname")},
		{"port", []string{h.port}, want("port")},
		{"jumps", trimmed, jumps},
		{"identities", h.identityFiles, expand(want("identityfile")...)},
		{"certificates", h.certificates, expand(want("certificatefile")...)},
		{"known_hosts", h.knownHosts, expand(strings.Fields(strings.Join(want("userknownhostsfile"), " "))...)},
		{"global known_hosts", h.globalHosts, expand(strings.Fields(strings.Join(want("globalknownhostsfile"), " "))...)},
		{"alias", []string{h.first("hostkeyalias")}, append(want("hostkeyalias"), "")[:1]},
	} {
		if !slices.Equal(d.got, d.want) {
			return fmt.Sprintf("%s: %q, and ssh has %q", d.what, d.got, d.want)
		}
	}
	return ""
}

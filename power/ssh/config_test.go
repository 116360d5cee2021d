package ssh

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestHostsAreLookedUpInTheSSHConfig(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	config := emptyConfig(t,
		"Host bastion b2", "  HostName %h.example.com", "  User mdxuser", "  Port 2222",
		"  IdentityFile ~/.ssh/mdx_%h", "  IdentityFile /keys/%r", "  IdentitiesOnly yes",
		`  UserKnownHostsFile ~/known "/with blank/known"`,
		"Host inner", "  ProxyJump outer,user2@middle:2200",
		"Host outer", "  ProxyJump first",
		"Host 10.0.0.*", "  User node", "  ProxyJump none",
		"Host brackets", "  HostName [10.0.0.14]",
		"Host *", "  Port 22")
	c, err := readConfig(Options{ConfigFile: config})
	if err != nil {
		t.Fatal(err)
	}
	h, err := c.lookup("bastion", "someone")
	if err != nil {
		t.Fatal(err)
	}
	want := host{settings: h.settings, alias: "bastion", name: "bastion.example.com", port: "2222", user: "mdxuser",
		identityFiles: []string{home + "/.ssh/mdx_bastion.example.com", "/keys/mdxuser"},
		knownHosts:    []string{home + "/known", "/with blank/known"},
		globalHosts:   []string{"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"}}
	if !reflect.DeepEqual(h, want) || !h.is("identitiesonly", "yes") {
		t.Errorf("got  %+v\nwant %+v", h, want)
	}
	for given, want := range map[string]string{
		"root@bastion:22":        "root@bastion.example.com",
		"ssh://root@bastion:22/": "root@bastion.example.com",
		"10.0.0.13":              "node@10.0.0.13",
		"brackets":               "someone@10.0.0.14",
		"10.1.0.13":              "someone@10.1.0.13",
		"u@[fd00::1]:2222":       "u@[fd00::1]:2222",
		"fd00::1":                "someone@fd00::1",
		"a@b@host":               "a@b@host",
	} {
		if h, err := c.lookup(given, "someone"); err != nil || h.String() != want {
			t.Errorf("%s: %s, %v; want %s", given, h, err, want)
		}
	}
	way, err := c.way("u@inner", "")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, hop := range way {
		names = append(names, hop.name+":"+hop.port)
	}
	if got := strings.Join(names, " "); got != "first:22 outer:22 middle:2200 inner:22" {
		t.Errorf("the way is %s", got)
	}
}

func TestMoreOfTheSSHConfigIsHeeded(t *testing.T) {
	t.Setenv("AGENT_OF_MINE", "/run/agent")
	c, err := readConfig(Options{ConfigFile: emptyConfig(t,
		"Host a", "  CertificateFile /certs/%h", "  HostKeyAlias the-one", "  IdentityAgent ${AGENT_OF_MINE}.sock", "  UserKnownHostsFile none", "  GlobalKnownHostsFile /g",
		"Host b", "  PreferredAuthentications publickey,password",
		"Host c", "  BatchMode yes",
		"Host d", "  ProxyCommand ssh -q -W [%h]:%p me@jump",
		"Host e", "  ProxyCommand ssh jump -W %h:%p",
		"Host f", "  ProxyCommand none",
		"Host g", "  ProxyJump one,two")})
	if err != nil {
		t.Fatal(err)
	}
	look := func(name string) host {
		h, err := c.lookup(name, "u")
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	a := look("a:2222")
	if !slices.Equal(a.certificates, []string{"/certs/a"}) || a.keyAddr() != "the-one:22" || a.agent != "/run/agent.sock" ||
		len(a.knownHosts) != 0 || !slices.Equal(a.globalHosts, []string{"/g"}) || !a.mayPassword() || !a.mayKeyboard() {
		t.Errorf("a: %#v", a)
	}
	if b := look("b"); !b.mayPassword() || b.mayKeyboard() {
		t.Errorf("b: %#v", b)
	}
	if c := look("c"); !c.is("batchmode", "yes") {
		t.Errorf("c: %#v", c)
	}
	for name, want := range map[string][]string{"d": {"me@jump"}, "e": {"jump"}, "f": nil, "g": {"one", "two"}} {
		if h := look(name); !slices.Equal(h.jumps, want) {
			t.Errorf("%s goes through %q, want %q", name, h.jumps, want)
		}
	}
}

func TestBadSSHConfigsAreOneSentence(t *testing.T) {
	config := emptyConfig(t, "Host loop1", "ProxyJump loop2", "Host loop2", "ProxyJump loop1",
		"Host self", "ProxyJump self", "Host command", "ProxyCommand nc %h %p")
	for bastion, want := range map[string]string{
		"loop1": "circle", "self": "loop", "command": "ProxyCommand",
		"": "", "-oProxyCommand=x": "not an ssh host", "u@": "not an ssh host", "@h": "not an ssh host", "a b": "not an ssh host", "[::1": "not an ssh host", "h:x": "not a port", "h:0": "not a port",
	} {
		c, err := New(Options{Bastion: bastion, ConfigFile: config})
		if want == "" {
			if err != nil {
				t.Errorf("%q: %v", bastion, err)
			} else {
				c.Close()
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", bastion, err, want)
		}
	}
	if _, err := New(Options{ConfigFile: filepath.Join(t.TempDir(), "none")}); err == nil || !strings.Contains(err.Error(), "can't be read") {
		t.Errorf("a missing file: %v", err)
	}
	bad := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(bad, []byte("Host b\nBogus 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{ConfigFile: bad, Bastion: "b"}); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a broken file: %v", err)
	}
	if c, err := New(Options{ConfigFile: bad, Bastion: "me@b", KeepGoing: true}); err != nil {
		t.Errorf("a broken file that must not stop anything: %v", err)
	} else {
		if err := c.Reach(t.Context()); err == nil || !strings.Contains(err.Error(), "line 2") || c.Via() != "me@b" {
			t.Errorf("through %s: %v", c.Via(), err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Setenv("HOME", t.TempDir())
	c, err := New(Options{})
	if err != nil {
		t.Errorf("no configuration at all: %v", err)
	} else {
		c.Close()
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
	}
}

// Without an ssh program no configuration is read, and none is passed over.
func TestWithoutSSHThereAreDefaultsOnly(t *testing.T) {
	t.Parallel()
	file := emptyConfig(t, "Host node1", "  User right")
	for _, files := range [][]string{{file + ".none"}, {file}} {
		c := &config{local: "me", files: files}
		h, err := c.lookup("node1", "ops")
		if found := files[0] == file; (err != nil) != found || !found && h.String() != "ops@node1" || found && !strings.Contains(err.Error(), file) {
			t.Errorf("%v: %s, %v", files, h, err)
		}
	}
}

// FuzzConfig: whatever is in ssh_config, a host is found or it is said why not,
// and never one that another program could take for an option.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{
		"Host a\n  HostName %h.example\n  Port 2222\n  ProxyJump b,c@d:1\nHost b\n  ProxyJump a\n", "Match all\n  User x\n", "Host [a", "Host *\nProxyCommand ssh -W %h:%p b\n",
		"Include /dev/null\nHost a\nUserKnownHostsFile \"~/x y\" none\n", "HostKeyAlias a@b\n", "Port=99999\n", "Host !a *\n HostName -oProxyCommand=x\n", "\x00",
	} {
		f.Add(s, "a")
	}
	f.Fuzz(func(t *testing.T, text, alias string) {
		if strings.Contains(strings.ToLower(text), "include") {
			return // it would read files of this machine
		}
		c, err := readConfig(Options{ConfigFile: emptyConfig(t, text)})
		if err != nil {
			return
		}
		h, err := c.lookup(alias, "someone")
		if err != nil {
			return
		}
		if h.port == "" || h.name == "" {
			t.Fatalf("%q gives %+v", text, h)
		}
		way, err := c.way(alias, "someone")
		if err == nil && (len(way) == 0 || len(way) > maxHosts) {
			t.Errorf("%q: the way to %q has %d hosts", text, alias, len(way))
		}
	})
}

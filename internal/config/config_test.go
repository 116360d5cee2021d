package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/internal/trial/plan"
	"lightsout/power"
)

func TestConfigErrorsNameTheLineAndTheField(t *testing.T) {
	for name, tc := range map[string]struct {
		yaml string
		want []string
	}{
		"unknown field":            {"context: a\nbastoin: b\n", []string{"line 2", "bastoin"}},
		"unknown nested field":     {"load:\n  url: http://x/\n  modle: m\n", []string{"line 3", "modle"}},
		"wrong type":               {"context: a\nload:\n  burst: many\n", []string{"line 3", "burst", "number"}},
		"list wanted":              {"namespaces: default\n", []string{"line 1", "namespaces", "list"}},
		"broken yaml":              {"context: a\n  load: {\n", []string{"line 2"}},
		"tab":                      {"load:\n\turl: x\n", []string{"line 2"}},
		"no such driver":           {"power:\n  off_by: ssh\n  on_by: magic\n", []string{"line 3", "magic"}},
		"ssh can't power on":       {"power:\n  off_by: ssh\n  on_by: ssh\n", []string{"line 3", "can't power on"}},
		"mdx without its part":     {"power:\n  on_by: mdx\n", []string{"power.mdx is missing"}},
		"two tokens":               {"power:\n  mdx: {url: http://p/, token_file: /a, token_env: B}\n", []string{"not both"}},
		"bad deployment":           {"load:\n  deployment: llm\n", []string{"line 2", "namespace/name"}},
		"bad url":                  {"load:\n  url: not-a-url\n", []string{"line 2", "load.url"}},
		"bad scheme":               {"load:\n  url: ftp://x/\n", []string{"line 2", "load.url"}},
		"no such connections":      {"load:\n  hold: 1\n  connections: some\n", []string{"line 3", "load.connections", "some"}},
		"no such protocol":         {"load:\n  protocol: h3\n", []string{"line 2", "h3", "h2"}},
		"an empty entry":           {"load:\n  entries: [10.0.0.1, \":80\"]\n", []string{"line 2", "load.entries", ":80"}},
		"a CA without https":       {"load:\n  url: http://x/\n  ca_file: /ca\n", []string{"line 3", "https"}},
		"a model without chat":     {"load:\n  model: m\n", []string{"line 2", "load.model", "chat"}},
		"a body for a chat":        {"load:\n  profile: chat\n  body_file: /b\n", []string{"line 3", "load.body_file", "http"}},
		"two prompts":              {"load:\n  profile: chat\n  prompt: a\n  prompts_file: /p\n", []string{"line 4", "not both"}},
		"no such keep-alive":       {"load:\n  keep_alive: {idel: 1s}\n", []string{"line 2", "idel"}},
		"metrics of nothing":       {"load:\n  metrics: {port: 80}\n", []string{"line 2", "server"}},
		"metrics of no port":       {"load:\n  metrics: {server: vllm}\n", []string{"line 2", "port"}},
		"metrics of no gauge":      {"load:\n  metrics: {server: mine, port: 80}\n", []string{"line 2", "mine", "served"}},
		"bad duration":             {"load:\n  timeout: soon\n", []string{"soon"}},
		"duplicate key":            {"context: a\ncontext: b\n", []string{"line 2", "context"}},
		"recorder: bad url":        {"recorder:\n  url: file:///x\n", []string{"line 2", "recorder.url"}},
		"recorder: bad listen":     {"recorder:\n  listen: nonsense\n", []string{"line 2", "recorder.listen", "nonsense"}},
		"negative":                 {"load:\n  burst: -1\n", []string{"negative"}},
		"a list":                   {"- a\n", []string{"line 1: the config must be a group of fields, not a list"}},
		"half a number":            {"load: {burst: 1.5}\n", []string{"line 1: burst must be a whole number (64 bits), not a number"}},
		"no unit":                  {"load: {timeout: 30}\n", []string{"line 1: timeout must be a time written like 90s or 30m, not the number 30"}},
		"wol can't switch off":     {"power:\n  off_by: wol\n", []string{"line 2", "wol can't switch off"}},
		"a node's driver":          {"power:\n  off_by: ssh\n  nodes:\n    n1: {machine: x}\n    n2:\n      off_by: magic\n", []string{"line 6", "power.nodes.n2.off_by", "magic", "vagrant"}},
		"exec without its part":    {"power:\n  on_by: exec\n", []string{"power.exec is missing"}},
		"exec without on":          {"power:\n  on_by: exec\n  exec: {off_command: [a]}\n", []string{"line 2", "exec can't power on"}},
		"exec as one text":         {"power:\n  exec:\n    on_command: virsh start x\n", []string{"line 3", "on_command", "list"}},
		"exec with a wrong name":   {"power:\n  exec:\n    on_command: [virsh, \"{{.Name}}\"]\n", []string{"line 3", "Name", "{{.Machine}}"}},
		"fence without its part":   {"power:\n  off_by: fence\n", []string{"power.fence is missing"}},
		"fence without agent":      {"power:\n  fence:\n    params: {a: b}\n", []string{"power.fence.agent"}},
		"a password in params":     {"power:\n  fence:\n    agent: a\n    params:\n      password: planted\n", []string{"line 4", "power.fence.secrets.password"}},
		"a node's password":        {"power:\n  fence: {agent: a}\n  nodes:\n    n1:\n      params: {passwd: planted}\n", []string{"line 5", "secret"}},
		"two places of a secret":   {"power:\n  fence:\n    agent: a\n    secrets:\n      password: {file: a, env: b}\n", []string{"line 5", "not both"}},
		"no place of a secret":     {"power:\n  fence:\n    agent: a\n    secrets:\n      password: {}\n", []string{"line 5", "file or env"}},
		"a secret as it is":        {"power:\n  fence:\n    agent: a\n    secrets:\n      password: planted\n", []string{"line 5", "secrets", "group of fields"}},
		"redfish without password": {"power:\n  redfish:\n    user: a\n", []string{"line 2", "password_file"}},
		"redfish without user":     {"power:\n  redfish:\n    password_env: P\n", []string{"user"}},
		"ipmi's two passwords":     {"power:\n  ipmi: {user: a, password_env: P, password_file: f}\n", []string{"not both"}},
		"a broadcast":              {"power:\n  wol:\n    broadcast: lan\n", []string{"line 3", "10.0.0.255:9"}},
		"a portal in the open":     {"power:\n  mdx:\n    url: http://10.0.0.2/\n    token_env: T\n", []string{"line 3", "power.mdx.url", "plain_http: true"}},
		"a service level":          {"power:\n  off_by: mdx\n  on_by: mdx\n  mdx: {project: p, token_env: T}\n  nodes:\n    n1:\n      service_level: best\n", []string{"line 7", "power.nodes.n1.service_level", "spot or guarantee"}},
		"a MAC":                    {"power:\n  off_by: ssh\n  on_by: wol\n  nodes:\n    n1:\n      mac: 10.0.0.1\n", []string{"line 6", "power.nodes.n1.mac"}},
		"openstack's file":         {"power:\n  openstack:\n    clouds_file: /x\n", []string{"line 3", "cloud"}},
		"a list as a parameter":    {"power:\n  fence:\n    agent: a\n    params: {ip: [a]}\n", []string{"params"}},
		"an unknown field":         {"power:\n  vagrant:\n    folder: /x\n", []string{"line 3", "folder"}},
		"huge":                     {"context: " + strings.Repeat("a", maxSize), []string{"exceeds its limit"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(tc.yaml))
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range tc.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q lacks %q", err, w)
				}
			}
			if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "planted") {
				t.Errorf("the error is %q", err)
			}
		})
	}
}

// TestTheDocumentsExamplesAreRead reads every config that users are shown.
func TestTheDocumentsExamplesAreRead(t *testing.T) {
	pages := []string{"tutorials/mdx.md", "tutorials/vagrant.md", "how-to/bastion.md", "how-to/drivers.md", "how-to/recorder.md", "reference/config.md", "reference/load.md", "reference/plan.md"}
	for _, name := range pages {
		b, err := os.ReadFile(filepath.Join("docs", name))
		if err != nil {
			t.Fatal(err)
		}
		read := 0
		for _, part := range strings.Split(string(b), "```yaml\n")[1:] {
			text, _, _ := strings.Cut(part, "```")
			if strings.Contains(text, "steps:") {
				if _, err := plan.Parse([]byte(text)); err != nil {
					t.Errorf("%s: the plan: %v", name, err)
				}
			} else if _, err := Parse([]byte(text)); err != nil {
				t.Errorf("%s: the config: %v", name, err)
			}
			read++
		}
		if read == 0 {
			t.Errorf("%s shows nothing", name)
		}
	}
}

func TestGuardsInTheConfigOnlyTighten(t *testing.T) {
	c, err := Parse([]byte("guards: {view_age: 5s, keep_ready: 2, protect: [kube-node1], no_override: true}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if l := c.Guards.Limits; l.ViewAge != 5*time.Second || l.KeepReady != 2 || !slices.Equal(l.Protect, []string{"kube-node1"}) || !l.NoOverride {
		t.Errorf("%+v", l)
	}
	if c, err := Parse([]byte("guards: {control_plane: elsewhere}\n")); err != nil {
		t.Error(err)
	} else if l := c.Guards.Limits; l.ControlPlane != power.ControlPlaneElsewhere {
		t.Errorf("%+v", l)
	}
	for _, weaker := range []string{"control_plane: away", "control_plane: true", "view_age: 1m", "view_age: -1s", "keep_ready: -1", "enabled: false", "protect: ['']"} {
		if _, err := Parse([]byte("guards:\n  " + weaker + "\n")); err == nil || !strings.Contains(err.Error(), strings.SplitN(weaker, ":", 2)[0]) {
			t.Errorf("%s: %v", weaker, err)
		}
	}
}

// A config that is cut short or never filled in is not called right.
func TestAConfigMaySetNothing(t *testing.T) {
	for text, want := range map[string]bool{"": true, "# a\n\n# b\n": true, Example(): true, "pace: real\n": false, "a: [\n": false} {
		if SetsNothing([]byte(text)) != want {
			t.Errorf("%.20q sets nothing: not %t", text, want)
		}
	}
}

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
	"lightsout/power/driver/mdx"
)

func TestConfigErrorsNameTheLineAndTheField(t *testing.T) {
	for name, tc := range map[string]struct {
		yaml string
		want []string
	}{
		"unknown field":        {"context: a\nbastoin: b\n", []string{"line 2", "bastoin"}},
		"unknown nested field": {"load:\n  url: http://x/\n  modle: m\n", []string{"line 3", "modle"}},
		"wrong type":           {"context: a\nload:\n  burst: many\n", []string{"line 3", "burst", "number"}},
		"list wanted":          {"namespaces: default\n", []string{"line 1", "namespaces", "list"}},
		"broken yaml":          {"context: a\n  load: {\n", []string{"line 2"}},
		"tab":                  {"load:\n\turl: x\n", []string{"line 2"}},
		"no such driver":       {"power:\n  off_by: ssh\n  on_by: magic\n", []string{"line 3", "magic"}},
		"ssh can't power on":   {"power:\n  off_by: ssh\n  on_by: ssh\n", []string{"line 3", "can't power on"}},
		"mdx without its part": {"power:\n  on_by: mdx\n", []string{"power.mdx is missing"}},
		"two tokens":           {"power:\n  mdx: {url: http://p/, token_file: /a, token_env: B}\n", []string{"not both"}},
		"bad deployment":       {"load:\n  deployment: llm\n", []string{"line 2", "namespace/name"}},
		"bad url":              {"load:\n  url: not-a-url\n", []string{"line 2", "load.url"}},
		"bad scheme":           {"load:\n  url: ftp://x/\n", []string{"line 2", "load.url"}},
		"no such connections":  {"load:\n  hold: 1\n  connections: some\n", []string{"line 3", "load.connections", "some"}},
		"no such protocol":     {"load:\n  protocol: h3\n", []string{"line 2", "h3", "h2"}},
		"an empty entry":       {"load:\n  entries: [10.0.0.1, \":80\"]\n", []string{"line 2", "load.entries", ":80"}},
		"a CA without https":   {"load:\n  url: http://x/\n  ca_file: /ca\n", []string{"line 3", "https"}},
		"a model without chat": {"load:\n  model: m\n", []string{"line 2", "load.model", "chat"}},
		"a body for a chat":    {"load:\n  profile: chat\n  body_file: /b\n", []string{"line 3", "load.body_file", "http"}},
		"two prompts":          {"load:\n  profile: chat\n  prompt: a\n  prompts_file: /p\n", []string{"line 4", "not both"}},
		"no such keep-alive":   {"load:\n  keep_alive: {idel: 1s}\n", []string{"line 2", "idel"}},
		"metrics of nothing":   {"load:\n  metrics: {port: 80}\n", []string{"line 2", "server"}},
		"metrics of no port":   {"load:\n  metrics: {server: vllm}\n", []string{"line 2", "port"}},
		"metrics of no gauge":  {"load:\n  metrics: {server: mine, port: 80}\n", []string{"line 2", "mine", "served"}},
		"bad duration":         {"load:\n  timeout: soon\n", []string{"soon"}},
		"duplicate key":        {"context: a\ncontext: b\n", []string{"line 2", "context"}},
		"recorder: bad url":    {"recorder:\n  url: file:///x\n", []string{"line 2", "recorder.url"}},
		"recorder: bad listen": {"recorder:\n  listen: nonsense\n", []string{"line 2", "recorder.listen", "nonsense"}},
		"negative":             {"load:\n  burst: -1\n", []string{"negative"}},
		"huge":                 {"context: " + strings.Repeat("a", maxSize), []string{"larger than"}},
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
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}

func TestConfigIsReadWhole(t *testing.T) {
	c, err := Parse([]byte(`
context: mdx
namespaces: [default, llm]
bastion: mdxuser@bastion:2222
production: true
ssh: {user: mdxuser, identity_files: [/k], known_hosts: [/h], shutdown: sudo poweroff}
power:
  off_by: ssh
  on_by: mdx
  mdx: {url: https://portal.example/, project: p, token_env: T, via_bastion: true}
  nodes:
    n3: {machine: vm3, service_level: guarantee}
load: {url: http://10.0.0.11:31080/v1/chat/completions, profile: chat, timeout: 30m, stall: 5s, deployment: default/llm, burst: 16}
`))
	if err != nil {
		t.Fatal(err)
	}
	if c.Context != "mdx" || !c.Production || len(c.Namespaces) != 2 || c.Power.Nodes["n3"].Own["mdx"].(*mdx.Node).ServiceLevel != "guarantee" || !c.Power.Sections["mdx"].(*mdx.Options).ViaBastion {
		t.Errorf("read as %+v", c)
	}
	if got := c.Load; got.Timeout != 30*time.Minute || got.Stall != 5*time.Second || got.ConnectTimeout != 0 {
		t.Errorf("timeouts %+v", got)
	}
}

func TestSecretFilesMustBePrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte("hunter2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := readSecret(power.Secret{Name: "the key", File: path})
	if err == nil || !strings.Contains(err.Error(), "chmod 600") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a world-readable secret: %v", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := readSecret(power.Secret{Name: "the key", File: path}); err != nil || got != "hunter2" {
		t.Errorf("got %q, %v", got, err)
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte("context: a\nload:\n  burst: 3\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("load: {timeout: 1h}\npower: {nodes: {n: {off_by: ssh}}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := Parse(data); err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
	})
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
	if l, err := c.Guards.Limits(); err != nil || l.ViewAge != 5*time.Second || l.KeepReady != 2 || !slices.Equal(l.Protect, []string{"kube-node1"}) || !l.NoOverride {
		t.Errorf("%+v, %v", l, err)
	}
	if c, err := Parse([]byte("guards: {control_plane: elsewhere}\n")); err != nil {
		t.Error(err)
	} else if l, err := c.Guards.Limits(); err != nil || l.ControlPlane != power.ControlPlaneElsewhere {
		t.Errorf("%+v, %v", l, err)
	}
	for _, weaker := range []string{"control_plane: away", "control_plane: true", "view_age: 1m", "view_age: 0s", "view_age: -1s", "keep_ready: 0", "keep_ready: -1", "enabled: false", "protect: ['']"} {
		if _, err := Parse([]byte("guards:\n  " + weaker + "\n")); err == nil || !strings.Contains(err.Error(), strings.SplitN(weaker, ":", 2)[0]) {
			t.Errorf("%s: %v", weaker, err)
		}
	}
}

func TestParseNamesTheWrongValueAndItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"- a\n":                 "line 1: the config must be a group of fields, not a list",
		"load: {burst: 1.5}\n":  "line 1: burst must be a whole number (64 bits), not a number",
		"load: {timeout: 30}\n": `line 1: timeout must be a time written like 90s or 30m, not the number 30`,
	} {
		if _, err := Parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

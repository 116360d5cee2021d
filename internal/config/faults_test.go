package config

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"lightsout/internal/config/yamlfile"
	"lightsout/loadgen"
	"lightsout/power"
)

func TestEveryFaultIsReported(t *testing.T) {
	_, _, faults := read([]byte(`contxt: a
namespaces: default
power:
  off_by: magic
  on_by: ssh
  mdx: {projct: p, token_env: T, url: "http://portal.example/"}
  redfish:
    user: [a]
    password_env: P
    url: "{{.Nod}}"
  fence: {agent: a, params: {password: x, ip: "{{.Nod}}"}, secrets: {key: {}}}
  nodes:
    n1: {mac: nonsense, vmid: 3}
    n2: {off_by: wol}
    n3: {mac: "01:00:5e:00:00:01", service_level: best}
  wol: {broadcast: x}
guards: {keep_ready: -1, view_age: 1m}
load: {url: ftp://x/, burst: -1, hold: -1, timeout: soon, connections: some, api_key_env: A, api_key_file: B}
`))
	var told []string
	for _, f := range faults {
		told = append(told, f.Error())
	}
	for _, want := range []string{
		`line 1: there is no field "contxt" in the config; did you mean "context"?`, "line 2: namespaces must be a list, not text",
		`line 4: power.off_by: there is no power driver "magic"`, "line 5: ssh can't power on", `line 6: there is no field "projct" in mdx; did you mean "project"?`,
		"line 6: power.mdx.url is http", "line 8: user must be text, not a list", "line 10: power.redfish.url", "line 11: power.fence.secrets.key needs file or env",
		`line 13: there is no field "vmid"`, "line 13: power.nodes.n1.mac", "line 14: wol can't switch off", "line 15: power.nodes.n3.mac", "line 15: power.nodes.n3.service_level", "line 16: power.wol.broadcast",
		"line 17: guards.view_age", "line 17: guards.keep_ready",
		"line 18: load.url is not a URL", "line 18: load.burst", "line 18: load.hold", "line 18: timeout must be a time", "line 18: there is no load.connections", "line 18: give the API key",
	} {
		n := 0
		for _, line := range told {
			if strings.HasPrefix(line, want) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("told %d times: %s", n, want)
		}
	}
	if len(told) != 23 {
		t.Errorf("told:\n%s", fmt.Sprint(strings.Join(told, "\n")))
	}
}

var comment = regexp.MustCompile(`(?m)^# ( *[a-z0-9_-]*:)`)

// TestTheExampleHasEveryField reads the example as it is and with its comments
// taken away, and looks for each field in what is shown of it.
func TestTheExampleHasEveryField(t *testing.T) {
	if _, err := Parse([]byte(Example())); err != nil {
		t.Fatal(err)
	}
	c, err := Parse([]byte(comment.ReplaceAllString(Example(), "$1")))
	if err != nil {
		t.Fatal(err)
	}
	all := []any{Config{}, SSH{}, Guards{}, Power{}, power.NodeConfig{}, Load{}, Metrics{}, KeepAlive{}}
	for _, k := range power.Kinds() {
		if k.Section != nil && c.Power.Sections[k.Name] == nil {
			t.Errorf("the section %s is missing", k.Name)
		}
		if k.Section != nil {
			all = append(all, k.Section())
		}
		if k.Node != nil {
			all = append(all, k.Node())
		}
	}
	var fields []string
	for _, section := range all {
		fields = append(fields, yamlfile.Names(section)...)
	}
	for _, field := range fields {
		// The lab writes pace. Of two places for one secret one is named in words.
		if field != "pace" && field != "labels" && !regexp.MustCompile(`\b`+field+`\b`).MatchString(Example()) {
			t.Errorf("%s is not in the example", field)
		}
	}
	shown, err := c.Show()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Parse([]byte(shown)); err != nil {
		t.Errorf("what is shown can't be read: %v\n%s", err, shown)
	} else if twice, err := again.Show(); err != nil || twice != shown {
		t.Errorf("it is shown as\n%s\nand then as\n%s (%v)", shown, twice, err)
	}
}

// TestNoSecretOfAURLIsShown: signed addresses stand in load.url and in arguments.
func TestNoSecretOfAURLIsShown(t *testing.T) {
	for _, name := range []string{"sig", "X-Amz-Security-Token", "zipcode"} {
		for _, form := range []string{"https://x/a?%s=planted", "https://x/a?n=2&%s=planted", "https://x/a#%s=planted", "https://x/a;%s=planted"} {
			address := fmt.Sprintf(form, name)
			c := &Config{Load: Load{Target: loadgen.Target{URL: address, Entries: []string{address}}, Metrics: &Metrics{Path: "/v1?" + name + "=planted"}}, Recorder: Recorder{Command: []string{"curl", address, "sh -c 'curl " + address + "'"}}}
			shown, err := c.Show()
			if err != nil || strings.Contains(shown, "planted") || !strings.Contains(shown, "https://x/a") {
				t.Errorf("%s: %v\n%s", address, err, shown)
			}
		}
	}
	for given, want := range map[string]string{
		"https://x/a?0123456789abcdef":            "https://x/a?(hidden)",
		"https://me:pw@x/a?barcode=7":             "https://hidden@x/a?(hidden)",
		"curl https://me:pw@x/a?sig=1 --pwd=2 -v": "curl https://hidden@x/a?(hidden)",
		"X-Signature: 123":                        "X-Signature: (hidden)",
	} {
		if got := conceal(given); got != want {
			t.Errorf("%s is shown as %s, not %s", given, got, want)
		}
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	c, err := Parse([]byte(`
power:
  exec: {on_command: [curl, "--token=planted", "https://me:planted@host/on", "-H", "X-Auth-Token: planted"]}
  fence: {agent: a, params: {session_key: planted, ip: 10.0.0.1}}
load: {url: "https://me:planted@x/", headers: {Authorization: Bearer planted, X-Team: ops, api-key: planted}, profile: chat, max_tokens: 7, api_key_env: NAME}
`))
	if err != nil {
		t.Fatal(err)
	}
	shown, err := c.Show()
	if err != nil || strings.Contains(shown, "planted") {
		t.Errorf("%v\n%s", err, shown)
	}
	for _, want := range []string{"X-Team: ops", "max_tokens: 7", "api_key_env: NAME", "ip: 10.0.0.1"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in\n%s", want, shown)
		}
	}
}

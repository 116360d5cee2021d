package config

import (
	"fmt"
	"strings"
	"testing"
)

func TestAllFaultsAreTold(t *testing.T) {
	_, faults := Faults([]byte(`contxt: a
namespaces: default
power:
  off_by: magic
  on_by: ssh
  mdx: {projct: p, token_env: T, url: "http://portal.example/"}
  redfish:
    user: [a]
    password_env: P
    auth: digest
  fence: {agent: a, params: {password: x, ip: "{{.Nod}}"}, secrets: {key: {}}}
  nodes:
    n1: {mac: nonsense, vmid: 3}
    n2: {off_by: wol}
  wol: {}
guards: {keep_ready: 0}
load: {url: ftp://x/, burst: -1, timeout: soon, connections: some, api_key_env: A, api_key_file: B}
`))
	var told []string
	for _, f := range faults {
		told = append(told, f.Error())
	}
	for _, want := range []string{
		`line 1: there is no field "contxt"; did you mean "context"?`, "line 2: namespaces can't be a text; a list is wanted",
		`line 4: power.off_by: there is no power driver "magic"`, "line 5: ssh can't power on", `line 6: there is no field "projct"; did you mean "project"?`,
		"line 6: power.mdx.url is http", "line 8: user can't be a list", "line 10: power.redfish.auth", "line 11: power.fence.secrets.key needs file or env",
		`line 13: there is no field "vmid"`, "line 13: power.nodes.n1.mac", "line 14: wol can't switch off", "line 16: guards.keep_ready",
		"line 17: load.url is no URL", "line 17: burst, hold", "line 17: timeout: ", "line 17: load.connections", "line 17: give the API key",
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
	if len(told) != 18 {
		t.Errorf("told:\n%s", fmt.Sprint(strings.Join(told, "\n")))
	}
}

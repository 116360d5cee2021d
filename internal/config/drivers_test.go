package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"lightsout/power"
	"lightsout/power/driver/fence"
)

func TestEveryDriverIsBuiltFromItsConfig(t *testing.T) {
	c, err := Parse([]byte(`
power:
  off_by: fence
  on_by: wol
  mdx: {url: https://portal.example/, project: p, token_env: T, via_bastion: true}
  fence:
    agent: fence_vmware_rest
    params: {ip: vcenter.example, ssl: 1, ssl_insecure: false, plug: "{{.Machine}}"}
    secrets: {username: {env: U}, password: {file: /secret}}
  exec:
    state_command: [virsh, domstate, "{{.Machine}}"]
    on_command: [virsh, start, "{{.Machine}}"]
    off_command: [virsh, destroy, "{{.Machine}}"]
    shutdown_command: [virsh, shutdown, "{{.Machine}}"]
    proves_off: true
  wol: {broadcast: "10.0.0.255:9"}
  vagrant: {dir: /vagrant, command: [vagrant]}
  redfish: {url: "https://{{.BMC}}", user: admin, password_file: /secret, via_bastion: true}
  ipmi: {user: ADMIN, password_env: P}
  openstack: {cloud: mdx2, region: RegionOne}
  nodes:
    n1: {mac: "52:54:00:12:34:56", bmc: 10.0.1.11, plug: 3, params: {ipport: 6230}}
    n2: {off_by: redfish, on_by: ipmi}
`))
	if err != nil {
		t.Fatal(err)
	}
	drivers, err := c.Power.Drivers(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range drivers {
		Close(d)
	}
	var want []string
	for _, k := range power.Kinds() {
		if k.Section != nil { // ssh is built elsewhere
			want = append(want, k.Name)
		}
	}
	if names := slices.Sorted(maps.Keys(drivers)); !slices.Equal(names, want) || len(names) != 8 {
		t.Errorf("built %v, want %v", names, want)
	}
	n, f := c.Power.Nodes["n1"].Own["fence"].(*fence.Node), c.Power.Sections["fence"].(*fence.Options)
	if n.Plug != "3" || n.Params["ipport"] != "6230" || f.Params["ssl_insecure"] != "false" {
		t.Errorf("the agent's parameters are %+v, %+v", n, f)
	}
}

const planted = "hunter2-planted"

// agentOfFiles is a fence agent whose machines are files beside it.
const agentOfFiles = `#!/bin/sh
d=${0%/*}
while IFS= read -r line; do
	case $line in
	action=*) action=${line#action=} ;;
	plug=*) plug=${line#plug=} ;;
	password=*) password=${line#password=} ;;
	esac
done
[ "$password" = hunter2-planted ] || { echo "no password" >&2; exit 1; }
case $action in
status) s=$(cat "$d/$plug"); echo "Status: $s"; [ "$s" = on ] && exit 0; exit 2 ;;
off) echo off > "$d/new.$plug" && mv "$d/new.$plug" "$d/$plug"; echo "done with $password"; exit 0 ;;
esac
exit 1
`

// TestOffByOneOnByAnother switches machines off by a fence agent and on by a
// command, from a config file on, and looks for the secret afterwards.
func TestOffByOneOnByAnother(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	agent := write("agent", agentOfFiles, 0o700)
	secret := write("secret", planted+"\n", 0o600)
	write("vm-a", "on", 0o600)
	write("kube-node4", "on", 0o600)
	c, err := Parse([]byte(fmt.Sprintf(`
power:
  off_by: fence
  on_by: exec
  fence:
    agent: %s
    params: {plug: "{{.Machine}}"}
    secrets: {password: {file: %s}}
  exec:
    on_command: [sh, -c, 'echo on > "$0/new.$LIGHTSOUT_MACHINE" && mv "$0/new.$LIGHTSOUT_MACHINE" "$0/$LIGHTSOUT_MACHINE"', %s]
  nodes:
    kube-node3: {machine: vm-a}
`, agent, secret, dir)))
	if err != nil {
		t.Fatal(err)
	}
	drivers, err := c.Power.Drivers(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range drivers {
		defer Close(d)
	}
	state := filepath.Join(dir, "state")
	journal := power.OpenJournal(state, power.Cluster{Name: "test"}, "")
	defer journal.Close()
	fleet, err := power.NewFleet(power.Config{Off: c.Power.Off, On: c.Power.On, Nodes: c.Power.FleetNodes(), PollInterval: time.Millisecond}, journal, drivers)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var said strings.Builder
	s := power.Switcher{Fleet: fleet, Cluster: workers{"kube-node3", "kube-node4", "kube-node5"}}
	do := func(a power.Action, nodes ...string) error {
		report := func(p power.Progress) { fmt.Fprintln(&said, p.Text) }
		return s.Switch(ctx, power.Request{Action: a, Nodes: nodes, Report: report}, typist{})
	}
	for _, a := range []power.Action{power.ActionOff, power.ActionOn} {
		if err := do(a, "kube-node3", "kube-node4"); err != nil {
			t.Fatalf("%s: %v\n%s", a, err, &said)
		}
	}
	for name, file := range map[string]string{"kube-node3": "vm-a", "kube-node4": "kube-node4"} {
		if b, _ := os.ReadFile(filepath.Join(dir, file)); strings.TrimSpace(string(b)) != "on" {
			t.Errorf("%s is %q", name, b)
		}
	}
	if !strings.Contains(said.String(), "off, proven") {
		t.Errorf("off was not proven:\n%s", &said)
	}
	// Others may read the secret now: it is taken no more.
	if err := os.Chmod(secret, 0o644); err != nil {
		t.Fatal(err)
	}
	err = do(power.ActionOff, "kube-node3")
	if err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a secret that others may read: %v", err)
	}
	// A pipe would never end.
	if err := errors.Join(os.Remove(secret), syscall.Mkfifo(secret, 0o600)); err != nil {
		t.Fatal(err)
	}
	err = do(power.ActionOff, "kube-node3")
	if err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("a secret in a pipe: %v", err)
	}
	_ = filepath.WalkDir(state, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			b, _ := os.ReadFile(path)
			fmt.Fprintln(&said, string(b))
		}
		return nil
	})
	if strings.Contains(said.String(), planted) || !strings.Contains(said.String(), "vm-a") {
		t.Errorf("the secret is in what was said or written:\n%s", &said)
	}
}

// workers are the nodes of a cluster, all of which run.
type workers []string

func (w workers) State(context.Context) (v power.ClusterState, err error) {
	for _, n := range w {
		v.Nodes = append(v.Nodes, power.Node{NodeRef: power.NodeRef{Name: n}, Ready: true, Schedulable: true})
	}
	return v, nil
}

func (w workers) FreshState(ctx context.Context) (power.ClusterState, error) { return w.State(ctx) }

// typist agrees, and types what is to be typed.
type typist struct{}

func (typist) Ask(_ context.Context, q power.Question) (power.Answer, error) {
	return power.Answer{Yes: true, Typed: q.Type}, nil
}

// TestConfigCheckFindsMissingFilesAndBadBastions checks the way to the cluster, and that no two nodes
// have one machine.
func TestConfigCheckFindsMissingFilesAndBadBastions(t *testing.T) {
	there := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"bastion: \"x foo\"":                                    `bastion: "x foo" is not a host`,
		"bastion: 3":                                            `bastion: "3" is not a host`,
		"pace: slow":                                            `line 1: there is no pace "slow"; there are fast, real`,
		"bastion: ops@b:2222":                                   "",
		"bastion: ops@b:99999":                                  `line 1: bastion: "ops@b:99999" is not a host`,
		"recorder: {listen: \"127.0.0.1:99999\"}":               "line 1: recorder.listen must be HOST:PORT",
		"load: {burst: -1}\nhold: 1\nbastion: 3":                "line 1: load.burst can't be negative\nline 2: there is no field \"hold\" in the config",
		"bastion: ::1":                                          "",
		"kubeconfig: /nonexistent/kubeconfig":                   "line 1: kubeconfig: /nonexistent/kubeconfig does not exist",
		"contxt: a\nkubeconfig: /nonexistent/kube":              "line 2: kubeconfig: /nonexistent/kube does not exist",
		"ssh: {identity_files: [/nonexistent/id]}":              "line 1: ssh.identity_files: /nonexistent/id does not exist",
		"power:\n  nodes: {a: {machine: vm}, b: {machine: vm}}": "line 2: power.nodes: a and b have the same machine",
		"power:\n  nodes: {a: {address: 10.0.0.1}, b: {address: 10.0.0.1}}":                     "line 2: power.nodes: a and b have the same address",
		"power:\n  nodes: {a: {bmc: 10.7.0.1}, b: {bmc: 10.7.0.1}}":                             "line 2: power.nodes: a and b have the same bmc",
		"power:\n  nodes: {a: {bmc: 10.7.0.1, machine: one}, b: {bmc: 10.7.0.1, machine: two}}": "",
		"power:\n  nodes: {a: {machine: vm}, b: {machine: vm-2}, c: {}, d: {}}":                 "",
		"bastion: ssh://ops@b:22": "", "kubeconfig: " + there: "", "ssh: {identity_files: [" + there + "], known_hosts: [/nonexistent/known]}": "",
	} {
		faults := AllFaults(filepath.Join(t.TempDir(), "lightsout.yaml"), []byte(text+"\n"))
		if got := errors.Join(faults...); want == "" && got != nil || want != "" && (got == nil || !strings.Contains(got.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, got, want)
		}
	}
}

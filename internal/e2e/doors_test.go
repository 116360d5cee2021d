package e2e

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lightsout/internal/labtest"
	"lightsout/internal/testenv"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// TestTheGuardsAtTheCommandLine goes through guards that need a cluster, on one
// lab. No machine goes off in any of them.
func TestTheGuardsAtTheCommandLine(t *testing.T) {
	testenv.Long(t, 40)
	t.Parallel()
	l := labtest.Start(t, "mdx")
	with := func(change func(c map[string]any)) string {
		return l.ConfigWith(func(c map[string]any) {
			c["state"] = t.TempDir()
			change(c)
		})
	}
	plain := with(func(map[string]any) {})
	patch := func(node, field, key string, value any) {
		l.API().Do(http.MethodPatch, "/api/v1/nodes/"+node, map[string]any{"metadata": map[string]any{field: map[string]any{key: value}}}, nil)
	}
	refused := func(t *testing.T, config string, words []string, want string) {
		t.Helper()
		out, errs, code := run(t, nil, args(l, config, words...)...)
		if code == 0 || !strings.Contains(out+errs, want) {
			t.Errorf("exit %d, wanted %q in\n%s%s", code, want, out, errs)
		}
		if off := l.Machines("off", "stopping"); len(off) > 0 {
			t.Errorf("switched off: %v", off)
		}
	}

	t.Run("a node that names another's machine", func(t *testing.T) {
		patch("kube-node1", "annotations", "lightsout.dev/machine", "kube-node2")
		defer patch("kube-node1", "annotations", "lightsout.dev/machine", nil)
		unnamed := with(func(c map[string]any) { delete(c["power"].(map[string]any), "nodes") })
		refused(t, unnamed, []string{"power", "off", "kube-node1", "--yes"}, "kube-node2")
	})
	t.Run("a control plane that is said to be elsewhere", func(t *testing.T) {
		elsewhere := with(func(c map[string]any) { c["guards"] = map[string]any{"control_plane": "elsewhere"} })
		refused(t, elsewhere, []string{"power", "off", "kube-node1", "--yes"}, "but kube-cp1 is part of it")
	})
	t.Run("workers whose roles have names of the site's own are workers", func(t *testing.T) {
		for _, n := range []string{"kube-node1", "kube-node2", "kube-node3", "kube-node4"} {
			patch(n, "labels", "node-role.kubernetes.io/compute", "")
			defer patch(n, "labels", "node-role.kubernetes.io/compute", nil)
		}
		if out, errs, code := run(t, nil, args(l, plain, "power", "off", "kube-node1", "--yes", "--dry-run")...); code != 0 {
			t.Errorf("exit %d\n%s%s", code, out, errs)
		}
	})
	t.Run("yes comes when the API server is gone", func(t *testing.T) {
		config := plain
		command := fmt.Sprintf("%s --config %s --kubeconfig %s power off kube-node1; echo ended with $?; sleep 1000",
			labtest.Program(t, "lightsout"), config, l.Kubeconfig())
		x := openTerminal(t, 160, 50, []string{"HOME=" + t.TempDir()}, command)
		x.waitFor("the question", time.Minute, `\[y/N\]`)
		l.Post("/components/kube-apiserver/stop")
		x.keys("y", "Enter")
		x.waitFor("the end", 2*time.Minute, `ended with [1-9]`)
		if off := l.Machines("off", "stopping"); len(off) > 0 {
			t.Errorf("switched off: %v", off)
		}
	})
}

// TestRestoreAsksForAPassphrase: the way to the portal is through a real ssh
// server that takes an encrypted key only, and restore has a terminal.
func TestRestoreAsksForAPassphrase(t *testing.T) {
	testenv.Long(t, 30)
	t.Parallel()
	l := labtest.Lease(t, "mdx")
	state := t.TempDir()
	config := l.ConfigWith(func(c map[string]any) { c["state"] = state })
	if out, errs, code := run(t, nil, args(l, config, "power", "off", "kube-node3", "--yes")...); code != 0 {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	s := l.Settings()
	key, err := os.ReadFile(s.SSH.IdentityFiles[0])
	if err != nil {
		t.Fatal(err)
	}
	private, err := ssh.ParseRawPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("open sesame"))
	if err != nil {
		t.Fatal(err)
	}
	locked := write(t, "id_locked", string(pem.EncodeToMemory(block)))
	signer, err := ssh.ParsePrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	jump := realSSHServer(t, "127.0.0.1", string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	had, err := os.ReadFile(s.SSH.Config)
	if err != nil && s.SSH.Config != "" {
		t.Fatal(err)
	}
	_, address, _ := strings.Cut(s.Bastion, "@")
	host, port, _ := net.SplitHostPort(address)
	_, jumpPort, _ := net.SplitHostPort(jump.address)
	sshConfig := write(t, "ssh_config", fmt.Sprintf("Host jump\n  HostName 127.0.0.1\n  Port %s\n  User %s\nHost inner\n  HostName %s\n  Port %s\n  ProxyJump jump\n\n%s",
		jumpPort, me.Username, host, port, had))
	known := write(t, "known_hosts", jump.known)
	behind := l.ConfigWith(func(c map[string]any) {
		who, _, _ := strings.Cut(s.Bastion, "@")
		c["state"], c["bastion"] = state, who+"@inner"
		section := c["ssh"].(map[string]any)
		section["config"], section["identity_files"] = sshConfig, []string{locked}
		section["known_hosts"] = append([]string{known}, s.SSH.KnownHosts...)
	})
	command := fmt.Sprintf("%s --config %s --kubeconfig %s restore --yes; echo ended with $?; sleep 1000", labtest.Program(t, "lightsout"), behind, l.Kubeconfig())
	x := openTerminal(t, 160, 50, []string{"HOME=" + t.TempDir(), "SSH_AUTH_SOCK="}, command)
	x.waitFor("the question", time.Minute, `(?i)passphrase`)
	x.tmux("send-keys", "-l", "open sesame")
	x.keys("Enter")
	x.waitFor("the end", 2*time.Minute, `ended with 0`)
	if off := l.Machines("off"); len(off) > 0 {
		t.Errorf("still off: %v\n%s", off, x.screen())
	}
	if strings.Contains(x.screen(), "sesame") {
		t.Errorf("the passphrase is shown:\n%s", x.screen())
	}
}

type sshServer struct {
	address string
	known   string // its line of known_hosts
}

// realSSHServer runs OpenSSH's sshd on a host of ours; it lets one key in.
func realSSHServer(t *testing.T, host, authorized string) sshServer {
	t.Helper()
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		if _, err := os.Stat("/usr/sbin/sshd"); err != nil {
			testenv.Skip(t, "sshd is not installed")
		}
		sshd = "/usr/sbin/sshd"
	}
	hostKey := newKey(t)
	b, err := os.ReadFile(hostKey)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey(b)
	if err != nil {
		t.Fatal(err)
	}
	_ = os.MkdirAll("/run/sshd", 0o755) // as root it wants it
	free, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	free.Close()
	config := write(t, "sshd_config", fmt.Sprintf("Port %s\nListenAddress %s\nHostKey %s\nAuthorizedKeysFile %s\nStrictModes no\nPidFile none\nPermitRootLogin yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\nAllowTcpForwarding yes\n",
		port, host, hostKey, write(t, "authorized_keys", authorized)))
	cmd := exec.Command(sshd, "-D", "-e", "-f", config)
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("sshd does not answer")
		}
	}
	return sshServer{address, knownhosts.Line([]string{address}, signer.PublicKey()) + "\n"}
}

// The journal's machine is powered on, not the one that has the node's name, and
// nothing of the cluster can be seen.
func TestTheJournalsMachineIsPoweredOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, vm := range []string{"n3", "vm-7"} {
		if err := os.WriteFile(filepath.Join(dir, vm), []byte("off\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	machine := map[string]any{"driver": "exec", "id": "vm-7", "name": "vm-7"}
	config, err := json.Marshal(map[string]any{
		"state": filepath.Join(dir, "state"), "kubeconfig": kubeconfig(t, "https://"+testenv.Refusing(t)),
		"power": map[string]any{"off_by": "exec", "on_by": "exec", "exec": map[string]any{
			"state_command": []string{"sh", "-c", "cat " + dir + "/$LIGHTSOUT_MACHINE"}, "proves_off": true,
			"on_command": []string{"sh", "-c", "echo on > " + dir + "/$LIGHTSOUT_MACHINE"}, "off_command": []string{"false"},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(map[string]any{
		"kind": "intent", "op": "0123456789ab", "action": "off", "cluster": map[string]any{"name": "test"}, "at": time.Now().Add(-time.Hour).UTC(), "pid": 1, "node": "n3",
		"binding": map[string]any{"node": map[string]any{"name": "n3", "bootID": "boot-1"}, "off": machine, "on": machine},
	})
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(dir, "state")
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(state, "power.jsonl"), []byte(testenv.JournalLine(line)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, code := run(t, nil, "power", "on", "n3", "--yes", "--config", write(t, "lightsout.yaml", string(config)))
	word := func(vm string) string {
		b, _ := os.ReadFile(filepath.Join(dir, vm))
		return strings.TrimSpace(string(b))
	}
	if code != 0 || word("vm-7") != "on" || word("n3") != "off" {
		t.Errorf("exit %d, vm-7 is %s, n3 is %s\n%s%s", code, word("vm-7"), word("n3"), out, errs)
	}
}

// The ssh configuration leads the address of a node to another node's machine, by its name.
// lightsout does not shut that down: its boot ID is another one.
func TestAnAddressThatLeadsToAnotherMachineIsNotShutDown(t *testing.T) {
	testenv.Long(t, 20)
	t.Parallel()
	l := labtest.Lease(t, "mdx")
	var address string
	var node struct {
		Status struct {
			Addresses []struct{ Type, Address string }
		}
	}
	l.API().Do(http.MethodGet, "/api/v1/nodes/kube-node1", nil, &node)
	for _, a := range node.Status.Addresses {
		if a.Type == "InternalIP" {
			address = a.Address
		}
	}
	had, err := os.ReadFile(l.Settings().SSH.Config)
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"kube-node2", "kube-cp1"} {
		ssh := write(t, "ssh_config", "Host "+address+"\n  HostName "+to+"\n"+string(had))
		config := l.ConfigWith(func(c map[string]any) {
			c["state"] = t.TempDir()
			c["ssh"].(map[string]any)["config"] = ssh
		})
		out, errs, code := run(t, nil, args(l, config, "power", "shutdown", "kube-node1", "--yes")...)
		if off := l.Machines("off", "stopping"); code == 0 || len(off) > 0 || !strings.Contains(out+errs, "boot ID") {
			t.Errorf("%s: exit %d, off: %v\n%s%s", to, code, off, out, errs)
		}
	}
}

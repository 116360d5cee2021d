package cli

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"sigs.k8s.io/yaml"
)

// testLab is a lab that a test has started.
type testLab struct {
	t     *testing.T
	ready labReady
}

// openLab starts the lab and ends it with the test.
func openLab(t *testing.T, scenario string) *testLab {
	t.Helper()
	cmd := exec.Command(filepath.Join(binaries(t), "lightsout-lab"), "--scenario", scenario, "--pace", "fast", "--stdin-leash", "--quiet")
	cmd.Stderr = os.Stderr
	leash, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { leash.Close(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("the lab is not ready: %v", err)
	}
	l := &testLab{t: t}
	if err := json.Unmarshal(line, &l.ready); err != nil {
		t.Fatal(err)
	}
	return l
}

// client leads to the lab's control socket.
func (l *testLab) client() *http.Client {
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", l.ready.Control)
	}}
	l.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// post asks the lab's control socket for something done by hand.
func (l *testLab) post(path string) { l.do(http.MethodPost, path, "") }

func (l *testLab) do(method, path, body string) {
	l.t.Helper()
	req, err := http.NewRequest(method, "http://lab"+path, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	resp, err := l.client().Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		l.t.Fatalf("%s %s: %s", method, path, resp.Status)
	}
}

// config writes a copy of the lab's config with changes and returns its path.
func (l *testLab) config(change func(c map[string]any)) string {
	l.t.Helper()
	b, err := os.ReadFile(l.ready.Config)
	if err != nil {
		l.t.Fatal(err)
	}
	c := map[string]any{}
	if err := yaml.Unmarshal(b, &c); err != nil {
		l.t.Fatal(err)
	}
	change(c)
	if b, err = yaml.Marshal(c); err != nil {
		l.t.Fatal(err)
	}
	return write(l.t, "lightsout.yaml", string(b))
}

// args are the flags that lead to the lab.
func (l *testLab) args(config string, more ...string) []string {
	return append([]string{"--config", config, "--kubeconfig", l.ready.Kubeconfig}, more...)
}

// TestTheLabThroughTheCommandLine goes through everything that needs a cluster
// but no screen, on one lab.
func TestTheLabThroughTheCommandLine(t *testing.T) {
	l := openLab(t, "mdx")
	state := t.TempDir()
	same := l.config(func(c map[string]any) { c["state"] = state })

	t.Run("status", func(t *testing.T) {
		out, errs, code := run(t, nil, l.args(same, "power", "status")...)
		if code != 0 || strings.Count(out, "proven") != 5 || strings.Count(out, "kube-node") < 4 {
			t.Errorf("exit %d\n%s%s", code, out, errs)
		}
	})
	t.Run("bad input", func(t *testing.T) {
		for name, tc := range map[string]struct {
			config string
			args   []string
			want   string
		}{
			"wrong key": {l.config(func(c map[string]any) {
				c["ssh"].(map[string]any)["identity_files"] = []string{newKey(t)}
				delete(c["ssh"].(map[string]any), "config")
			}), []string{"power", "status"}, "key"},
			"changed host key": {l.config(func(c map[string]any) {
				s := c["ssh"].(map[string]any)
				s["known_hosts"] = []string{otherHostKeys(t, s["known_hosts"].([]any)[0].(string))}
				delete(s, "config")
			}), []string{"power", "status"}, "host key"},
			"unknown node":    {same, []string{"power", "on", "kube-node9"}, "there is no node \"kube-node9\""},
			"a control plane": {same, []string{"power", "shutdown", "kube-cp1", "--yes"}, "refused"},
			"forbidden":       {same, []string{"--context", "lab-mdx-nobody", "power", "status"}, "may not list nodes"},
			"nobody to ask":   {same, []string{"power", "shutdown", "kube-node1"}, "--yes"},
			"wrong portal token": {l.config(func(c map[string]any) {
				m := c["power"].(map[string]any)["mdx"].(map[string]any)
				m["token_file"] = write(t, "token", "wrong")
				c["state"] = t.TempDir()
			}), []string{"power", "on", "kube-node1", "--yes"}, "token"},
		} {
			out, errs, code := run(t, nil, l.args(tc.config, tc.args...)...)
			if code != 1 || !strings.Contains(out+errs, tc.want) || strings.Contains(out+errs, "goroutine ") {
				t.Errorf("%s: exit %d, wanted %q in\n%s%s", name, code, tc.want, out, errs)
			}
		}
	})
	t.Run("shutdown, then restore from the journal alone", func(t *testing.T) {
		out, errs, code := run(t, nil, l.args(same, "power", "shutdown", "kube-node3", "--yes")...)
		if code != 0 {
			t.Fatalf("exit %d\n%s%s", code, out, errs)
		}
		out, _, _ = run(t, nil, l.args(same, "power", "status", "kube-node3")...)
		if !strings.Contains(out, "off") || !strings.Contains(out, "proven") {
			t.Errorf("not proven off:\n%s", out)
		}
		out, errs, code = run(t, nil, l.args(same, "restore", "--yes")...)
		if code != 0 || !strings.Contains(out, "kube-node3") {
			t.Fatalf("exit %d\n%s%s", code, out, errs)
		}
		out, _, code = run(t, nil, l.args(same, "restore")...)
		if code != 0 || !strings.Contains(out, "nothing is off") {
			t.Errorf("exit %d, still to restore:\n%s", code, out)
		}
	})
	t.Run("plain lines, one a transition", func(t *testing.T) {
		cmd, lines := startTool(t, l.args(same)...)
		waitLine(t, lines, "API server", "answers")
		l.post("/machines/kube-node4/off")
		waitLine(t, lines, "kube-node4", "NotReady")
		l.post("/machines/kube-node4/on")
		waitLine(t, lines, "kube-node4", "→ Ready")
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		for range lines { // until it has ended
		}
	})
}

// newKey makes a private key that no server knows.
func newKey(t *testing.T) string {
	t.Helper()
	_, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(priv, "")
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "id", string(pem.EncodeToMemory(block)))
}

// otherHostKeys copies a known_hosts file with other keys in it.
func otherHostKeys(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pub, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(pub)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		host, _, _ := strings.Cut(line, " ")
		out.WriteString(host + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))) + "\n")
	}
	return write(t, "known_hosts", out.String())
}

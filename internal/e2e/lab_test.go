package e2e

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"os"
	"strings"
	"testing"

	"lightsout/internal/labtest"
	"lightsout/internal/testenv"

	"golang.org/x/crypto/ssh"
)

// TestTheLabThroughTheCommandLine goes through everything that needs a cluster
// but no screen, on one lab.
func TestTheLabThroughTheCommandLine(t *testing.T) {
	t.Parallel()
	testenv.Long(t, 45)
	l := labtest.Start(t, "mdx")
	state := t.TempDir()
	same := l.ConfigWith(func(c map[string]any) { c["state"] = state })

	t.Run("status", func(t *testing.T) {
		out, errs, code := run(t, nil, args(l, same, "power", "status")...)
		if code != 0 || strings.Count(out, "proven") != 5 || strings.Count(out, "kube-node") < 4 {
			t.Errorf("exit %d\n%s%s", code, out, errs)
		}
	})
	t.Run("the state once", func(t *testing.T) {
		out, errs, code := run(t, nil, args(l, same, "--once")...)
		if code != 0 || strings.Count(out, "on, proven") < 4 || !strings.Contains(out, "Deployments: ") || !strings.Contains(out, "Pods: ") || strings.Contains(out, "Requests") {
			t.Errorf("exit %d\n%s%s", code, out, errs)
		}
	})
	t.Run("what is on already ends at once", func(t *testing.T) {
		for range 10 { // however soon the nodes are seen, nothing is asked
			if out, errs, code := run(t, nil, args(l, same, "power", "on", "kube-node1")...); code != 0 || !strings.Contains(out+errs, "already") {
				t.Errorf("exit %d\n%s%s", code, out, errs)
			}
		}
	})
	t.Run("bad input", func(t *testing.T) {
		for name, tc := range map[string]struct {
			config string
			args   []string
			want   string
		}{
			"wrong key": {l.ConfigWith(func(c map[string]any) {
				c["ssh"].(map[string]any)["identity_files"] = []string{newKey(t)}
				delete(c["ssh"].(map[string]any), "config")
			}), []string{"power", "status", "--wait-for-api", "5s"}, "key"},
			"changed host key": {l.ConfigWith(func(c map[string]any) {
				s := c["ssh"].(map[string]any)
				s["known_hosts"] = []string{otherHostKeys(t, s["known_hosts"].([]any)[0].(string))}
				delete(s, "config")
			}), []string{"power", "status", "--wait-for-api", "5s"}, "host key"},
			"unknown node":    {same, []string{"power", "on", "kube-node9"}, "the cluster has no node \"kube-node9\""},
			"a control plane": {same, []string{"power", "shutdown", "kube-cp1", "--yes"}, "lightsout refuses"},
			"forbidden":       {same, []string{"--context", "lab-mdx-nobody", "power", "status"}, "may not list nodes"},
			"nobody to ask":   {same, []string{"power", "shutdown", "kube-node1"}, "--yes"},
			"wrong portal token": {l.ConfigWith(func(c map[string]any) {
				m := c["power"].(map[string]any)["mdx"].(map[string]any)
				m["token_file"] = write(t, "token", "wrong")
				c["state"] = t.TempDir()
			}), []string{"power", "shutdown", "kube-node1", "--yes"}, "token"},
		} {
			t.Run(name, func(t *testing.T) {
				out, errs, code := run(t, nil, args(l, tc.config, tc.args...)...)
				if code != 1 || !strings.Contains(out+errs, tc.want) || strings.Contains(out+errs, "goroutine ") {
					t.Errorf("exit %d, wanted %q in\n%s%s", code, tc.want, out, errs)
				}
			})
		}
	})
	t.Run("shutdown, then restore from the journal alone", func(t *testing.T) {
		out, errs, code := run(t, nil, args(l, same, "power", "shutdown", "kube-node3", "--yes")...)
		if code != 0 {
			t.Fatalf("exit %d\n%s%s", code, out, errs)
		}
		out, _, _ = run(t, nil, args(l, same, "power", "status", "kube-node3")...)
		if !strings.Contains(out, "off") || !strings.Contains(out, "proven") {
			t.Errorf("not proven off:\n%s", out)
		}
		out, errs, code = run(t, nil, args(l, same, "restore", "--yes")...)
		if code != 0 || !strings.Contains(out, "kube-node3") {
			t.Fatalf("exit %d\n%s%s", code, out, errs)
		}
		out, _, code = run(t, nil, args(l, same, "restore")...)
		if code != 0 || !strings.Contains(out, "nothing is off") {
			t.Errorf("exit %d, still to restore:\n%s", code, out)
		}
	})
	t.Run("interrupted, it does not say that it is done", func(t *testing.T) { interrupted(t, l, same) })
	t.Run("a node chooses no program and gets no secret", func(t *testing.T) { hostileNode(t, l) })
	t.Run("plain lines, one a transition", func(t *testing.T) {
		cmd, lines := start(t, args(l, same)...)
		waitLine(t, lines, "API server", "answers")
		l.Post("/machines/kube-node4/off")
		waitLine(t, lines, "kube-node4", "NotReady")
		l.Post("/machines/kube-node4/on")
		waitLine(t, lines, "kube-node4", "→ Ready")
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		for range lines { // until it has ended
		}
	})
	t.Run("restore looks before it says what is off", func(t *testing.T) { restoreLooks(t, l) })
	t.Run("the last worker stays on", func(t *testing.T) { lastWorker(t, l) })
	t.Run("the last worker stays on when clocks are ahead", func(t *testing.T) { clockAhead(t, l) })
}

// interrupted ends `power shutdown` before the machine is off, and before
// anything is sent.
func interrupted(t *testing.T, l *labtest.Lab, config string) {
	const budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
	api := l.API()
	for _, at := range []struct{ drain, line, says string }{
		{"--drain", "power kube-node3 cordoned", "still cordoned: kube-node3; uncordon with: lightsout restore"},
		{"--drain=false", "polling the cluster", "interrupted"},
		{"--drain=false", "waiting: kube-node3", "interrupted before the result was seen"},
	} {
		if at.drain == "--drain" { // which a budget blocks
			api.Do("POST", budgets, map[string]any{
				"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": map[string]any{"name": "all"},
				"spec": map[string]any{"maxUnavailable": 0, "selector": map[string]any{}},
			}, nil)
		}
		cmd := program(context.Background(), t, nil, args(l, config, "power", "shutdown", "kube-node3", "--yes", at.drain)...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = cmd.Stdout
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		for sc := bufio.NewScanner(out); sc.Scan(); said.WriteString(sc.Text() + "\n") {
			if strings.Contains(sc.Text(), at.line) {
				_ = cmd.Process.Signal(os.Interrupt)
			}
		}
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(said.String(), at.says) {
			t.Errorf("interrupted at %q: %v\n%s", at.line, err, said.String())
		}
		if at.drain == "--drain" {
			api.Do("DELETE", budgets+"/all", nil, nil)
		}
	}
	out, errs, code := run(t, nil, args(l, config, "restore", "--yes")...)
	if code != 0 || !strings.Contains(out, "uncordon") {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
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

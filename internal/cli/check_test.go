package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"lightsout/cluster"
	"lightsout/internal/config"
	"lightsout/power/ssh"
)

// checked runs check and gives its rows by "node what".
func checked(t *testing.T, wantCode int, args ...string) map[string]checkRow {
	t.Helper()
	out, errs, code := run(t, nil, append(args, "check", "-o", "json")...)
	var report checkReport
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("exit %d, %v\n%s%s", code, err, out, errs)
	}
	if code != wantCode {
		t.Errorf("exit %d, want %d\n%s", code, wantCode, errs)
	}
	rows := map[string]checkRow{}
	for _, r := range report.Rows {
		rows[strings.TrimSpace(r.Node+" "+r.What)] = r
		if strings.ContainsAny(r.Detail+r.Todo+r.What, "\x1b\n") || r.Area == "" || r.Detail == "" {
			t.Errorf("row %+v", r)
		}
		if r.Result == checkMissing && r.Todo == "" {
			t.Errorf("nothing is said to do about %+v", r)
		}
	}
	return rows
}

// expect wants one result for each of the rows.
func expect(t *testing.T, rows map[string]checkRow, want checkResult, keys ...string) {
	t.Helper()
	for _, k := range keys {
		if r, ok := rows[k]; !ok || r.Result != want {
			t.Errorf("%s: %+v, want %s", k, r, want)
		}
	}
}

var (
	rightsToSee = []string{"see nodes", "see heartbeats", "see pods", "see deployments", "see replica sets", "see endpoints", "see events",
		"see the control plane's settings"}
	rightsToAsk = []string{"ask pods", "ask kubelets"}
	rightsToAct = []string{"restart a rollout", "cordon a node", "drain a node"}
)

// forEach gives "node what" for the lab's workers.
func forEach(what ...string) []string {
	var out []string
	for _, n := range []string{"kube-node1", "kube-node2", "kube-node3", "kube-node4"} {
		for _, w := range what {
			out = append(out, n+" "+w)
		}
	}
	return out
}

func TestCheckTellsTheTruth(t *testing.T) {
	l := openLab(t, "mdx")
	state := t.TempDir()
	same := l.config(func(c map[string]any) { c["state"] = state })
	around := []string{"bastion", "API server", "kubeconfig", "target", "API key", "folder", "left off"}
	bastion := l.ready.bastion(t)
	around[0] = bastion

	t.Run("the operator", func(t *testing.T) {
		rows := checked(t, 0, l.args(same)...)
		expect(t, rows, checkWorks, slices.Concat(around, rightsToSee, rightsToAsk, rightsToAct, forEach("ssh", "sudo", "clock", "on"), []string{"clock of " + bastion})...)
		expect(t, rows, checkNote, forEach("graceful shutdown")...)
		if _, ok := rows["kube-cp1 ssh"]; ok {
			t.Error("the control plane is never switched, and was logged in to")
		}
		if entries, err := os.ReadDir(state); err != nil || len(entries) != 0 {
			t.Errorf("check has written %v, %v", entries, err)
		}
		out, _, code := run(t, nil, l.args(same, "check", "kube-node3")...)
		if code != 0 || !strings.Contains(out, "nothing is missing") || !strings.Contains(out, "kube-node3                    works    ssh, sudo, clock, on") || strings.Contains(out, "kube-node4") {
			t.Errorf("exit %d\n%s", code, out)
		}
	})
	t.Run("a viewer", func(t *testing.T) {
		rows := checked(t, 1, l.args(same, "--context", "lab-mdx-viewer")...)
		expect(t, rows, checkWorks, slices.Concat(rightsToSee, rightsToAsk, forEach("ssh", "sudo", "on"))...)
		expect(t, rows, checkMissing, rightsToAct...)
		rows = checked(t, 0, l.args(same, "--context", "lab-mdx-viewer", "--read-only")...)
		expect(t, rows, checkSkipped, "machines", "restart, cordon, drain")
		if _, ok := rows["kube-node3 ssh"]; ok {
			t.Error("with --read-only a machine was logged in to")
		}
	})
	t.Run("nobody", func(t *testing.T) {
		rows := checked(t, 1, l.args(same, "--context", "lab-mdx-nobody")...)
		expect(t, rows, checkMissing, slices.Concat(rightsToSee, rightsToAsk, rightsToAct)...)
		expect(t, rows, checkWorks, "API server", bastion, "target")
		expect(t, rows, checkSkipped, "machines")
	})
	t.Run("who has just the roles that are shipped", func(t *testing.T) {
		kubeconfig := l.applyRoles(t, "fresh", roleView, roleMeasure, roleAct)
		rows := checked(t, 0, "--config", same, "--kubeconfig", kubeconfig)
		expect(t, rows, checkWorks, slices.Concat(rightsToSee, rightsToAsk, rightsToAct)...)
		kubeconfig = l.applyRoles(t, "shy", roleView)
		rows = checked(t, 1, "--config", same, "--kubeconfig", kubeconfig)
		expect(t, rows, checkWorks, rightsToSee...)
		expect(t, rows, checkMissing, slices.Concat(rightsToAsk, rightsToAct)...)
		expect(t, rows, checkSkipped, forEach("graceful shutdown")...)
		out, errs, code := run(t, nil, "--config", same, "--kubeconfig", kubeconfig, "power", "status")
		if code != 0 || strings.Count(out, "Ready") < 5 {
			t.Errorf("power status as a viewer by the shipped role: exit %d\n%s%s", code, out, errs)
		}
	})
	t.Run("sudo wants a password", func(t *testing.T) {
		l.postJSON("/faults", map[string]any{"target": "sudo", "vm": "kube-node3", "word": "sudo: a password is required"})
		defer l.clearFaults()
		rows := checked(t, 1, l.args(same)...)
		expect(t, rows, checkMissing, "kube-node3 sudo")
		expect(t, rows, checkWorks, "kube-node3 ssh", "kube-node4 sudo")
		if todo := rows["kube-node3 sudo"].Todo; !strings.Contains(todo, "NOPASSWD") {
			t.Errorf("to do: %q", todo)
		}
	})
	t.Run("a wrong token", func(t *testing.T) {
		config := l.config(func(c map[string]any) {
			c["power"].(map[string]any)["mdx"].(map[string]any)["token_file"] = write(t, "token", "wrong")
		})
		rows := checked(t, 1, l.args(config)...)
		expect(t, rows, checkMissing, forEach("on")...)
		expect(t, rows, checkWorks, forEach("ssh", "sudo")...)
	})
	t.Run("nothing is configured", func(t *testing.T) {
		config := l.config(func(c map[string]any) { delete(c, "power"); delete(c, "load") })
		rows := checked(t, 1, l.args(config)...)
		expect(t, rows, checkMissing, "drivers")
		expect(t, rows, checkSkipped, "target")
	})
	t.Run("the load's target is not there", func(t *testing.T) {
		config := l.config(func(c map[string]any) { c["load"].(map[string]any)["url"] = "http://10.0.0.11:31999/" })
		expect(t, checked(t, 1, l.args(config)...), checkMissing, "target")
	})
	t.Run("no bastion", func(t *testing.T) {
		config := l.config(func(c map[string]any) { c["bastion"] = "mdxuser@" + refusing(t) })
		rows := checked(t, 1, l.args(config)...)
		expect(t, rows, checkSkipped, "API server", "machines", "target")
	})
	t.Run("a machine is off, and lightsout has switched it off", func(t *testing.T) {
		if out, errs, code := run(t, nil, l.args(same, "power", "shutdown", "kube-node3", "--yes")...); code != 0 {
			t.Fatalf("exit %d\n%s%s", code, out, errs)
		}
		rows := checked(t, 1, l.args(same)...)
		expect(t, rows, checkMissing, "kube-node3 ssh", "left off")
		expect(t, rows, checkSkipped, "kube-node3 sudo", "kube-node3 clock")
		expect(t, rows, checkWorks, "kube-node3 on", "kube-node4 ssh")
	})
	t.Run("no API server", func(t *testing.T) {
		l.post("/components/kube-apiserver/kill")
		rows := checked(t, 1, l.args(same)...)
		expect(t, rows, checkMissing, "API server")
		expect(t, rows, checkWorks, bastion, "target")
	})
}

// bastion is the lab's as check names it.
func (r labReady) bastion(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(r.Config)
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Bastion string `json:"bastion"`
	}
	if err := yaml.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	return c.Bastion
}

// adminAPI asks the lab's API server as its administrator.
type adminAPI struct {
	t      *testing.T
	client *http.Client
	host   string
}

// way is a client to the lab's bastion.
func (l *testLab) way(t *testing.T) *ssh.Client {
	t.Helper()
	b, err := os.ReadFile(l.ready.Config)
	if err != nil {
		t.Fatal(err)
	}
	lab, err := config.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	way, err := ssh.New(ssh.Options{Bastion: lab.Bastion, ConfigFile: lab.SSH.Config, IdentityFiles: lab.SSH.IdentityFiles, KnownHosts: lab.SSH.KnownHosts, AgentSocket: "none"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { way.Close() })
	return way
}

func (l *testLab) admin(t *testing.T) *adminAPI {
	t.Helper()
	raw, err := clientcmd.LoadFromFile(l.ready.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := clientcmd.NewDefaultClientConfig(*raw, nil).ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Dial = l.way(t).DialContext
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return &adminAPI{t, client, cfg.Host}
}

// do sends one request, which may meet what is there already.
func (a *adminAPI) do(method, path string, object any) {
	a.t.Helper()
	body, err := json.Marshal(object)
	if err != nil {
		a.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, a.host+path, bytes.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := a.client.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode/100 != 2 && resp.StatusCode != http.StatusConflict {
		a.t.Fatalf("%s %s: %s", method, path, resp.Status)
	}
}

// applyRoles creates the shipped ClusterRoles, binds some of them to a user
// that is new, and gives a kubeconfig for that user.
func (l *testLab) applyRoles(t *testing.T, user string, roles ...string) (kubeconfig string) {
	t.Helper()
	const rbac = "/apis/rbac.authorization.k8s.io/v1/"
	api := l.admin(t)
	for _, role := range shippedRoles(t) {
		api.do(http.MethodPost, rbac+"clusterroles", role)
	}
	for _, role := range roles {
		api.do(http.MethodPost, rbac+"clusterrolebindings", map[string]any{
			"metadata": map[string]any{"name": user + "-" + role},
			"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
			"subjects": []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}},
		})
	}
	raw, err := clientcmd.LoadFromFile(l.ready.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range raw.AuthInfos {
		u.Impersonate, u.ImpersonateGroups = user, []string{"system:authenticated"}
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*raw, path); err != nil {
		t.Fatal(err)
	}
	return path
}

type shippedRole struct {
	Kind     string         `json:"kind"`
	Metadata map[string]any `json:"metadata"`
	Rules    []struct {
		APIGroups []string `json:"apiGroups"`
		Resources []string `json:"resources"`
		Verbs     []string `json:"verbs"`
	} `json:"rules"`
}

func shippedRoles(t *testing.T) []shippedRole {
	t.Helper()
	b, err := os.ReadFile("docs/clusterrole.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out []shippedRole
	for _, doc := range strings.Split(string(b), "\n---\n") {
		var r shippedRole
		if err := yaml.Unmarshal([]byte(doc), &r); err != nil {
			t.Fatal(err)
		}
		if r.Kind == "ClusterRole" {
			out = append(out, r)
		}
	}
	return out
}

// TestTheShippedRolesGiveWhatIsNeededAndNoMore compares docs/clusterrole.yaml
// with what check asks for.
func TestTheShippedRolesGiveWhatIsNeededAndNoMore(t *testing.T) {
	needed := map[string][]string{}
	for _, n := range needs(nil, false) {
		for _, r := range n.rights {
			if s := r.String(); !slices.Contains(needed[n.role], s) {
				needed[n.role] = append(needed[n.role], s)
			}
		}
	}
	needed["lightsout-nodes"] = []string{"list nodes", "watch nodes"}
	given := map[string][]string{}
	for _, role := range shippedRoles(t) {
		name := role.Metadata["name"].(string)
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						resource, sub, _ := strings.Cut(resource, "/")
						given[name] = append(given[name], cluster.Right{Group: group, Resource: resource, Subresource: sub, Verb: verb}.String())
					}
				}
			}
		}
	}
	for _, m := range []map[string][]string{needed, given} {
		for _, rights := range m {
			slices.Sort(rights)
		}
	}
	if !reflect.DeepEqual(given, needed) {
		t.Errorf("given  %v\nneeded %v", given, needed)
	}
}

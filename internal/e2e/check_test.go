package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lightsout/internal/labtest"
	"lightsout/internal/testenv"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// Results of a check.
const (
	works   = "works"
	missing = "missing"
	skipped = "skipped"
	note    = "note"
)

// checkRow is a row of what check prints as JSON.
type checkRow struct {
	Area, Node, What, Result, Detail, Todo string
}

// checked runs check and gives its rows by "node what".
func checked(t *testing.T, wantCode int, args ...string) map[string]checkRow {
	t.Helper()
	out, errs, code := run(t, nil, append([]string{"check", "-o", "json"}, args...)...)
	var report struct{ Rows []checkRow }
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
		if r.Result == missing && r.Todo == "" {
			t.Errorf("nothing is said to do about %+v", r)
		}
	}
	return rows
}

// expect wants one result for each of the rows.
func expect(t *testing.T, rows map[string]checkRow, want string, keys ...string) {
	t.Helper()
	for _, k := range keys {
		if r, ok := rows[k]; !ok || r.Result != want {
			t.Errorf("%s: %+v, want %s", k, r, want)
		}
	}
}

var (
	rightsToSee = []string{"see nodes", "see heartbeats", "see pods", "see deployments", "see endpoints", "see events",
		"see the control plane's settings"}
	rightsToAsk = []string{"query pods", "query kubelets"}
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

func TestCheckReportsTheTruth(t *testing.T) {
	testenv.Long(t, 20)
	t.Parallel()
	l := labtest.Lease(t, "mdx")
	state := t.TempDir()
	same := l.ConfigWith(func(c map[string]any) { c["state"] = state })
	around := []string{"bastion", "API server", "kubeconfig", "target", "API key", "folder", "left off"}
	bastion := l.Settings().Bastion
	around[0] = bastion

	t.Run("the operator", func(t *testing.T) {
		rows := checked(t, 0, args(l, same)...)
		expect(t, rows, works, slices.Concat(around, rightsToSee, rightsToAsk, rightsToAct, forEach("ssh", "sudo", "clock", "on"), []string{"clock of " + bastion})...)
		expect(t, rows, note, forEach("graceful shutdown")...)
		if _, ok := rows["kube-cp1 ssh"]; ok {
			t.Error("the control plane is never switched, and was logged in to")
		}
		if entries, err := os.ReadDir(state); err != nil || len(entries) != 0 {
			t.Errorf("check has written %v, %v", entries, err)
		}
		out, _, code := run(t, nil, args(l, same, "check", "kube-node3")...)
		if code != 0 || !strings.Contains(out, "nothing is missing") || !strings.Contains(out, "works  ssh, sudo, clock, on") || strings.Contains(out, "kube-node4") {
			t.Errorf("exit %d\n%s", code, out)
		}
	})
	t.Run("a viewer", func(t *testing.T) {
		rows := checked(t, 1, args(l, same, "--context", "lab-mdx-viewer")...)
		expect(t, rows, works, slices.Concat(rightsToSee, rightsToAsk, forEach("ssh", "sudo", "on"))...)
		expect(t, rows, missing, rightsToAct...)
		rows = checked(t, 0, args(l, same, "--context", "lab-mdx-viewer", "--read-only")...)
		expect(t, rows, skipped, "machines", "restart, cordon, drain")
		if _, ok := rows["kube-node3 ssh"]; ok {
			t.Error("with --read-only a machine was logged in to")
		}
	})
	t.Run("nobody", func(t *testing.T) {
		rows := checked(t, 1, args(l, same, "--context", "lab-mdx-nobody")...)
		expect(t, rows, missing, slices.Concat(rightsToSee, rightsToAsk, rightsToAct)...)
		expect(t, rows, works, "API server", bastion, "target")
		expect(t, rows, skipped, "machines")
	})
	t.Run("who has just the roles that are shipped", func(t *testing.T) {
		kubeconfig := applyRoles(t, l, "fresh", "lightsout-view", "lightsout-measure", "lightsout-act")
		rows := checked(t, 0, "--config", same, "--kubeconfig", kubeconfig)
		expect(t, rows, works, slices.Concat(rightsToSee, rightsToAsk, rightsToAct)...)
		kubeconfig = applyRoles(t, l, "shy", "lightsout-view")
		rows = checked(t, 1, "--config", same, "--kubeconfig", kubeconfig)
		expect(t, rows, works, rightsToSee...)
		expect(t, rows, missing, slices.Concat(rightsToAsk, rightsToAct)...)
		expect(t, rows, skipped, forEach("graceful shutdown")...)
		out, errs, code := run(t, nil, "--config", same, "--kubeconfig", kubeconfig, "power", "status")
		if code != 0 || strings.Count(out, "Ready") < 5 {
			t.Errorf("power status as a viewer by the shipped role: exit %d\n%s%s", code, out, errs)
		}
	})
	t.Run("sudo wants a password", func(t *testing.T) {
		l.Fault(map[string]any{"target": "sudo", "vm": "kube-node3", "word": "sudo: a password is required"})
		defer l.ClearFaults()
		rows := checked(t, 1, args(l, same)...)
		expect(t, rows, missing, "kube-node3 sudo")
		expect(t, rows, works, "kube-node3 ssh", "kube-node4 sudo")
		if todo := rows["kube-node3 sudo"].Todo; !strings.Contains(todo, "NOPASSWD") {
			t.Errorf("to do: %q", todo)
		}
	})
	t.Run("a wrong token", func(t *testing.T) {
		config := l.ConfigWith(func(c map[string]any) {
			c["power"].(map[string]any)["mdx"].(map[string]any)["token_file"] = write(t, "token", "wrong")
		})
		rows := checked(t, 1, args(l, config)...)
		expect(t, rows, missing, forEach("on")...)
		expect(t, rows, works, forEach("ssh", "sudo")...)
	})
	t.Run("nothing is configured", func(t *testing.T) {
		config := l.ConfigWith(func(c map[string]any) { delete(c, "power"); delete(c, "load") })
		rows := checked(t, 1, args(l, config)...)
		expect(t, rows, missing, "drivers")
		expect(t, rows, skipped, "target")
	})
	t.Run("the load's target is not there", func(t *testing.T) {
		config := l.ConfigWith(func(c map[string]any) { c["load"].(map[string]any)["url"] = "http://10.0.0.11:31999/" })
		expect(t, checked(t, 1, args(l, config)...), missing, "target")
	})
	t.Run("no bastion", func(t *testing.T) {
		config := l.ConfigWith(func(c map[string]any) { c["bastion"] = "mdxuser@" + testenv.Refusing(t) })
		rows := checked(t, 1, args(l, config)...)
		expect(t, rows, skipped, "all else")
	})
	t.Run("a machine is off, and lightsout has switched it off", func(t *testing.T) {
		if out, errs, code := run(t, nil, args(l, same, "power", "shutdown", "kube-node3", "--yes")...); code != 0 {
			t.Fatalf("exit %d\n%s%s", code, out, errs)
		}
		rows := checked(t, 1, args(l, same)...)
		expect(t, rows, missing, "kube-node3 ssh", "left off")
		expect(t, rows, skipped, "kube-node3 sudo", "kube-node3 clock")
		expect(t, rows, works, "kube-node3 on", "kube-node4 ssh")
	})
	t.Run("no API server", func(t *testing.T) {
		rows := checked(t, 1, "--config", same, "--kubeconfig", deadCopy(t, l.Kubeconfig()))
		expect(t, rows, missing, "API server")
		expect(t, rows, works, bastion, "target")
	})
}

// applyRoles creates the shipped ClusterRoles, binds some of them to a user
// that is new, and gives a kubeconfig for that user.
func applyRoles(t *testing.T, l *labtest.Lab, user string, roles ...string) (kubeconfig string) {
	t.Helper()
	const rbac = "/apis/rbac.authorization.k8s.io/v1/"
	shipped, err := os.ReadFile(filepath.Join(labtest.Root(t), "docs", "clusterrole.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	api := l.API()
	for _, doc := range strings.Split(string(shipped), "\n---\n") {
		var role map[string]any
		if err := yaml.Unmarshal([]byte(doc), &role); err != nil {
			t.Fatal(err)
		}
		if role["kind"] == "ClusterRole" {
			api.Do(http.MethodPost, rbac+"clusterroles", role, nil)
		}
	}
	for _, role := range roles {
		api.Do(http.MethodPost, rbac+"clusterrolebindings", map[string]any{
			"metadata": map[string]any{"name": user + "-" + role},
			"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
			"subjects": []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}},
		}, nil)
	}
	raw, err := clientcmd.LoadFromFile(l.Kubeconfig())
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

// TestCheckTellsWhatTheRecorderNeeds checks with rights and hooks, and without.
func TestCheckTellsWhatTheRecorderNeeds(t *testing.T) {
	testenv.Long(t, 20)
	t.Parallel()
	l := labtest.Lease(t, "vagrant")
	mayWatch(t, l)
	asked := make(chan string, 10)
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.Method + " " + r.URL.Path }))
	t.Cleanup(web.Close)
	config := func(recorder map[string]any, account string) string {
		return l.ConfigWith(func(c map[string]any) {
			c["context"], c["recorder"] = c["context"].(string)+account, recorder
		})
	}
	good := config(map[string]any{"command": []string{"/bin/true"}, "webhook": map[string]any{"url_file": write(t, "url", web.URL+"/s3cret\n")}}, "-nobody")
	rows := checked(t, 0, args(l, good, "--recorder")...)
	expect(t, rows, works, "see heartbeats", "forecast where pods go", "target", "folder", "command", "webhook")
	if r, ok := rows["query pods"]; ok {
		t.Errorf("the recorder does without it: %+v", r)
	}
	if got := <-asked; got != "HEAD /" || len(asked) > 0 {
		t.Errorf("the webhook's host got %q and %d more", got, len(asked))
	}
	shared := config(map[string]any{"lease": "default/lightsout-recorder"}, "-nobody")
	expect(t, checked(t, 1, args(l, shared, "--recorder")...), missing, "use the recorders' lease")
	mayWatch(t, l, "lightsout-recorder-lease")
	expect(t, checked(t, 0, args(l, shared, "--recorder")...), works, "use the recorders' lease")
	web.Close()
	bad := config(map[string]any{"url": "http://10.0.0.10:9/", "command": []string{"/no/such"}, "webhook": map[string]any{"url_file": write(t, "url", web.URL+"/s3cret\n")}}, "-nobody")
	rows = checked(t, 1, args(l, bad, "--recorder")...)
	expect(t, rows, missing, "target", "command", "webhook")
	for _, r := range rows {
		if strings.Contains(r.Detail, "s3cret") {
			t.Errorf("%+v", r)
		}
	}
}

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/record/examples"
	"lightsout/internal/testenv"
)

// TestNothingHostileLeaves plants escape sequences, marks that turn text around,
// combining characters and texts of 10,000 characters in every source at once,
// and looks at every byte that leaves.
func TestNothingHostileLeaves(t *testing.T) {
	testenv.Long(t, 60)
	t.Parallel()
	api, portal := hostileAPI(t), hostilePortal(t)
	args := hostileSetting(t, hostile, api.URL, portal.URL)
	look := func(command ...string) (all string) {
		t.Helper()
		out, errs, _ := run(t, nil, append(command, args...)...)
		by := command[0]
		if out+errs == "" {
			t.Errorf("%s says nothing", by)
		}
		lookAt(t, by, out)
		lookAt(t, by+" (standard error)", errs)
		return out + errs
	}
	look("power", "status") // no context of such a name is taken
	args = hostileSetting(t, "planted", api.URL, portal.URL)
	// What is looked at does come from what was planted.
	for command, want := range map[string]string{"power status": "planted", "check n1": "planted"} {
		if said := look(strings.Fields(command)...); !strings.Contains(said, want) {
			t.Errorf("%s has nothing of what was planted:\n%s", command, said)
		}
	}
	look("power", "shutdown", strings.ReplaceAll(hostile, "\x00", ""), "--yes") // no argument holds a NUL
	look("power", "off", "n1", "--yes")
	look("restore", "--yes")

	dir := filepath.Join(t.TempDir(), "record")
	named, _ := json.Marshal(strings.ReplaceAll(hostile, "\x00", ""))
	plan := write(t, "plan.yaml", `{"name": `+string(named)+`, "steps": [{"pause": "1s"}]}`)
	look("trial", "run", plan, "--yes", "--record", dir) // no plan of such a name is taken
	plan = write(t, "plan.yaml", `{"name": "planted", "steps": [{"load": {"burst": 2}, "name": "planted-\u202e"}, {"step\u001b[31;7;5m": ["n1"]}]}`)
	look("trial", "run", plan, "--yes", "--record", dir)
	plan = write(t, "plan.yaml", `{"name": "planted", "steps": [{"load": {"burst": 2}}, {"off": ["n1"]}, {"pause": "1s"}], "expect": [{"balanced": true}]}`)
	look("trial", "run", plan, "--yes", "--record", dir) // refused at the start

	example, _ := examples.Open("mdx")
	if err := os.CopyFS(dir, example); err != nil {
		t.Fatal(err)
	}
	planted := plantInRecord(t, dir)
	svg := filepath.Join(t.TempDir(), "x.svg")
	for _, command := range [][]string{
		{"replay", "--plain", planted}, {"export", planted, svg}, {"trial", "compare", dir, planted},
	} {
		out, errs, _ := run(t, nil, command...)
		lookAt(t, command[0], out+errs)
	}
	if b, err := os.ReadFile(svg); err != nil {
		t.Error(err)
	} else {
		lookAt(t, "SVG", string(b))
	}

	_, x := startSlowly(t, "replay", planted)
	x.typeAround("[]", "6", "5")
	lookAt(t, "the screen of a replay", x.written())
	cmd, x := startSlowly(t, args...)
	x.waitFor("planted")
	x.typeAround("4b", "1d", "2d", "3d", "5d", "M", ":", "?", "T", "s", "o", "S", "r", "t")
	x.keys.WriteString("\x03\x03")
	_ = cmd.Wait()
	lookAt(t, "the screen", x.written())
}

// typeAround types keys, each group on its own, with what is open closed before.
func (x *slowReader) typeAround(groups ...string) {
	for _, keys := range groups {
		x.keys.WriteString("\x1b")
		time.Sleep(150 * time.Millisecond) // an escape alone
		for _, k := range keys {
			x.keys.WriteString(string(k))
			time.Sleep(150 * time.Millisecond)
		}
		time.Sleep(300 * time.Millisecond)
	}
}

// hostileSetting is the flags that lead to the servers.
func hostileSetting(t *testing.T, context, api, portal string) []string {
	t.Helper()
	address, known := hostileSSH(t)
	_, port, _ := strings.Cut(address, ":")
	asJSON := func(name string, v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var ascii strings.Builder // YAML takes such characters by their escapes only
		for _, r := range string(b) {
			if r < 0x7f {
				ascii.WriteRune(r)
			} else {
				fmt.Fprintf(&ascii, `\u%04x`, r)
			}
		}
		return write(t, name, ascii.String())
	}
	type m = map[string]any
	config := asJSON("lightsout.yaml", m{
		"state": t.TempDir(),
		"ssh": m{"user": "u", "config": write(t, "ssh_config", "Host 127.0.0.1\n  Port "+port+"\n"), "known_hosts": []string{write(t, "known_hosts", known)},
			"identity_files": []string{newKey(t)}},
		"power": m{"off_by": "ssh", "on_by": "mdx", "mdx": m{"url": portal, "project": "p", "token_file": write(t, "token", "a.token.of-ours")},
			"nodes": m{"n1": m{"address": "127.0.0.1", "machine": "u1"}}},
		"load": m{"url": portal + "/page", "deployment": "default/web", "burst": 2, "metrics": m{"server": "ranker", "port": 9090, "path": "metrics", "served": "requests_processing"}},
	})
	kubeconfig := asJSON("kubeconfig", m{
		"apiVersion": "v1", "kind": "Config", "current-context": context,
		"clusters": []any{m{"name": hostile, "cluster": m{"server": api}}}, "users": []any{m{"name": hostile, "user": m{}}},
		"contexts": []any{m{"name": context, "context": m{"cluster": hostile, "user": hostile}}},
	})
	return []string{"--config", config, "--kubeconfig", kubeconfig}
}

// plantInRecord copies a record and makes all texts of its events hostile.
func plantInRecord(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "planted")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{record.EventsFile, record.SummaryFile, record.SamplesFile} {
		b, err := os.ReadFile(filepath.Join(to, name))
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for line := range strings.Lines(string(b)) {
			var v any
			if name != record.SummaryFile && json.Unmarshal([]byte(line), &v) == nil {
				one, _ := json.Marshal(plantIn(v, ""))
				line = string(one) + "\n"
			}
			out.WriteString(line)
		}
		text := out.String()
		if name == record.SummaryFile {
			var v any
			if err := json.Unmarshal(b, &v); err != nil {
				t.Fatal(err)
			}
			one, _ := json.Marshal(plantIn(v, ""))
			text = string(one)
		}
		if err := os.WriteFile(filepath.Join(to, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// plantIn replaces the texts for people in what was read from JSON.
func plantIn(v any, key string) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = plantIn(v[k], strings.ToLower(k))
		}
	case []any:
		for i := range v {
			v[i] = plantIn(v[i], key)
		}
	case string:
		for _, k := range []string{"text", "subject", "why", "name", "message", "reason", "detail", "cluster", "url", "error", "status", "source"} {
			if key == k {
				return hostile
			}
		}
	}
	return v
}

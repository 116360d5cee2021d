package cluster

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"lightsout/internal/testenv"
)

// pluginConfig reads a kubeconfig for f whose credentials a script prints. The script's
// folder is dir, and each run adds a line to the file runs in it.
func pluginConfig(t *testing.T, f *fakeAPI, mode, script string) (cfg *Config, dir string) {
	t.Helper()
	dir = t.TempDir()
	path := filepath.Join(dir, "plugin")
	testenv.Script(t, path, "#!/bin/sh\ncd "+dir+"; echo run >> runs\n"+script)
	text, err := os.ReadFile(f.kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	exec := fmt.Sprintf("{exec: {apiVersion: client.authentication.k8s.io/v1, command: %s, interactiveMode: %s}}", path, mode)
	cfg, err = LoadConfig(Options{Path: write(t, strings.Replace(string(text), "{token: secret-token-value}", exec, 1))})
	if err != nil {
		t.Fatal(err)
	}
	return cfg, dir
}

func runs(t *testing.T, dir string) int {
	text, err := os.ReadFile(filepath.Join(dir, "runs"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(text), "run")
}

// A plugin that fails may open a browser or ask a server each time.
func TestAFailingCredentialPluginRests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		want   string
	}{
		"fails":   {"exit 3", "plugin failed; run kubectl once to log in, or start lightsout again ("},
		"rubbish": {"echo hello", "the kubeconfig's credential plugin failed; run kubectl once"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, dir := pluginConfig(t, newFakeAPI(t), "Never", c.script)
			now := time.Now()
			cfg.plugin.now = func() time.Time { return now }
			api, err := NewClient(cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer api.Close()
			for i, pause := range []time.Duration{5, 10, 20, 40, 60, 60} {
				for range 3 {
					if _, err := api.Identity(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), cfg.plugin.self) {
						t.Fatalf("%v", err)
					}
				}
				if n := runs(t, dir); n != i+1 {
					t.Fatalf("%d runs, want %d", n, i+1)
				}
				now = now.Add(pause * time.Second)
			}
		})
	}
}

// A plugin without the terminal can neither draw on it nor read from it, and knows it.
func TestACredentialPluginHasNoTerminal(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"Never", "IfAvailable"} {
		f := newFakeAPI(t)
		cfg, dir := pluginConfig(t, f, mode, `
ps -o sid= -p $$ > sid; echo $$ >> sid
(: < /dev/tty) 2> tty && echo opened >> tty
cat > stdin; echo "$KUBERNETES_EXEC_INFO" > info
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"secret-token-value"}}'`)
		api, err := NewClient(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer api.Close()
		for range 3 {
			if _, err := api.Identity(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "it has no namespace kube-system") {
				t.Fatalf("%s: %v", mode, err)
			}
		}
		read := func(name string) string {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		if sid := strings.Fields(read("sid")); len(sid) != 2 || sid[0] != sid[1] {
			t.Errorf("%s: its session and process are %v", mode, sid)
		}
		if tty := read("tty"); strings.Contains(tty, "opened") || read("stdin") != "" || !strings.Contains(read("info"), `"interactive":false`) || runs(t, dir) != 1 {
			t.Errorf("%s: tty %q, stdin %q, info %q, %d runs", mode, tty, read("stdin"), read("info"), runs(t, dir))
		}
	}
}

// A plugin that hangs would outlive each program that gave up waiting for it, and hold its
// standard error.
func TestACredentialPluginEndsWithTheProgram(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can do it")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	parent := exec.Command("sh", "-c", `"$0" `+PluginArg+` sh -c 'echo ready; exec sleep 300' & wait`, self)
	parent.Stdout = w
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	_ = r.SetReadDeadline(time.Now().Add(time.Minute))
	line := make([]byte, 6)
	if _, err := io.ReadFull(r, line); err != nil {
		t.Fatal(err)
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("the plugin still runs: %q, %v", rest, err)
	}
}

package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"lightsout/internal/labtest"
	"lightsout/internal/testenv"
)

func TestBadInputGetsOneClearSentence(t *testing.T) {
	t.Parallel()
	good := kubeconfig(t, "https://"+testenv.Refusing(t))
	for name, tc := range map[string]struct {
		args []string
		code int
		want []string
	}{
		"no kubeconfig":       {[]string{"power", "status"}, 1, []string{"kubeconfig"}},
		"missing kubeconfig":  {[]string{"--kubeconfig", "/nonexistent/config"}, 1, []string{"/nonexistent/config"}},
		"broken kubeconfig":   {[]string{"--kubeconfig", write(t, "kc", "clusters: [\n")}, 1, []string{"line"}},
		"unknown context":     {[]string{"--kubeconfig", good, "--context", "nope"}, 1, []string{"nope", "test"}},
		"API refused":         {[]string{"--kubeconfig", good, "power", "status", "--wait-for-api", "1s"}, 1, []string{"refuses", "waiting for it, 1s at most"}},
		"unreachable bastion": {[]string{"--kubeconfig", good, "--bastion", "me@" + testenv.Refusing(t), "power", "status", "--wait-for-api", "1s"}, 1, []string{"bastion", "refuse"}},
		"unknown field":       {[]string{"--config", write(t, "c.yaml", "context: a\nbastoin: b\n")}, 2, []string{"line 2", "bastoin"}},
		"missing config":      {[]string{"--config", "/nonexistent.yaml"}, 2, []string{"/nonexistent.yaml"}},
		"unknown flag":        {[]string{"--nope"}, 2, []string{"--nope"}},
		"unknown command":     {[]string{"explode"}, 2, []string{"explode"}},
		"no node named":       {[]string{"power", "on"}, 2, []string{"which node? lightsout power on NODE..."}},
		"bad scenario":        {[]string{"demo", "moon"}, 2, []string{"moon"}},
		"bad pace":            {[]string{"demo", "--pace", "slow"}, 2, []string{"slow"}},
		"bad colour":          {[]string{"--color", "purple"}, 2, []string{"purple"}},
		"public token file":   {[]string{"--kubeconfig", good, "--config", loadWithPublicKey(t)}, 1, []string{"chmod 600"}},
		"load is not needed":  {[]string{"--kubeconfig", good, "--config", loadWithPublicKey(t), "power", "on", "n1"}, 1, []string{"power.off_by"}},
		"no way to switch":    {[]string{"--kubeconfig", good, "power", "on", "n1"}, 1, []string{"power.off_by"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, code := run(t, nil, tc.args...)
			if code != tc.code {
				t.Errorf("exit code %d, wanted %d", code, tc.code)
			}
			for _, w := range tc.want {
				if !strings.Contains(stderr, w) {
					t.Errorf("said %q, which lacks %q", stderr, w)
				}
			}
			last := strings.Split(strings.TrimSpace(stderr), "\n")
			if len(last) == 0 || !strings.HasPrefix(last[len(last)-1], "lightsout: ") {
				t.Errorf("the last line is no sentence of ours: %q", stderr)
			}
			for _, bad := range []string{"goroutine ", "panic:", "s3cret-token", "main.go:"} {
				if strings.Contains(stdout+stderr, bad) {
					t.Errorf("printed %q: %s%s", bad, stdout, stderr)
				}
			}
		})
	}
}

func loadWithPublicKey(t *testing.T) string {
	t.Helper()
	key := write(t, "key", "hunter2")
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	return write(t, "c.yaml", "load: {url: \"http://127.0.0.1:1/\", api_key_file: "+key+"}\n")
}

func TestVersionAndCompletion(t *testing.T) {
	t.Parallel()
	if out, _, code := run(t, nil, "--version"); code != 0 || !strings.Contains(out, "lightsout version") {
		t.Errorf("version: %d %q", code, out)
	}
	if out, _, code := run(t, nil, "completion", "bash"); code != 0 || !strings.Contains(out, "__start_lightsout") {
		t.Errorf("completion: %d, %d bytes", code, len(out))
	}
}

func TestAFlagForTheDrawnScreenIsRefusedWithoutOne(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"demo mdx --play --plain": `--play needs the drawn screen`, "--plain --cast x.cast": `--cast records the drawn screen`,
	} {
		t.Run(words, func(t *testing.T) {
			x := openTerminal(t, 120, 12, []string{"HOME=" + t.TempDir()}, labtest.Program(t, "lightsout")+" "+words+"; echo exit $?; exec sleep 600")
			x.waitFor("what is wrong", time.Minute, want, `exit 2`)
		})
	}
}

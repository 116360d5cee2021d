package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"lightsout/cluster"
	"lightsout/internal/survey"
)

// say runs a command line and gives what it prints and its error.
func say(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := Command("test")
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(io.Discard)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// oneCluster is a kubeconfig with two contexts, and an API server with two nodes
// behind the current one.
func oneCluster(t *testing.T) string {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"kube-node1"}},{"metadata":{"name":"kube-node2"}}]}`)
	}))
	t.Cleanup(api.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: one, clusters: [{name: c, cluster: {server: "%s"}}], users: [{name: u, user: {token: t}}],
contexts: [{name: one, context: {cluster: c, user: u}}, {name: two, context: {cluster: c, user: u}}]}`, api.URL)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheShellCompletesWhatThereIs(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("XDG_STATE_HOME", dir)
	trial := filepath.Join(dir, "lightsout", "one", "trials", "20261121T061013Z")
	if err := os.MkdirAll(trial, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mine.yaml", "screen.cast"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kubeconfig := oneCluster(t)
	for line, want := range map[string]string{
		"power off --kubeconfig K ":              "kube-node1 kube-node2",
		"--kubeconfig K power off ":              "kube-node1 kube-node2",
		"power on --kubeconfig K kube-node1 ":    "kube-node2",
		"power status --kubeconfig /nowhere ":    "",
		"check --kubeconfig K ":                  "kube-node1 kube-node2",
		"check --kubeconfig K --context ":        "one two",
		"trial run ":                             "mdx vagrant mine.yaml",
		"trial check v":                          "mdx vagrant", // the shell chooses
		"trial run mdx --scenario ":              "mdx mixed vagrant",
		"trial compare ":                         "mdx vagrant " + trial,
		"replay v":                               "mdx vagrant " + trial,
		"export ":                                "mdx vagrant " + trial,
		"demo v":                                 "vagrant",
		"demo --pace ":                           "fast real",
		"--theme ":                               "dark light contrast",
		"--plan mi":                              "mdx vagrant mine.yaml",
		"po":                                     "power",
		"power shutdown --kubeconfig K --dra":    "--drain",
		"load http://10.0.0.1/ --connections ":   "fresh kept",
		"restore --kubeconfig K --context t":     "one two", // the shell chooses
		"power off --kubeconfig K --namespace a": "",
	} {
		words := strings.Split(line, " ")
		for i, w := range words {
			if w == "K" {
				words[i] = kubeconfig
			}
		}
		out, err := say(t, append([]string{cobra.ShellCompNoDescRequestCmd}, words...)...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if got := strings.Join(lines[:len(lines)-1], " "); err != nil || got != want {
			t.Errorf("%q completes %q, not %q: %v", line, got, want, err)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if out, err := say(t, "completion", shell); err != nil || !strings.Contains(out, "__complete") {
			t.Errorf("%s: %v", shell, err)
		}
	}
}

func TestAWrongCommandLineGetsASuggestion(t *testing.T) {
	var snapshot bytes.Buffer
	_ = survey.Save(&snapshot, cluster.NewSnapshot(cluster.Contents{Nodes: []*cluster.Node{{Name: "node-a1"}}}), false)
	file := filepath.Join(t.TempDir(), "snapshot.json")
	if err := os.WriteFile(file, snapshot.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"trail run mdx --lab":                      `there is no command "lightsout trail"; did you mean "trial"?`,
		"power of kube-node1":                      `there is no command "lightsout power of"; did you mean "off"?`,
		"load http://x/ --bogus":                   `unknown flag: --bogus; see: lightsout load --help`,
		"--context x --read-only power shutdown n": "unknown flag: --read-only; see: lightsout power shutdown --help", // and not --context
		"--config x power nonsense":                `there is no command "lightsout power nonsense"; there are off, on, shutdown, status`,
		"--context x --dry-run power shutdown":     "which node? lightsout power shutdown NODE...",
		"--dry-run trial run":                      "which plan (mdx, vagrant or a file)? lightsout trial run PLAN",
		"power nonsense":                           `there is no command "lightsout power nonsense"; there are off, on, shutdown, status`,
		"power off":                                "which node? lightsout power off NODE...",
		"trial run":                                "which plan (mdx, vagrant or a file)? lightsout trial run PLAN",
		"trial run a b":                            `unexpected argument "b": lightsout trial run PLAN`,
		"load http://x/ --for soon":                `invalid argument "soon" for "--for" flag: time: invalid duration "soon"; see: lightsout load --help`,
		"recorder --every -1s":                     "--every -1s: give a time above 0",
		"recorder --steady -5m":                    "--steady -5m0s: give a time above 0",
		"recorder --url ingress:80":                "--url ingress:80 is not a URL; give one like http://10.0.0.11:31080/path",
		"demo foo":                                 `there is no demo "foo"; there are mdx, mixed, vagrant`,
		"demo mixed --play":                        "--play has no experiment for mixed; there are mdx and vagrant",
		"demo vagrnat":                             `there is no demo "vagrnat"; did you mean "vagrant"?`,
		"demo --pace fst":                          `there is no --pace "fst"; did you mean "fast"?`,
		"survey --require n-3":                     `there is no --require "n-3", only n-1, n-2 and zone; for certain nodes together: lightsout survey NODE NODE NODE`,
		"survey node-a1 node-a9 --from " + file:    `the cluster has no node "node-a9"; did you mean "node-a1"? (if the cluster deleted it while its machine was off, lightsout restore --dry-run lists the machine)`,
		"survey a b --pairs":                       "survey NODE has only the loss of these nodes: leave out --pairs, --by and --require",
		"export mdx a.gif --theme x":               `there is no --theme "x"; there are dark, light, contrast`,
		"export":                                   "which recording (a .cast file, a record, mdx or vagrant) and picture? lightsout export RECORD|FILE.cast FILE.gif|FILE.svg|FILE.png",
		"trial run mdx --lab --pace x":             `there is no --pace "x"; there are fast, real`,
	} {
		_, err := say(t, strings.Fields(line)...)
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, not %s", line, err, want)
		} else if !isUsage(err) {
			t.Errorf("%s: not a usage error", line)
		}
	}
}

func isUsage(err error) bool {
	_, ok := err.(usageError)
	return ok
}

// Every command says what it does, with an example, and its page can be written.
func TestEveryCommandHasAnExample(t *testing.T) {
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		below := slices.DeleteFunc(cmd.Commands(), func(c *cobra.Command) bool {
			return c.Name() == "completion" || c.Name() == "help" || c.IsAdditionalHelpTopicCommand()
		})
		if cmd.Short == "" || cmd.Example == "" && len(below) == 0 {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		for _, c := range below {
			look(c)
		}
	}
	look(Command("test"))
}

// TAB in another person's folder runs none of the programs in the lightsout.yaml there.
func TestCompletionRunsNothingOfTheFolder(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("KUBECONFIG", filepath.Join(dir, "none"))
	kubeconfig := `{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}], contexts: [{name: c, context: {cluster: c, user: u}}],
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: touch, args: [ran]}}}]}`
	for name, text := range map[string]string{"lightsout.yaml": "kubeconfig: theirs\n", "theirs": kubeconfig} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := say(t, "__complete", "power", "off", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("ran"); err == nil {
		t.Error("completion ran the folder's credential plugin")
	}
}

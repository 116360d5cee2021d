package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lightsout/cluster"
	"lightsout/internal/config"
)

// A printed command starts the program that printed it, from any folder.
func TestCommandsStartTheProgramAsItWasStarted(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "lightsout"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	t.Chdir(t.TempDir())
	here, _ := os.Getwd()
	for name, want := range map[string]string{
		"lightsout": "lightsout", filepath.Join(dir, "lightsout"): "lightsout", "bin/lightsout": here + "/bin/lightsout", "a b/lightsout": "'" + here + "/a b/lightsout'",
	} {
		if got := startedAs(name); got != want {
			t.Errorf("started as %s: %s, not %s", name, got, want)
		}
	}
}

// What of the way to the cluster can't be looked up is said, for the guards to
// ask about; it never counts as "not one of these machines".
func TestAnUnknownPartOfTheRouteIsReported(t *testing.T) {
	t.Setenv("NODE_NAME", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for want, access := range map[string]*cluster.Config{
		"set NODE_NAME":                       {Context: "in-cluster", Server: "https://10.0.0.1"},
		"addresses of the API server api.inv": {Context: "x", Server: "https://api.invalid:6443"},
	} {
		info := selfInfo(context.Background(), &config.Config{}, nil, access)
		if len(info.Unknown) != 1 || !strings.Contains(info.Unknown[0], want) {
			t.Errorf("%s: %q", access.Server, info.Unknown)
		}
	}
}

// A pod runs on a node even if it has a kubeconfig of its own.
func TestAPodWithAKubeconfigRunsOnANode(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
	for node, unknown := range map[string]int{"": 1, "kube-node3": 0} {
		t.Setenv("NODE_NAME", node)
		info := selfInfo(t.Context(), &config.Config{}, nil, &cluster.Config{Context: "mine", Server: "https://10.0.0.1"})
		if len(info.Unknown) != unknown || node != "" && !slices.Contains(info.Names, node) {
			t.Errorf("NODE_NAME %q: %+v", node, info)
		}
	}
}

// A lab's pace that was left in the configuration of a cluster does not hide the machine
// that lightsout runs on from the guards.
func TestALabsSettingDoesNotHideThisMachine(t *testing.T) {
	t.Setenv("NODE_NAME", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
	access := &cluster.Config{Context: "site", Server: "https://10.0.0.1"}
	plain := selfInfo(t.Context(), &config.Config{}, nil, access)
	for _, pace := range []string{"real", "fast"} {
		info := selfInfo(t.Context(), &config.Config{Pace: pace}, nil, access)
		if len(info.Unknown) != 1 || !slices.Equal(info.Addresses, plain.Addresses) {
			t.Errorf("pace %s: %+v, without it %+v", pace, info, plain)
		}
	}
}

// Behind a bastion, only the bastion's name service knows which machine a name means.
func TestLightsoutReportsAnAPIServerThatTheBastionCannotFind(t *testing.T) {
	client, err := newSSH(&config.Config{Bastion: "nobody@127.0.0.1:1"}, sshAsker{})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	info := selfInfo(t.Context(), &config.Config{Bastion: "nobody@127.0.0.1:1"}, client, &cluster.Config{Context: "x", Server: "https://localhost:6443"})
	if !slices.ContainsFunc(info.Unknown, func(why string) bool { return strings.Contains(why, "API server localhost") }) {
		t.Errorf("%+v", info)
	}
}

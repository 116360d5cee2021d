package phase

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/power"
	"lightsout/power/ssh"
)

// lab is a running lab, watched through its bastion.
type lab struct {
	*testing.T
	*Tracker
	control string
	watcher *cluster.Watcher

	mu   sync.Mutex
	told []cluster.Transition
}

// openLab starts the lab's own program and ends it with the test.
func openLab(t *testing.T, scenario string) *lab {
	t.Helper()
	program, err := filepath.Abs("../../../bin/lightsout-lab")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		if os.Getenv("LIGHTSOUT_REQUIRE_ALL") != "" {
			t.Fatal(err)
		}
		t.Skip("bin/lightsout-lab is not built: make build")
	}
	cmd := exec.Command(program, "--scenario", scenario, "--pace", "fast", "--stdin-leash", "--quiet")
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
	var info struct{ Config, Kubeconfig, Control string }
	if err := json.Unmarshal(line, &info); err != nil {
		t.Fatal(err)
	}
	l := &lab{T: t, control: info.Control}
	l.watch(info.Config, info.Kubeconfig)
	return l
}

// watch watches the lab's cluster as the program does.
func (l *lab) watch(config, kubeconfig string) {
	l.Helper()
	data, err := os.ReadFile(config)
	if err != nil {
		l.Fatal(err)
	}
	var c struct {
		Bastion string
		SSH     struct {
			Config        string   `json:"config"`
			User          string   `json:"user"`
			IdentityFiles []string `json:"identity_files"`
			KnownHosts    []string `json:"known_hosts"`
		}
	}
	if err := yaml.Unmarshal(data, &c); err != nil {
		l.Fatal(err)
	}
	client, err := ssh.New(ssh.Options{
		Bastion: c.Bastion, ConfigFile: c.SSH.Config, User: c.SSH.User, IdentityFiles: c.SSH.IdentityFiles, KnownHosts: c.SSH.KnownHosts,
		AskSecret:  func(context.Context, ssh.SecretQuestion) (string, error) { return "", errors.New("nobody is here") },
		AskHostKey: func(context.Context, ssh.HostKeyQuestion) (bool, error) { return false, errors.New("nobody is here") },
	})
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { client.Close() })
	access, err := cluster.LoadConfig(cluster.Options{Path: kubeconfig, Dial: client.DialContext})
	if err != nil {
		l.Fatal(err)
	}
	api, err := cluster.NewClient(access)
	if err != nil {
		l.Fatal(err)
	}
	l.watcher = cluster.NewWatcher(api, cluster.WatchOptions{Namespaces: []string{"default"}, Sink: func(t cluster.Transition) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.told = append(l.told, t)
	}})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = l.watcher.Run(ctx) }()
	l.Cleanup(func() { cancel(); <-done })
}

// until tells the Tracker what happens until ok.
func (l *lab) until(what string, ok func(*cluster.Snapshot) bool) {
	l.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	for time.Now().Before(deadline) {
		l.mu.Lock()
		told := l.told
		l.told = nil
		l.mu.Unlock()
		for _, t := range told {
			l.Transition(t)
		}
		s := l.watcher.Snapshot()
		l.Look(s, time.Now())
		if ok(s) {
			return
		}
		select {
		case <-l.watcher.Changed():
		case <-time.After(200 * time.Millisecond):
		}
	}
	s := l.watcher.Snapshot()
	l.Fatalf("not seen: %s (%+v, %+v)\n%s", what, s.Link, s.Settings, table(l.Table()))
}

// post asks the lab's control socket for something done by hand.
func (l *lab) post(path string) {
	l.Helper()
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", l.control)
	}}}
	defer client.CloseIdleConnections()
	resp, err := client.Post("http://lab"+path, "", nil)
	if err != nil {
		l.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		l.Fatalf("%s: %s", path, resp.Status)
	}
}

func table(rows []view.Phase) string {
	out, err := yaml.Marshal(rows)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// A real control plane does what was forecast: plugs are pulled, and nothing of
// what follows is of our making.
func TestARealControlPlaneKeepsToTheForecast(t *testing.T) {
	t.Run("no room elsewhere", func(t *testing.T) {
		l := openLab(t, "mdx")
		l.outage(cluster.Key{Namespace: "default", Name: "llm-jp-31-13b-00001-deployment"}, view.PhaseEvicted, n3, n4)
		for _, p := range l.Table() {
			if p.Name == view.PhaseReplaced && (p.Observed != nil || p.Predicted != nil || p.Note != "replacements will not fit: 8 Pending") {
				t.Errorf("replaced: %+v", p)
			}
		}
	})
	t.Run("room elsewhere", func(t *testing.T) {
		l := openLab(t, "vagrant")
		l.outage(cluster.Key{Namespace: "default", Name: "nginx-webserver"}, view.PhaseReplaced, "k8s2")
		for _, p := range l.Table() {
			if p.Name == view.PhaseReplaced && (p.Inside == nil || !*p.Inside) {
				t.Errorf("replaced: %s", table([]view.Phase{p}))
			}
		}
	})
}

// outage pulls the plugs of nodes, waits for the last of what is to happen, puts
// them in again, and compares everything with its forecast.
func (l *lab) outage(dep cluster.Key, last string, down ...string) {
	l.Helper()
	l.Tracker = NewTracker(dep)
	l.until("everything, with the kubelets' configuration", func(s *cluster.Snapshot) bool {
		d := s.Deployment(dep)
		if len(s.Nodes()) == 0 || d == nil || d.Available < d.Replicas || len(s.PodsOf(dep)) < d.Replicas {
			return false
		}
		for _, n := range s.Nodes() {
			if n.Kubelet == nil || n.RenewSeen.IsZero() {
				return false
			}
		}
		return s.Node(down[0]).ReadyEndpoints > 0
	})
	s := l.watcher.Snapshot()
	if got := s.Settings.LeaseDuration; got != (cluster.Setting[time.Duration]{Value: 4 * time.Second, Source: cluster.KubeletConfigz}) {
		l.Errorf("the leases' duration is %+v", got)
	}
	l.Zero(time.Now(), s)
	for _, n := range down {
		l.Switched(n, power.ActionOff, time.Now())
		l.post("/machines/" + n + "/off")
	}
	seen := func(name string, subjects ...string) func(*cluster.Snapshot) bool {
		return func(*cluster.Snapshot) bool {
			for _, s := range subjects {
				if _, ok := l.Observed(name, s); !ok {
					return false
				}
			}
			return true
		}
	}
	l.until("eviction", seen(view.PhaseEvicted, down...))
	if last == view.PhaseReplaced {
		l.until(last, seen(last, dep.String()))
	}
	for _, n := range down {
		l.Switched(n, power.ActionOn, time.Now())
		l.post("/machines/" + n + "/on")
	}
	l.until("capacity restored", seen(view.PhaseRestored, dep.String()))
	l.Log("\n" + table(l.Table()))
	for _, p := range l.Table() {
		switch p.Name {
		case view.PhaseOff, view.PhaseErrors, view.PhaseReplaced: // nobody looks at machines or sends requests here
		case view.PhaseBooted:
			if p.Observed == nil {
				l.Errorf("%s has not booted", p.Subject)
			}
		default:
			if p.Inside == nil || !*p.Inside {
				l.Errorf("not where it was forecast:\n%s", table([]view.Phase{p}))
			}
		}
	}
}

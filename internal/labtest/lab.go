// Package labtest starts the lab for tests of any package, and gives them its
// control socket, its API server and the route through its bastion. It
// knows the lab by its program alone (bin/lightsout-lab, its ready line, its
// config) and imports nothing else of lightsout, so that every package's tests
// may use it.
package labtest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"lightsout/internal/testenv"

	"golang.org/x/crypto/ssh"
	"sigs.k8s.io/yaml"
)

// Lab is a lab that runs, as one test sees it.
type Lab struct {
	t    testing.TB
	info info
	api  func() *API // asks through one connection
}

// info is the lab's ready line.
type info struct {
	Config     string `json:"config"`
	Kubeconfig string `json:"kubeconfig"`
	Control    string `json:"control"`
}

// Settings are those of the lab's config that lead to its machines.
type Settings struct {
	Bastion string `json:"bastion"`
	SSH     struct {
		Config        string   `json:"config"`
		IdentityFiles []string `json:"identity_files"`
		KnownHosts    []string `json:"known_hosts"`
	} `json:"ssh"`
}

func newLab(t testing.TB, at info) *Lab {
	l := &Lab{t: t, info: at}
	l.api = sync.OnceValue(l.newAPI)
	return l
}

// Launch starts the lab's program and reads its ready line. It ends the program with
// the test, or when end is called.
func Launch(t testing.TB, ready any, args ...string) (end func()) {
	t.Helper()
	end, err := launch(t, ready, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	return end
}

// launch is Launch for a program that may outlive the test.
func launch(t testing.TB, ready any, args ...string) (end func(), err error) {
	t.Helper()
	cmd := exec.Command(Program(t, "lightsout-lab"), append(args, "--stdin-leash", "--quiet")...)
	cmd.Stderr = os.Stderr
	leash, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	end = sync.OnceFunc(func() { leash.Close(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, ready)
	}
	if err != nil {
		end()
		return nil, fmt.Errorf("the lab is not ready: %w", err)
	}
	return end, nil
}

// Root is the repository's root.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err = os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir != filepath.Dir(dir) {
			err = nil
		}
	}
	t.Fatal("there is no go.mod above: ", err)
	return ""
}

// Program is the path of a built program. A test that needs one is skipped
// without it, or fails where nothing may be skipped.
func Program(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(Root(t), "bin", name)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		testenv.Skip(t, "bin/"+name+" is not built: make build")
	}
	return path
}

// Kubeconfig is the path of the lab's kubeconfig.
func (l *Lab) Kubeconfig() string { return l.info.Kubeconfig }

// ConfigWith writes a copy of the lab's config with changes and returns its path.
func (l *Lab) ConfigWith(change func(c map[string]any)) string {
	l.t.Helper()
	c := map[string]any{}
	l.read(&c)
	change(c)
	b, err := yaml.Marshal(c)
	l.must(err)
	path := filepath.Join(l.t.TempDir(), "lightsout.yaml")
	l.must(os.WriteFile(path, b, 0o600))
	return path
}

// must ends the test on an error.
func (l *Lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// Settings reads the lab's config.
func (l *Lab) Settings() Settings {
	l.t.Helper()
	var s Settings
	l.read(&s)
	return s
}

func (l *Lab) read(into any) {
	l.t.Helper()
	b, err := os.ReadFile(l.info.Config)
	l.must(err)
	l.must(yaml.Unmarshal(b, into))
}

// dial returns a dialer to addresses behind the lab's bastion. Each of its connections
// has an SSH connection of its own.
func (l *Lab) dial() func(ctx context.Context, network, address string) (net.Conn, error) {
	l.t.Helper()
	s := l.Settings()
	key, err := os.ReadFile(s.SSH.IdentityFiles[0])
	l.must(err)
	signer, err := ssh.ParsePrivateKey(key)
	l.must(err)
	config := ssh.ClientConfig{
		Auth:            []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback: ssh.InsecureIgnoreHostKey(), // the lab's own, on loopback
	}
	user, bastion, _ := strings.Cut(s.Bastion, "@")
	config.User = user
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		client, err := ssh.Dial("tcp", bastion, &config)
		if err != nil {
			return nil, err
		}
		l.t.Cleanup(func() { client.Close() })
		return client.DialContext(ctx, network, address)
	}
}

// Control is a client of the lab's control socket: http://lab/machines and so on.
func (l *Lab) Control() *http.Client {
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", l.info.Control)
	}}
	l.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// Post asks the lab for something done by hand, e.g. /machines/kube-node4/off.
func (l *Lab) Post(path string) { l.t.Helper(); l.must(l.ask(http.MethodPost, path, "", nil)) }

// Fault makes the lab's machines or its portal behave badly until ClearFaults.
func (l *Lab) Fault(fault map[string]any) {
	l.t.Helper()
	b, err := json.Marshal(fault)
	l.must(err)
	l.must(l.ask(http.MethodPost, "/faults", string(b), nil))
}

// ClearFaults ends every fault.
func (l *Lab) ClearFaults() { l.t.Helper(); l.must(l.ask(http.MethodDelete, "/faults", "", nil)) }

// ask asks the control socket, as the function ask does.
func (l *Lab) ask(method, path, body string, into any) error {
	return ask(context.Background(), l.Control(), method, "http://lab"+path, body, into)
}

// ask sends a request, and reads the answer into into, if that is wanted. A status
// of fine is no failure either.
func ask(ctx context.Context, c *http.Client, method, url, body string, into any, fine ...int) error {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 && !slices.Contains(fine, resp.StatusCode) {
		return fmt.Errorf("%s %s: %s", method, req.URL.RequestURI(), resp.Status)
	}
	if into != nil {
		return json.NewDecoder(resp.Body).Decode(into)
	}
	return nil
}

// Machines names the machines that the lab says are in one of the states.
func (l *Lab) Machines(states ...string) []string {
	l.t.Helper()
	var all []struct{ Name, State string }
	l.must(l.ask(http.MethodGet, "/machines", "", &all))
	var out []string
	for _, m := range all {
		if slices.Contains(states, m.State) {
			out = append(out, m.Name)
		}
	}
	return out
}

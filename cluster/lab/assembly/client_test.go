package assembly

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// client is a client of a lab that knows only its Info and the files that it
// names, and comes in through the bastion.
type client struct {
	t       *testing.T
	info    Info
	config  config
	bastion *ssh.Client
	kube    kubernetes.Interface
	http    *http.Client // through the bastion
	control *http.Client
}

// config is as much of lightsout.yaml as the tests need.
type config struct {
	Kubeconfig string
	Namespaces []string
	Bastion    string
	SSH        struct {
		User          string
		IdentityFiles []string `json:"identity_files"`
		KnownHosts    []string `json:"known_hosts"`
		Shutdown      string
	}
	Power struct {
		MDX struct {
			URL       string
			Project   string
			TokenFile string `json:"token_file"`
		}
		Nodes map[string]struct{ Address string }
	}
	Load struct {
		URL, Host, Model string
		APIKeyFile       string `json:"api_key_file"`
	}
}

func newClient(t *testing.T, info Info) *client {
	t.Helper()
	c := &client{t: t, info: info}
	data, err := os.ReadFile(info.Config)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, &c.config); err != nil {
		t.Fatal(err)
	}
	_, address, _ := strings.Cut(c.config.Bastion, "@")
	if c.bastion, err = ssh.Dial("tcp", address, c.ssh()); err != nil {
		t.Fatalf("bastion: %v", err)
	}
	c.http = &http.Client{Transport: &http.Transport{DialContext: c.bastion.DialContext, MaxIdleConnsPerHost: -1}}
	c.control = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", info.Control)
	}}}
	t.Cleanup(func() {
		c.bastion.Close()
		c.http.CloseIdleConnections()
		c.control.CloseIdleConnections()
	})
	c.kube = kubernetes.NewForConfigOrDie(c.rest(""))
	return c
}

func (c *client) rest(context string) *rest.Config {
	c.t.Helper()
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: c.config.Kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	if err != nil {
		c.t.Fatal(err)
	}
	cfg.Dial = c.bastion.DialContext
	return cfg
}

// ssh returns a configuration that verifies host keys.
func (c *client) ssh() *ssh.ClientConfig {
	c.t.Helper()
	key, err := os.ReadFile(c.config.SSH.IdentityFiles[0])
	if err != nil {
		c.t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey(key)
	if err != nil {
		c.t.Fatal(err)
	}
	check, err := knownhosts.New(c.config.SSH.KnownHosts...)
	if err != nil {
		c.t.Fatal(err)
	}
	return &ssh.ClientConfig{User: c.config.SSH.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: check}
}

// run runs a command on a node, through the bastion.
func (c *client) run(node, command string) (string, error) {
	addr := net.JoinHostPort(c.config.Power.Nodes[node].Address, "22")
	conn, err := c.bastion.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	sc, channels, requests, err := ssh.NewClientConn(conn, addr, c.ssh())
	if err != nil {
		return "", err
	}
	n := ssh.NewClient(sc, channels, requests)
	defer n.Close()
	s, err := n.NewSession()
	if err != nil {
		return "", err
	}
	out, err := s.CombinedOutput(command)
	return strings.TrimSpace(string(out)), err
}

func (c *client) do(hc *http.Client, method, url, body string, header http.Header, into any) int {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header = header
	resp, err := hc.Do(req)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, url, err)
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(resp.Body)
	if into != nil {
		if err := json.Unmarshal(data, into); err != nil {
			c.t.Fatalf("%s %s: %s: %v", method, url, data, err)
		}
	}
	return resp.StatusCode
}

// lab sends a request to the control socket.
func (c *client) lab(method, path, body string, into any) int {
	c.t.Helper()
	return c.do(c.control, method, "http://lab"+path, body, nil, into)
}

// portal sends a request to the power API, through the bastion.
func (c *client) portal(method, path, body string, into any) int {
	c.t.Helper()
	token, err := os.ReadFile(c.config.Power.MDX.TokenFile)
	if err != nil {
		c.t.Fatal(err)
	}
	header := http.Header{"Authorization": {"JWT " + strings.TrimSpace(string(token))}}
	return c.do(c.http, method, c.config.Power.MDX.URL+path, body, header, into)
}

// vms returns the portal's machines by name: uuid and status.
func (c *client) vms() map[string][2]string {
	c.t.Helper()
	var orgs []struct {
		Projects []struct{ UUID, Name string }
	}
	c.portal("GET", "/api/project/assigned/", "", &orgs)
	if len(orgs) != 1 || len(orgs[0].Projects) != 1 || orgs[0].Projects[0].Name != c.config.Power.MDX.Project {
		c.t.Fatalf("projects %v, want the one of the config, %s", orgs, c.config.Power.MDX.Project)
	}
	var list struct {
		Results []struct{ UUID, Name, Status string }
	}
	c.portal("GET", "/api/vm/project/"+orgs[0].Projects[0].UUID+"/?page=1&page_size=100", "", &list)
	all := map[string][2]string{}
	for _, v := range list.Results {
		all[v.Name] = [2]string{v.UUID, v.Status}
	}
	return all
}

// nodes returns the Ready condition of every node.
func (c *client) nodes() (map[string]corev1.ConditionStatus, error) {
	list, err := c.kube.CoreV1().Nodes().List(c.t.Context(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	all := map[string]corev1.ConditionStatus{}
	for _, n := range list.Items {
		for _, k := range n.Status.Conditions {
			if k.Type == corev1.NodeReady {
				all[n.Name] = k.Status
			}
		}
	}
	return all, nil
}

// available returns how many pods of a deployment in "default" are available.
func (c *client) available(deployment string) (int, error) {
	d, err := c.kube.AppsV1().Deployments("default").Get(c.t.Context(), deployment, metav1.GetOptions{})
	if err != nil {
		return 0, err
	}
	return int(d.Status.AvailableReplicas), nil
}

// eventually polls until check returns nil.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

func (c *client) awaitNode(name string, want corev1.ConditionStatus) {
	c.t.Helper()
	eventually(c.t, fmt.Sprintf("node %s becomes Ready=%s", name, want), func() error {
		nodes, err := c.nodes()
		if err == nil && nodes[name] != want {
			err = fmt.Errorf("Ready is %q", nodes[name])
		}
		return err
	})
}

func (c *client) awaitAvailable(deployment string, want int) {
	c.t.Helper()
	eventually(c.t, fmt.Sprintf("%d pods available", want), func() error {
		got, err := c.available(deployment)
		if err == nil && got != want {
			err = fmt.Errorf("%d are", got)
		}
		return err
	})
}

// tempDir returns a folder with a path that is short enough for unix sockets.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "lab")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		os.RemoveAll(dir)
	})
	return dir
}

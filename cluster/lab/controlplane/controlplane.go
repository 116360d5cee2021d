package controlplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// The users that the API server knows by their client certificates.
const (
	Admin    = "kubernetes-admin" // in system:masters: may do everything
	Machines = "lab-machines"     // the lab's kubelets; in system:masters, since no NodeRestriction stands between them
	Viewer   = "viewer"           // in the group "viewers", which has no rights by itself
	Nobody   = "nobody"           // is known, and may do nothing
)

const kubeletClient = "kube-apiserver-kubelet-client"

var users = map[string][]string{
	Admin:                         {"system:masters"},
	Machines:                      {"system:masters"},
	Viewer:                        {"viewers"},
	Nobody:                        nil,
	kubeletClient:                 {"kubeadm:cluster-admins"},
	"system:" + ControllerManager: {"system:masters"},
	"system:" + Scheduler:         {"system:masters"},
}

// Dial connects to an address in the cluster.
type Dial func(ctx context.Context, network, addr string) (net.Conn, error)

// Config says how to run a control plane.
type Config struct {
	// Dir is an existing folder of this control plane alone. Unix sockets are
	// made in it, so its path has at most 90 bytes.
	Dir string
	// Address is the API server's address inside the cluster. The server's
	// certificate is good for it, for the first service address and for
	// 127.0.0.1, where it really listens.
	Address     string
	Names       []string // further names and addresses for the certificate
	PodCIDR     string   // default 10.244.0.0/16
	ServiceCIDR string   // default 10.96.0.0/16
	Timings     Timings
	Dial        Dial // where the API server's traffic to pods and kubelets goes
	// APIOnly starts neither controllers nor a scheduler: what is written stays
	// as it was written.
	APIOnly bool
}

func (cfg Config) components() []string {
	if cfg.APIOnly {
		return []string{Etcd, APIServer}
	}
	return Components()
}

// ControlPlane is a running control plane. It is safe for use by several
// goroutines at once.
type ControlPlane struct {
	cfg       Config
	port      *port
	pki       *pki
	egress    *egress
	spawner   *spawner
	args      map[string][]string
	processes map[string]*process
	once      sync.Once // Close
}

// readyWithin bounds the wait for the API server; it takes 2 s on an idle
// machine, and a minute on one that compiles something else.
const readyWithin = 3 * time.Minute

// Start starts the components and returns when the API server says that it
// is ready. Close must be called in the end. The error names the component
// and its log.
func Start(ctx context.Context, cfg Config) (*ControlPlane, error) {
	cfg.PodCIDR = cmp.Or(cfg.PodCIDR, "10.244.0.0/16")
	cfg.ServiceCIDR = cmp.Or(cfg.ServiceCIDR, "10.96.0.0/16")
	if len(cfg.Dir) > 90 {
		return nil, fmt.Errorf("the folder %s has too long a path for the unix sockets in it (at most 90 bytes): choose a shorter one", cfg.Dir)
	}
	c := &ControlPlane{cfg: cfg, spawner: newSpawner(), processes: map[string]*process{}}
	if err := c.start(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *ControlPlane) start(ctx context.Context) error {
	for _, dir := range []string{"pki", "logs", "tmp"} {
		if err := os.MkdirAll(filepath.Join(c.cfg.Dir, dir), 0o700); err != nil {
			return err
		}
	}
	var err error
	c.port, err = reservePort()
	if err != nil {
		return err
	}
	_, services, err := net.ParseCIDR(c.cfg.ServiceCIDR)
	if err != nil {
		return fmt.Errorf("the service network: %w", err)
	}
	first := services.IP.To4()
	if first == nil {
		return fmt.Errorf("the service network %s is not IPv4", c.cfg.ServiceCIDR)
	}
	first[3]++
	names := append([]string{
		"127.0.0.1", "localhost", c.cfg.Address, first.String(),
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
	}, c.cfg.Names...)
	c.pki, err = newPKI(filepath.Join(c.cfg.Dir, "pki"), names)
	if err != nil {
		return err
	}
	for _, name := range []string{ControllerManager, Scheduler} {
		config := c.Kubeconfig("lab", "https://"+c.LocalAddress(), "system:"+name)
		if err := clientcmd.WriteToFile(*config, filepath.Join(c.cfg.Dir, name+".kubeconfig")); err != nil {
			return err
		}
	}
	c.egress, err = newEgress(filepath.Join(c.cfg.Dir, "egress.yaml"), filepath.Join(c.cfg.Dir, "egress.sock"), c.cfg.Dial)
	if err != nil {
		return err
	}

	c.args = c.flags()
	for _, name := range c.cfg.components() {
		c.processes[name] = &process{
			name:    name,
			args:    c.args[name],
			command: func() (*exec.Cmd, *os.File, error) { return c.command(name) },
			spawn:   c.spawner.run,
		}
	}
	if err := c.processes[Etcd].start(); err != nil {
		return err
	}
	socket := filepath.Join(c.cfg.Dir, etcdSocket)
	if err := c.await(ctx, "etcd to listen", func(context.Context) error {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			conn.Close()
		}
		return err
	}); err != nil {
		return err
	}
	if err := c.processes[APIServer].start(); err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(c.RESTConfig(Admin))
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	if err := c.await(ctx, "the API server to be ready", func(ctx context.Context) error {
		return ready(ctx, client, "https://"+c.LocalAddress()+"/readyz")
	}); err != nil {
		return err
	}
	for _, name := range c.cfg.components()[2:] {
		if err := c.processes[name].start(); err != nil {
			return err
		}
	}
	return nil
}

func ready(ctx context.Context, client *http.Client, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

// await polls until check succeeds, and fails early when a component ends.
func (c *ControlPlane) await(ctx context.Context, what string, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		for name, p := range c.processes {
			if state, _ := p.status(); state == Ended {
				return fmt.Errorf("%s ended while waiting for %s: %s", name, what, c.lastWords(name))
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w (last answer: %v)", what, context.Cause(ctx), err)
		case <-tick.C:
		}
	}
}

// lastWords returns the end of a component's log.
func (c *ControlPlane) lastWords(name string) string {
	b, err := os.ReadFile(c.logFile(name))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if len(lines) > 3 {
		lines = lines[len(lines)-3:]
	}
	return strings.Join(lines, " / ")
}

func (c *ControlPlane) logFile(name string) string {
	return filepath.Join(c.cfg.Dir, "logs", name+".log")
}

// command prepares a component's process: this program again, in a process
// group of its own, killed when this process ends, with nothing of this
// process's environment but what it needs.
func (c *ControlPlane) command(name string) (*exec.Cmd, *os.File, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	log, err := os.OpenFile(c.logFile(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(self, append([]string{name}, c.args[name]...)...)
	cmd.Dir = c.cfg.Dir
	cmd.Env = []string{
		"HOME=" + c.cfg.Dir,
		"PATH=" + os.Getenv("PATH"),
		"TMPDIR=" + filepath.Join(c.cfg.Dir, "tmp"),
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd, log, nil
}

// LocalAddress returns the loopback address on which the API server listens.
// It stays the same for the life of the control plane.
func (c *ControlPlane) LocalAddress() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port.number))
}

// RESTConfig returns a client configuration for a user (Admin, Machines,
// Viewer or Nobody) that goes straight to the loopback address.
func (c *ControlPlane) RESTConfig(user string) *rest.Config {
	key := c.pki.users[user]
	return &rest.Config{
		Host: "https://" + c.LocalAddress(),
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   c.pki.ca,
			CertData: key.cert,
			KeyData:  key.key,
		},
		Proxy: func(*http.Request) (*url.URL, error) { return nil, nil },
	}
}

// Kubeconfig returns a kubeconfig with one cluster at server, and a context
// for each user: the first is named like the cluster and is the current one,
// the others are named cluster-user.
func (c *ControlPlane) Kubeconfig(cluster, server string, names ...string) *clientcmdapi.Config {
	config := clientcmdapi.NewConfig()
	config.Clusters[cluster] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: c.pki.ca}
	for i, user := range names {
		key := c.pki.users[user]
		config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: key.cert, ClientKeyData: key.key}
		name := cluster
		if i > 0 {
			name = cluster + "-" + user
		}
		config.Contexts[name] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: user, Namespace: "default"}
	}
	config.CurrentContext = cluster
	return config
}

// Args returns the arguments that a component runs with, nil for an unknown
// one.
func (c *ControlPlane) Args(component string) []string { return c.args[component] }

// Component is what is known of one component's process.
type Component struct {
	Name  string `json:"name"`
	State string `json:"state"`         // Running, Stopped or Ended
	PID   int    `json:"pid,omitempty"` // 0 when it has ended
}

// EtcdEndpoint is where etcd listens, for its clients.
func (c *ControlPlane) EtcdEndpoint() string { return "unix://" + filepath.Join(c.cfg.Dir, etcdSocket) }

// Status returns the state of all components, in the order of Components.
func (c *ControlPlane) Status() []Component {
	var all []Component
	for _, name := range c.cfg.components() {
		state, pid := c.processes[name].status()
		all = append(all, Component{name, state, pid})
	}
	return all
}

// ErrUnknown is returned for a component or an action that does not exist.
var ErrUnknown = errors.New("unknown")

// Do acts on a component: "stop" (SIGSTOP), "cont" (SIGCONT), "kill"
// (SIGKILL, returns when it is gone) or "start" (again, with the same
// arguments and data).
func (c *ControlPlane) Do(component, action string) error {
	p := c.processes[component]
	if p == nil {
		return fmt.Errorf("%w component %q; there are %s", ErrUnknown, component, strings.Join(Components(), ", "))
	}
	switch action {
	case "stop":
		return p.signal(syscall.SIGSTOP, Stopped)
	case "cont":
		return p.signal(syscall.SIGCONT, Running)
	case "kill":
		return p.kill()
	case "start":
		return p.start()
	}
	return fmt.Errorf("%w action %q; there are stop, cont, kill, start", ErrUnknown, action)
}

// Close kills the components and returns when all are gone. The folder is
// left to its owner. Closing twice does nothing.
func (c *ControlPlane) Close() { c.once.Do(c.close) }

func (c *ControlPlane) close() {
	for _, p := range c.processes {
		p.signal(syscall.SIGKILL, "")
	}
	for _, p := range c.processes {
		p.kill()
	}
	if c.egress != nil {
		c.egress.close()
	}
	if c.port != nil {
		c.port.release()
	}
	c.spawner.close()
}

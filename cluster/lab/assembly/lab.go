package assembly

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/version"

	"lightsout/cluster/lab/control"
	"lightsout/cluster/lab/controlplane"
	"lightsout/cluster/lab/machine"
	"lightsout/cluster/lab/network"
	"lightsout/cluster/lab/portal"
	"lightsout/cluster/lab/process"
	"lightsout/cluster/lab/scenario"
	"lightsout/cluster/lab/sshd"
)

const (
	bastionName = "bastion"
	bastionIP   = "10.0.0.1"
	portalIP    = "10.0.0.2"
	projectName = "lightsout-lab"
)

// settleWithin bounds the wait for the scenario's objects and deployments.
const settleWithin = 3 * time.Minute

// Config says which lab to start.
type Config struct {
	Scenario string // one of scenario.Names
	Pace     scenario.Pace
	Dir      string // where the lab's folder is made; default os.TempDir
	Keep     bool   // leave the folder behind
	// Serving is the path of the program that runs Knative's components. If empty, it
	// is the running program's path with "-knative" added.
	Serving string
	// Progress gets a line for each step of the start; nil: nobody.
	Progress io.Writer
}

// Info is what a client must know. It is the line that the program prints.
type Info struct {
	Scenario   string  `json:"scenario"`
	Pace       string  `json:"pace"`
	Dir        string  `json:"dir"`
	Config     string  `json:"config"`     // path of lightsout.yaml
	Kubeconfig string  `json:"kubeconfig"` // path
	PID        int     `json:"pid"`
	Bastion    Bastion `json:"bastion"`
	Control    string  `json:"control"` // path of the control's unix socket
}

// Bastion is where the bastion's ssh server listens.
type Bastion struct {
	Address string `json:"address"` // host:port
	User    string `json:"user"`
}

// Lab is a running lab. It is safe for use by several goroutines at once.
type Lab struct {
	cfg      Config
	scenario *scenario.Scenario
	folder   *folder
	started  time.Time
	log      *slog.Logger
	logFile  *os.File

	network  *network.Network
	identity *sshd.Key // the client's
	nodeKeys map[string]*sshd.Key
	token    string // for the power API
	door     net.Listener

	control *controlplane.ControlPlane
	apiHost atomic.Pointer[network.Host] // of the control plane's machine
	cluster *scenario.Cluster
	portal  *portal.Portal
	sudo    faults

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	once   sync.Once
}

// Start starts a lab and returns when all of its deployments are complete.
// Close must be called in the end. The calling program must have called
// controlplane.Main first of all.
func Start(ctx context.Context, cfg Config) (*Lab, error) {
	s, err := scenario.Get(cfg.Scenario, cfg.Pace)
	if err != nil {
		return nil, err
	}
	l := &Lab{
		cfg: cfg, scenario: s, started: time.Now(),
		network: network.New(), nodeKeys: map[string]*sshd.Key{}, token: rand.Text(),
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.folder, err = newFolder(cfg.Dir)
	if err != nil {
		return nil, err
	}
	if err := l.start(ctx); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

func (l *Lab) start(ctx context.Context) error {
	for _, dir := range []string{"cp", stateDir} {
		if err := os.Mkdir(l.folder.in(dir), 0o700); err != nil {
			return err
		}
	}
	var err error
	l.logFile, err = os.OpenFile(l.folder.in("lab.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	l.log = slog.New(slog.NewTextHandler(l.logFile, nil))

	if err := l.startBastion(); err != nil {
		return err
	}
	timings := controlplane.Timings{}
	if l.scenario.Pace == scenario.Fast {
		timings = controlplane.Fast()
	}
	address, _, err := net.SplitHostPort(l.scenario.APIServer)
	if err != nil {
		return err
	}
	names := []string{l.scenario.Machines[0].Name}
	for _, m := range l.scenario.Machines[:2] {
		names = append(names, m.IP)
	}
	l.control, err = controlplane.Start(ctx, controlplane.Config{
		Dir: l.folder.in("cp"), Address: address, Names: names, Timings: timings, Dial: l.egress,
	})
	if err != nil {
		return err
	}
	l.progress("control plane ready")

	ctx, cancel := context.WithTimeoutCause(ctx, settleWithin, errors.New("the machine that the lab runs on is too slow"))
	defer cancel()
	if err := l.startCluster(ctx); err != nil {
		return err
	}
	if err := l.startPortal(); err != nil {
		return err
	}
	if err := l.startControl(); err != nil {
		return err
	}
	if err := l.cluster.Ready(ctx); err != nil {
		return err
	}
	l.progress("nodes ready")
	if err := l.cluster.Settled(ctx); err != nil {
		return err
	}
	l.progress("deployments complete")
	return nil
}

func (l *Lab) progress(what string) {
	if l.cfg.Progress != nil {
		fmt.Fprintf(l.cfg.Progress, "lightsout-lab: %s after %.1f s\n", what, time.Since(l.started).Seconds())
	}
}

// egress dials for the API server, from its machine.
func (l *Lab) egress(ctx context.Context, network, addr string) (net.Conn, error) {
	h := l.apiHost.Load()
	if h == nil {
		return nil, errors.New("the control plane's machine has not booted yet")
	}
	return h.DialContext(ctx, network, addr)
}

// startCluster starts the machines and creates the scenario's objects.
func (l *Lab) startCluster(ctx context.Context) error {
	hostKeys := map[string]ssh.PublicKey{bastionName: l.nodeKeys[bastionName].Signer.PublicKey()}
	for _, m := range l.scenario.Machines {
		key, err := sshd.NewKey(m.Name)
		if err != nil {
			return err
		}
		l.nodeKeys[m.Name] = key
		hostKeys[m.Name] = key.Signer.PublicKey()
	}
	if err := l.writeClient(hostKeys); err != nil {
		return err
	}
	var static []machine.StaticPod
	for _, name := range controlplane.Components() {
		static = append(static, machine.StaticPod{
			Name: name, Image: name, Command: append([]string{name}, l.control.Args(name)...),
		})
	}
	admin := l.control.RESTConfig(controlplane.Admin)
	serving, err := l.serving()
	if err != nil {
		return err
	}
	l.cluster, err = l.scenario.Start(ctx, scenario.Options{
		Serving:      serving,
		Network:      l.network,
		REST:         admin,
		Kubelets:     l.control.RESTConfig(controlplane.Machines),
		Boot:         l.boot,
		ControlPlane: static,
		Log:          l.log,
	})
	if err != nil {
		return err
	}
	admin = rest.CopyConfig(admin)
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return err
	}
	if err := grant(ctx, client); err != nil {
		return err
	}
	if err := l.attachVolumes(l.ctx, client); err != nil {
		return err
	}
	if err := l.cluster.Create(ctx); err != nil {
		return err
	}
	l.progress("objects created")
	return nil
}

// serving returns the runner of Knative Serving's components; nil when the scenario has
// none.
func (l *Lab) serving() (*process.Runner, error) {
	if !l.scenario.Serving {
		return nil, nil
	}
	path := l.cfg.Serving
	if path == "" {
		own, err := os.Executable()
		if err != nil {
			return nil, err
		}
		path = own + "-knative"
	}
	path, err := filepath.Abs(path) // its processes run in folders of their own
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("the program with Knative's components is missing (%w): run make bin/lightsout-lab-knative", err)
	}
	if v := version.Get(); v.Major == "" || v.Minor == "" {
		return nil, errors.New("this program does not contain the version of its Kubernetes, which Knative requests from the API server: build it with make, and test it with make test-lab")
	}
	r := &process.Runner{Path: path, Logs: l.folder.in("knative"), Log: l.log, Env: map[string]string{
		"KUBECONFIG":            l.folder.in("cp", controlplane.ControllerManager+".kubeconfig"),
		"SYSTEM_NAMESPACE":      scenario.ServingNamespace,
		"METRICS_DOMAIN":        "knative.dev/serving",
		"STATEFUL_SERVICE_NAME": "autoscaler",
		"GOMAXPROCS":            "2",
	}}
	if l.scenario.Pace == scenario.Fast {
		r.Env["LAB_DRAIN"] = "1s"
	}
	return r, os.Mkdir(r.Logs, 0o700)
}

func (l *Lab) startPortal() error {
	cfg := portal.Config{Project: projectName, Token: l.token, Seed: l.folder.path, Delay: 5 * time.Second}
	if l.scenario.Pace == scenario.Fast {
		cfg.Delay = 500 * time.Millisecond
	}
	for _, m := range l.scenario.Machines {
		cfg.VMs = append(cfg.VMs, portal.VM{
			Machine: virtual{l.cluster.Machine(m.Name)}, Address: m.IP, ServiceLevel: m.ServiceLevel, CPUs: m.CPUs, MemoryGiB: m.MemoryGiB,
		})
	}
	l.portal = portal.New(cfg)
	listener, err := l.network.AddHost("portal", portalIP).Listen(":80")
	if err != nil {
		return err
	}
	l.wg.Go(func() { l.report("the power API", control.Serve(l.ctx, listener, l.portal)) })
	return nil
}

// virtual is a machine as the power API sees it.
type virtual struct{ *machine.Machine }

func (v virtual) Powered() bool { return v.State() != machine.Off }

func (l *Lab) startControl() error {
	listener, err := net.Listen("unix", l.folder.in("control.sock"))
	if err != nil {
		return fmt.Errorf("listen on the control socket: %w", err)
	}
	cfg := control.Config{
		Components: l.control,
		Portal:     l.portal,
		Sudo:       l.sudo.set,
		Knative:    func() any { return l.cluster.Knative(l.ctx) },
	}
	for _, m := range l.cluster.Machines() {
		cfg.Machines = append(cfg.Machines, m)
	}
	l.wg.Go(func() { l.report("the control socket", control.Serve(l.ctx, listener, control.Handler(cfg))) })
	return nil
}

// report logs why something ended that should go on until the lab's end.
func (l *Lab) report(what string, err error) {
	if err != nil && l.ctx.Err() == nil {
		l.log.Error(what+" ended", "error", err)
	}
}

// Info returns what a client must know.
func (l *Lab) Info() Info {
	return Info{
		Scenario:   l.scenario.Name,
		Pace:       string(l.scenario.Pace),
		Dir:        l.folder.path,
		Config:     l.folder.in(configFile),
		Kubeconfig: l.folder.in(kubeconfigFile),
		PID:        os.Getpid(),
		Bastion:    Bastion{Address: l.Bastion(), User: user},
		Control:    l.folder.in("control.sock"),
	}
}

// Bastion returns the loopback address of the bastion's ssh server.
func (l *Lab) Bastion() string { return l.door.Addr().String() }

// Close ends everything, waits for it and removes the folder. Closing twice
// does nothing.
func (l *Lab) Close() error {
	var err error
	l.once.Do(func() {
		l.cancel()
		if l.door != nil {
			l.door.Close()
		}
		if l.portal != nil {
			l.portal.Close()
		}
		if l.cluster != nil {
			l.cluster.Close()
		}
		l.wg.Wait()
		if l.control != nil {
			l.control.Close()
		}
		if l.logFile != nil {
			l.logFile.Close()
		}
		err = l.folder.remove(l.cfg.Keep)
	})
	return err
}

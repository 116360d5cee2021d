package machine

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"

	"lightsout/cluster/lab/network"
	"lightsout/cluster/lab/workload"
)

// State is whether a machine has power.
type State string

// The states of a machine.
const (
	Off      State = "off"
	Booting  State = "booting"  // has power, its kubelet does not run yet
	On       State = "on"       // its kubelet and services run
	Stopping State = "stopping" // is shutting down
)

// Timing is how long things take.
type Timing struct {
	// Boot is from power on to the start of services.
	Boot time.Duration
	// KubeletReady is from the kubelet's start to Ready=True.
	KubeletReady time.Duration
	// Shutdown is from the command to the end of power. Containers end after
	// a third of it.
	Shutdown time.Duration
	// Lease is the node lease's duration, in whole seconds; it is renewed
	// every quarter of it. Upstream: 40 s.
	Lease time.Duration
	// NodeStatus is how often the node's status is compared with what it
	// should be. Upstream: 10 s.
	NodeStatus time.Duration
	// PodSync is how soon a pod's status that somebody else has changed is
	// put right. Upstream: within 10 s (status_manager.go).
	PodSync time.Duration
	// ContainerStart is what image and sandbox take before a container runs.
	ContainerStart time.Duration
	// ProbePeriod is how often a container that is not ready is probed; one
	// that is ready is probed with its probe's own period.
	ProbePeriod time.Duration
}

// Config describes a machine.
type Config struct {
	// Name is the node's name, Host its place on the network, IP the address
	// of Host that is the node's InternalIP.
	Name string
	Host *network.Host
	IP   string
	// REST says how the API server is reached. When APIServer is set,
	// connections are dialled to that address from Host, whatever REST's own
	// host is; otherwise they don't pass through the lab's network, and a
	// power cut stops the machine's writes but does not freeze connections.
	REST      *rest.Config
	APIServer string
	// ControlPlane registers the node with the control-plane label and taint.
	ControlPlane bool
	// CPUs, MemoryGiB, Pods and GPUs are the node's capacity.
	CPUs, MemoryGiB, Pods, GPUs int
	// PodNet is the first three numbers of the pods' addresses, "10.244.3".
	PodNet string
	// Labels are added to the node's own.
	Labels map[string]string
	// Images are the programs that containers run.
	Images workload.Images
	// StaticPods run on this machine and are mirrored to the API.
	StaticPods []StaticPod
	// Boot runs at every boot, once the host is up, before the kubelet
	// starts. Its context ends when the machine stops, by whatever cause. It
	// must not block. An error is logged, and the boot goes on.
	Boot   func(ctx context.Context, m *Machine) error
	Timing Timing
	// Log gets what goes wrong inside; nil: nothing.
	Log *slog.Logger
}

// StaticPod is a pod that the kubelet runs by itself, from a file.
type StaticPod struct {
	// Name is without the node's name: "kube-apiserver".
	Name    string
	Image   string
	Command []string
}

// Machine is one computer. It is safe for use by several goroutines at once.
type Machine struct {
	cfg Config
	log *slog.Logger
	ips *addresses
	// logs are on the machine's disk: they outlive its power.
	logs logs

	mu      sync.Mutex
	state   State
	changed chan struct{} // closed and made anew at every change of state
	bootID  string
	life    *life // while it has power
	closed  bool
	lives   sync.WaitGroup
}

// New returns a machine that is off.
func New(cfg Config) *Machine {
	return &Machine{
		cfg:     cfg,
		log:     cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)).With("machine", cfg.Name),
		ips:     newAddresses(cfg.PodNet),
		state:   Off,
		changed: make(chan struct{}),
	}
}

// Name returns the node's name.
func (m *Machine) Name() string { return m.cfg.Name }

// IP returns the node's address.
func (m *Machine) IP() string { return m.cfg.IP }

// ControlPlane reports whether it is the control plane's machine.
func (m *Machine) ControlPlane() bool { return m.cfg.ControlPlane }

// Host returns the machine's place on the network.
func (m *Machine) Host() *network.Host { return m.cfg.Host }

// State returns the present state.
func (m *Machine) State() State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state
}

// BootID returns what identifies the present boot, or the last one of a
// machine that is off; empty before the first.
func (m *Machine) BootID() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bootID
}

// Changed returns a channel that is closed at the next change of State.
func (m *Machine) Changed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}

// set changes the state. It is called with mu held.
func (m *Machine) set(s State) {
	if m.state == s {
		return
	}
	m.state = s
	close(m.changed)
	m.changed = make(chan struct{})
}

// Start is PowerOn of a machine that has been running for a while: it boots in
// no time.
func (m *Machine) Start() error { return m.powerOn(0) }

// PowerOn switches the machine on and returns at once; State tells when it has
// booted. It fails when the machine is not off.
func (m *Machine) PowerOn() error { return m.powerOn(m.cfg.Timing.Boot) }

func (m *Machine) powerOn(delay time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return fmt.Errorf("machine %s can't be powered on: the lab is ending", m.cfg.Name)
	}
	if m.state != Off {
		return fmt.Errorf("machine %s can't be powered on: it is %s, not off", m.cfg.Name, m.state)
	}
	l := newLife(m)
	m.life = l
	m.set(Booting)
	m.lives.Go(func() {
		l.run(delay)
		l.end()
	})
	return nil
}

// PowerCut takes the power away, in any state. When it returns the machine is
// silent: nothing is closed, nothing is said.
func (m *Machine) PowerCut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cfg.Host.Cut()
	m.lost()
}

// CutOff takes the machine off the network, as a pulled cable does: it and its pods run
// on, and nobody hears them. Join puts it back.
func (m *Machine) CutOff() { m.cfg.Host.Detach() }

// Join puts the machine back on the network.
func (m *Machine) Join() { m.cfg.Host.Attach() }

// lost ends the present life. It is called with mu held.
func (m *Machine) lost() {
	if m.life != nil {
		m.life.cancel()
		m.life = nil
	}
	m.set(Off)
}

// Shutdown does what `shutdown -h now` does, and returns at once; State tells
// when the machine is off. The kubelet is stopped first and says nothing (it
// has no shutdownGracePeriod, which is the default); then the containers are
// killed, so that their connections close; then power ends. It fails when the
// machine is not on.
func (m *Machine) Shutdown() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state != On {
		return fmt.Errorf("machine %s can't be shut down: it is %s, not on", m.cfg.Name, m.state)
	}
	l := m.life
	m.set(Stopping)
	m.lives.Go(func() {
		l.stop() // the kubelet; its containers run on
		l.work.Wait()
		third := m.cfg.Timing.Shutdown / 3
		if !workload.Pause(l.power, third) {
			return
		}
		l.killContainers()
		if !workload.Pause(l.power, m.cfg.Timing.Shutdown-third) {
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.life == l {
			m.cfg.Host.Halt()
			m.lost()
		}
	})
	return nil
}

// booted is called by a life when its host is to come up; it reports whether
// the life is still the present one.
func (m *Machine) booted(l *life) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.life != l {
		return false
	}
	m.ips.reset()
	m.cfg.Host.Boot()
	m.bootID = string(uuid.NewUUID())
	return true
}

// running is called by a life when the services have been started.
func (m *Machine) running(l *life) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.life == l {
		m.set(On)
	}
}

// Close ends the machine, as a power cut does, and waits until nothing of it
// runs any more. It can't be powered on again.
func (m *Machine) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.PowerCut()
	m.lives.Wait()
}

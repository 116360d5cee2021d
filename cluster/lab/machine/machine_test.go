package machine

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodeutil "k8s.io/kubernetes/pkg/util/node"

	"lightsout/cluster/lab/network"
)

// swift is as fast as whole seconds of leases allow.
var swift = Timing{
	Boot:           50 * time.Millisecond,
	KubeletReady:   20 * time.Millisecond,
	Shutdown:       60 * time.Millisecond,
	Lease:          time.Second, // renewed every 250 ms
	NodeStatus:     50 * time.Millisecond,
	PodSync:        50 * time.Millisecond,
	ContainerStart: 10 * time.Millisecond,
	ProbePeriod:    10 * time.Millisecond,
}

func newMachine(t *testing.T, n *network.Network, a *api, name, ip string, boot func(context.Context, *Machine) error) *Machine {
	t.Helper()
	m := New(Config{
		Name: name, Host: n.AddHost(name, ip), IP: ip,
		REST: a.config(), APIServer: apiAddress,
		CPUs: 4, MemoryGiB: 8, Pods: 110, PodNet: "10.244.1",
		Boot: boot, Timing: swift,
	})
	t.Cleanup(m.Close)
	return m
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not reached: %s", what)
		}
	}
}

func ready(a *api, name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.nodes[name] != nil && nodeutil.IsNodeReady(a.nodes[name])
}

func renewals(a *api, name string) (n int) {
	for _, w := range a.written(name) {
		if w == "PUT leases" {
			n++
		}
	}
	return n
}

func TestNodeRegistersRenewsItsLeaseAndGetsReady(t *testing.T) {
	n := network.New()
	a := newAPI(t, n)
	m := newMachine(t, n, a, "node1", "10.0.0.11", nil)
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "Ready", func() bool { return ready(a, "node1") })
	eventually(t, "three renewals", func() bool { return renewals(a, "node1") >= 3 })
	node := a.node("node1")
	if node.Status.NodeInfo.BootID != m.BootID() || m.BootID() == "" {
		t.Errorf("boot id %q, the machine's is %q", node.Status.NodeInfo.BootID, m.BootID())
	}
	if got := node.Status.Addresses[0]; got.Type != corev1.NodeInternalIP || got.Address != "10.0.0.11" {
		t.Errorf("address %v", got)
	}
	a.mu.Lock()
	lease := a.leases["node1"]
	a.mu.Unlock()
	if len(lease.OwnerReferences) != 1 || lease.OwnerReferences[0].Kind != "Node" || *lease.Spec.LeaseDurationSeconds != 1 {
		t.Errorf("lease %+v", lease)
	}
	if len(node.Spec.Taints) != 0 {
		t.Errorf("a worker registered with taints %v", node.Spec.Taints)
	}
}

// While one machine has no power another one is the clock: the proof is that
// time went by, in the API server's eyes, and nothing came.
func TestNotOneWriteWithoutPower(t *testing.T) {
	for name, off := range map[string]func(*Machine){
		"power cut": (*Machine).PowerCut,
		"shutdown": func(m *Machine) {
			if err := m.Shutdown(); err != nil {
				t.Error(err)
			}
			eventually(t, "off", func() bool { return m.State() == Off })
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := network.New()
			a := newAPI(t, n)
			victim := newMachine(t, n, a, "victim", "10.0.0.11", nil)
			clock := newMachine(t, n, a, "clock", "10.0.0.12", nil)
			for _, m := range []*Machine{victim, clock} {
				if err := m.Start(); err != nil {
					t.Fatal(err)
				}
			}
			eventually(t, "both are Ready", func() bool { return ready(a, "victim") && ready(a, "clock") && renewals(a, "victim") > 0 })
			before := a.written("victim")
			off(victim)
			// What was on its way at that moment may arrive.
			tick := renewals(a, "clock")
			eventually(t, "a first tick", func() bool { return renewals(a, "clock") > tick })
			at := a.written("victim")
			eventually(t, "twelve renewals by the clock", func() bool { return renewals(a, "clock") >= tick+13 })
			if after := a.written("victim"); len(after) != len(at) {
				t.Errorf("without power it wrote %v", after[len(at):])
			}
			for _, w := range at[len(before):] {
				if w != "PUT leases" {
					t.Errorf("on its way down it wrote %q", w)
				}
			}
			if !ready(a, "victim") {
				t.Error("its node is not Ready: nobody here may have said so")
			}
		})
	}
}

func TestABootReportsANewBootID(t *testing.T) {
	n := network.New()
	a := newAPI(t, n)
	m := newMachine(t, n, a, "node1", "10.0.0.11", nil)
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "Ready", func() bool { return a.reasons("node1")["NodeReady"] == 1 })
	first := m.BootID()
	m.PowerCut()
	if err := m.PowerOn(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "Rebooted and Ready again", func() bool {
		r := a.reasons("node1")
		return r["Rebooted"] == 1 && r["NodeReady"] == 2 && ready(a, "node1")
	})
	if m.BootID() == first || a.node("node1").Status.NodeInfo.BootID != m.BootID() {
		t.Errorf("boot ids: %s, then %s, node says %s", first, m.BootID(), a.node("node1").Status.NodeInfo.BootID)
	}
	if r := a.reasons("node1"); r["Starting"] != 2 {
		t.Errorf("events %v", r)
	}
}

func TestReadyIsAssertedAgainWhenSomebodySaysOtherwise(t *testing.T) {
	n := network.New()
	a := newAPI(t, n)
	m := newMachine(t, n, a, "node1", "10.0.0.11", nil)
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "Ready", func() bool { return ready(a, "node1") })
	a.mu.Lock()
	for i := range a.nodes["node1"].Status.Conditions {
		a.nodes["node1"].Status.Conditions[i].Status = corev1.ConditionUnknown
	}
	a.mu.Unlock()
	eventually(t, "Ready again", func() bool { return ready(a, "node1") })
}

func TestStatesAndWhatIsRefusedInThem(t *testing.T) {
	n := network.New()
	a := newAPI(t, n)
	var running atomic.Int32
	m := newMachine(t, n, a, "node1", "10.0.0.11", func(ctx context.Context, m *Machine) error {
		running.Add(1)
		context.AfterFunc(ctx, func() { running.Add(-1) })
		return errors.New("is logged, and the boot goes on")
	})
	refused := func(err error, words ...string) {
		t.Helper()
		if err == nil || slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(err.Error(), w) }) {
			t.Errorf("got %v, want an error with %q", err, words)
		}
	}
	if m.State() != Off || m.BootID() != "" {
		t.Errorf("a new machine is %s, boot id %q", m.State(), m.BootID())
	}
	refused(m.Shutdown(), "node1", "off")
	changed := m.Changed()
	if err := m.PowerOn(); err != nil {
		t.Fatal(err)
	}
	<-changed
	if s := m.State(); s != Booting {
		t.Errorf("after PowerOn it is %s", s)
	}
	refused(m.PowerOn(), "node1", "booting")
	refused(m.Shutdown(), "node1", "booting")
	eventually(t, "on", func() bool { return m.State() == On })
	if running.Load() != 1 || !m.Host().Up() {
		t.Errorf("services running: %d, host up: %v", running.Load(), m.Host().Up())
	}
	refused(m.PowerOn(), "node1", "on")
	if err := m.Shutdown(); err != nil {
		t.Fatal(err)
	}
	refused(m.Shutdown(), "node1", "stopping")
	eventually(t, "off", func() bool { return m.State() == Off })
	if m.Host().Up() {
		t.Error("the host is up after a shutdown")
	}
	eventually(t, "services end with the power", func() bool { return running.Load() == 0 })

	if err := m.PowerOn(); err != nil {
		t.Fatal(err)
	}
	m.PowerCut() // in the middle of a boot
	if s := m.State(); s != Off {
		t.Errorf("after a power cut it is %s", s)
	}
	m.Close()
	refused(m.PowerOn(), "ending")
}

func TestShutdownClosesConnectionsAndPowerCutDoesNot(t *testing.T) {
	n := network.New()
	a := newAPI(t, n)
	laptop := n.AddHost("laptop", "10.0.0.1")
	m := newMachine(t, n, a, "node1", "10.0.0.11", func(ctx context.Context, m *Machine) error {
		l, err := m.Host().Listen(":22")
		if err != nil {
			return err
		}
		go func() {
			for {
				if _, err := l.Accept(); err != nil {
					return
				}
			}
		}()
		return nil
	})
	read := func(off func()) error {
		eventually(t, "on", func() bool { return m.State() == On })
		c, err := laptop.DialContext(t.Context(), "tcp", "10.0.0.11:22")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		off()
		eventually(t, "off", func() bool { return m.State() == Off })
		c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		_, err = c.Read(make([]byte, 1))
		return err
	}
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	if err := read(m.PowerCut); err == io.EOF || !isTimeout(err) {
		t.Errorf("after a power cut a read gave %v", err)
	}
	if err := m.PowerOn(); err != nil {
		t.Fatal(err)
	}
	if err := read(func() { m.Shutdown() }); err != io.EOF {
		t.Errorf("after a shutdown a read gave %v", err)
	}
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

func TestControlPlaneRegistersWithItsTaint(t *testing.T) {
	n := network.New()
	a := newAPI(t, n)
	k := &kubelet{m: New(Config{
		Name: "cp", ControlPlane: true, PodNet: "10.244.0", Host: n.AddHost("cp", "10.0.0.9"), REST: a.config(),
	})}
	node := k.node()
	if len(node.Spec.Taints) != 1 || node.Spec.Taints[0].Key != controlPlaneRole || node.Spec.Taints[0].Effect != corev1.TaintEffectNoSchedule {
		t.Errorf("taints %v", node.Spec.Taints)
	}
	if _, ok := node.Labels[controlPlaneRole]; !ok {
		t.Errorf("labels %v", node.Labels)
	}
}

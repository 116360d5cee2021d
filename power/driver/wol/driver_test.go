package wol

import (
	"bytes"
	"encoding/hex"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lightsout/power"
	"lightsout/power/powertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	mac = "52:54:00:12:34:56"
)

// card is a network card that wakes its machine.
type card struct {
	net.PacketConn
	mu  sync.Mutex
	on  bool
	got [][]byte
}

func newCard(t *testing.T) *card {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &card{PacketConn: conn, on: true}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 2000)
		for {
			n, _, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			c.mu.Lock()
			c.got = append(c.got, bytes.Clone(buf[:n]))
			c.on = true
			c.mu.Unlock()
		}
	}()
	t.Cleanup(func() { conn.Close(); <-done })
	return c
}

func (c *card) packets() [][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.got
}

func newDriver(t *testing.T, c *card) *Driver {
	t.Helper()
	d, err := New(Options{Broadcast: c.LocalAddr().String(), Nodes: map[string]Node{"kube-node3": {MAC: "52-54-00-12-34-56"}}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestContract(t *testing.T) {
	powertest.Run(t, func(t *testing.T) *powertest.World {
		c := newCard(t)
		return &powertest.World{
			Driver: newDriver(t, c),
			Can:    power.Abilities{On: true}, Unacknowledged: true,
			Machine: powertest.Lookup{Node: power.NodeRef{Name: "kube-node3"}},
			None:    &powertest.Lookup{Node: power.NodeRef{Name: "kube-node4"}, Hint: "some-vm"},
			Set: func(s power.State) {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.on = s == power.On
			},
			Is: func() power.State {
				c.mu.Lock()
				defer c.mu.Unlock()
				if c.on {
					return power.On
				}
				return power.Off
			},
		}
	})
}

// TestThePacketIsTheOneThatIsSpecified compares it, byte by byte, to one written
// down by hand.
func TestThePacketIsTheOneThatIsSpecified(t *testing.T) {
	card := newCard(t)
	d := newDriver(t, card)
	m, err := d.Find(t.Context(), power.NodeRef{Name: "kube-node3"}, "")
	if err != nil || m.ID != mac || m.How != power.HowConfig {
		t.Fatalf("%+v, %v", m, err)
	}
	sent(t, d, m)
	for end := time.Now().Add(time.Minute); len(card.packets()) < packets && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	want := "ffffffffffff" + strings.Repeat("525400123456", 16)
	got := card.packets()
	if len(got) != packets {
		t.Errorf("%d packets", len(got))
	}
	for _, p := range got {
		if hex.EncodeToString(p) != want {
			t.Errorf("got %x", p)
		}
	}
}

func TestItCanBroadcast(t *testing.T) {
	c := newCard(t)
	_, port, _ := net.SplitHostPort(c.LocalAddr().String())
	d, err := New(Options{Broadcast: "127.255.255.255:" + port})
	if err != nil {
		t.Fatal(err)
	}
	sent(t, d, power.Machine{ID: mac}) // the kernel lets it broadcast
}

// sent sends the packet, and expects that the driver does not take that for a success:
// otherwise the packet to a card that was not ready would never be repeated.
func sent(t *testing.T, d *Driver, m power.Machine) {
	t.Helper()
	unconfirmed := &power.UnconfirmedError{}
	if err := d.Switch(t.Context(), power.ActionOn, m); !errors.As(err, &unconfirmed) {
		t.Errorf("it returns %v", err)
	}
}

func TestTheHintCanBeAMACAddress(t *testing.T) {
	d := newDriver(t, newCard(t))
	m, err := d.Find(t.Context(), power.NodeRef{Name: "kube-node4"}, "52:54:00:AA:BB:CC")
	if err != nil || m.ID != "52:54:00:aa:bb:cc" || m.How != "" {
		t.Errorf("%+v, %v", m, err)
	}
	for _, hint := range []string{"", "kube-node4", "ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", "00:00:00:00:00:00", "02:00:5e:10:00:00:00:01"} {
		if m, err := d.Find(t.Context(), power.NodeRef{Name: "kube-node4"}, hint); !errors.Is(err, power.ErrNoMachine) || !strings.Contains(err.Error(), "mac") {
			t.Errorf("%q: %+v, %v", hint, m, err)
		}
	}
}

func TestOptionsThatCantBeMeantAreRefused(t *testing.T) {
	for name, opt := range map[string]Options{
		"no port":      {Broadcast: "10.0.0.255"},
		"a name":       {Broadcast: "lan:9"},
		"port 0":       {Broadcast: "10.0.0.255:0"},
		"no MAC":       {Nodes: map[string]Node{"n": {MAC: "10.0.0.1"}}},
		"all ones":     {Nodes: map[string]Node{"n": {MAC: "ff:ff:ff:ff:ff:ff"}}},
		"eight octets": {Nodes: map[string]Node{"n": {MAC: "02:00:5e:10:00:00:00:01"}}},
	} {
		if _, err := New(opt); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// A MAC address that was corrected after the machine went off is the one that counts.
func TestPoweringOnTakesTheMACOfNow(t *testing.T) {
	d, err := New(Options{Broadcast: "127.0.0.1:9", Nodes: map[string]Node{"n1": {MAC: mac}}})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := d.Ready("n1", power.Machine{Driver: DriverName, ID: "52:54:00:00:00:01"}); err != nil || m.ID != mac {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := d.Ready("n2", power.Machine{Driver: DriverName, ID: "lost"}); err == nil || !strings.Contains(err.Error(), "power.nodes.n2") {
		t.Errorf("without a MAC address: %v", err)
	}
}

package ipmi

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bougou/go-ipmi/pkg/bmc"
	"github.com/bougou/go-ipmi/pkg/hal"
	"github.com/bougou/go-ipmi/pkg/hal/mock"
	"github.com/bougou/go-ipmi/pkg/server"
	"github.com/bougou/go-ipmi/pkg/transport/udp"
	"github.com/bougou/go-ipmi/pkg/types"
	"go.uber.org/goleak"

	"lightsout/internal/testenv"
	"lightsout/power"
	"lightsout/power/internal/fields"
	"lightsout/power/powertest"
)

var _ power.Preflighter = (*Driver)(nil)

func TestMain(m *testing.M) {
	testenv.SideBySide(6) // they mostly wait
	goleak.VerifyTestMain(m)
}

const (
	user     = "ADMIN"
	password = "hunter2-planted"
)

// hardware is a server whose guest obeys: go-ipmi's own only counts what asks it
// to shut down.
type hardware struct {
	*mock.HAL
	hal.ChassisHAL
}

func (h *hardware) Chassis() hal.ChassisHAL { return h }

func (h *hardware) WarmReset(ctx context.Context) error { return h.SetPower(ctx, false) }

// controller is go-ipmi's reference BMC on loopback.
type controller struct {
	address string
	chassis hal.ChassisHAL
	front   *relay
}

// relay passes packets between the driver and the BMC, and can lose them.
type relay struct {
	conn *net.UDPConn
	mu   sync.Mutex
	deaf bool
	// lose drops answers from the moment that the machine's state has changed.
	lose func() bool
	// status, unless it is 0, is the RMCP+ status of each answer to an open-session request.
	status byte
}

func newController(t *testing.T) *controller {
	t.Helper()
	return newControllerOf(t, func(h hal.ChassisHAL) hal.ChassisHAL { return h })
}

// newControllerOf is newController with another chassis.
func newControllerOf(t *testing.T, chassis func(hal.ChassisHAL) hal.ChassisHAL) *controller {
	t.Helper()
	h := &hardware{HAL: mock.New()}
	right := h.HAL.Chassis()
	h.ChassisHAL = chassis(right)
	b := bmc.New(bmc.DeviceInfo{DeviceID: 32, IPMIVersion: 0x20}, [16]byte{1}, h)
	u, err := b.Users.Add(2, user)
	if err != nil {
		t.Fatal(err)
	}
	u.SetPassword([]byte(password))
	u.Enabled = true
	u.ChannelAccess[1] = bmc.UserChannelAccess{MaxPrivilege: bmc.PrivilegeLevelOperator, Enabled: true}
	back, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	s := server.NewServer(b, udp.Wrap(back), server.WithV15Disabled())
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(context.Background())
	}()
	t.Cleanup(func() { _ = s.Close(); <-served })
	if err := right.SetPower(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	c := &controller{chassis: h, front: newRelay(t, back.LocalAddr().(*net.UDPAddr))}
	c.address = c.front.conn.LocalAddr().String()
	return c
}

// newRelay listens for drivers; each gets a socket of its own towards the BMC.
func newRelay(t *testing.T, to *net.UDPAddr) *relay {
	t.Helper()
	front, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{conn: front}
	var wg sync.WaitGroup
	var backs []*net.UDPConn
	wg.Go(func() {
		byPeer := map[string]*net.UDPConn{}
		buf := make([]byte, 4096)
		for {
			n, peer, err := front.ReadFromUDP(buf)
			if err != nil {
				return
			}
			if r.drops(false) {
				continue
			}
			back := byPeer[peer.String()]
			if back == nil {
				if back, err = net.DialUDP("udp", nil, to); err != nil {
					return
				}
				byPeer[peer.String()] = back
				r.mu.Lock()
				backs = append(backs, back)
				r.mu.Unlock()
				wg.Go(func() {
					buf := make([]byte, 4096)
					for {
						n, err := back.Read(buf)
						if errors.Is(err, net.ErrClosed) {
							return
						}
						if err == nil && !r.drops(true) {
							r.refuse(buf[:n])
							_, _ = front.WriteToUDP(buf[:n], peer)
						}
					}
				})
			}
			_, _ = back.Write(buf[:n])
		}
	})
	t.Cleanup(func() {
		front.Close()
		r.mu.Lock()
		for _, b := range backs {
			b.Close()
		}
		r.mu.Unlock()
		wg.Wait()
	})
	return r
}

func (r *relay) drops(answer bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.deaf || answer && r.lose != nil && r.lose()
}

// refuse writes the relay's status into an answer to an open-session request (13.18).
func (r *relay) refuse(answer []byte) {
	const openSessionResponse = 0x11
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status != 0 && len(answer) > 17 && answer[4] == 6 && answer[5]&0x3f == openSessionResponse {
		answer[17] = r.status
	}
}

func (r *relay) set(f func(*relay)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(r)
}

func (c *controller) state() power.State {
	if on, _ := c.chassis.PowerState(context.Background()); on {
		return power.On
	}
	return power.Off
}

func newDriver(t *testing.T, c *controller, password string) *Driver {
	t.Helper()
	d, err := New(Options{Nodes: map[string]fields.Node{"kube-node3": {BMC: c.address}}, User: user, Password: powertest.Secret(password)})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestContract(t *testing.T) {
	powertest.Run(t, func(t *testing.T) *powertest.World {
		c := newController(t)
		d := newDriver(t, c, password)
		return &powertest.World{
			Driver:  d,
			Can:     power.Abilities{State: true, ProvesOff: true, On: true, Shutdown: true, Off: true},
			Machine: powertest.Lookup{Node: power.NodeRef{Name: "kube-node3"}},
			None:    &powertest.Lookup{Node: power.NodeRef{Name: "kube-node4"}, Hint: "10.9.9.9"},
			Set:     func(s power.State) { _ = c.chassis.SetPower(context.Background(), s == power.On) },
			Is:      c.state,
			Unreachable: func() {
				c.front.set(func(r *relay) { r.deaf = true })
				d.resend = time.Millisecond // nothing answers
			},
			Stall: func() func() {
				c.front.set(func(r *relay) { r.deaf = true })
				return func() { c.front.set(func(r *relay) { r.deaf = false }) }
			},
			Lose: func() {
				before := c.state()
				c.front.set(func(r *relay) { r.lose = func() bool { return c.state() != before } })
			},
			Secrets: []string{password},
		}
	})
}

func TestAWrongPasswordIsNotTakenForSilence(t *testing.T) {
	c := newController(t)
	d := newDriver(t, c, "wrong-and-planted")
	m, err := d.Find(t.Context(), power.NodeRef{Name: "kube-node3"}, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.State(t.Context(), m)
	var refused *power.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "power.ipmi") || strings.Contains(err.Error(), "planted") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
	t.Log(err)
	if err := d.Switch(t.Context(), power.ActionOff, m); !errors.As(err, &refused) || c.state() != power.On {
		t.Errorf("off: %v, the machine is %s", err, c.state())
	}
}

// A controller without a free session answers the login with an RMCP+ status. lightsout does not take that for a
// refusal, so it repeats a power-on, and the journal claims no machine.
func TestAControllerWithoutAFreeSessionIsBusy(t *testing.T) {
	c := newController(t)
	d := newDriver(t, c, password)
	m := power.Machine{Driver: DriverName, ID: c.address, Name: "n"}
	for status, busy := range map[byte]bool{0x01: true, 0x02: true, 0x08: true, 0x0b: true, 0x09: false, 0x0a: false, 0x0d: false, 0x11: false} {
		c.front.set(func(r *relay) { r.status = status })
		_, stateErr := d.State(t.Context(), m)
		for _, err := range []error{stateErr, d.Switch(t.Context(), power.ActionOn, m)} {
			refused := errors.As(err, new(*power.RefusedError))
			if err == nil || refused == busy || strings.Contains(err.Error(), "no free session") != busy || strings.Contains(err.Error(), "check user") == busy {
				t.Errorf("status %#02x: refused %t: %v", status, refused, err)
			}
		}
	}
	c.front.set(func(r *relay) { r.status = 0x01 })
	if powertest.Claims(t, d, power.ActionOff, m) {
		t.Error("the journal lists a machine to which nothing was sent")
	}
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.1.13":         "10.0.1.13:623",
		"10.0.1.13:6230":    "10.0.1.13:6230",
		"node3-bmc.example": "node3-bmc.example:623",
		"fd00::1":           "[fd00::1]:623",
		"[fd00::1]:6230":    "[fd00::1]:6230",
		"":                  "",
		"a:b:c":             "",
		"host:0":            "",
		"host:99999":        "",
		"a/b":               "",
		"-oops":             "",
	} {
		got, err := endpoint(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestOptionsThatCantBeMeantAreRefused(t *testing.T) {
	for name, opt := range map[string]Options{
		"no user":        {Password: powertest.Secret("x")},
		"no password":    {User: "x"},
		"a long user":    {User: strings.Repeat("x", 17), Password: powertest.Secret("x")},
		"a bad template": {User: "x", Password: powertest.Secret("x"), Address: "{{.Nod}}"},
	} {
		if _, err := New(opt); err == nil || !strings.Contains(err.Error(), "power.ipmi") {
			t.Errorf("%s: %v", name, err)
		}
	}
	d, err := New(Options{User: "x", Password: powertest.Secret(strings.Repeat("planted", 3)), Address: "10.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.State(t.Context(), power.Machine{ID: "10.0.0.1:623"}); err == nil || strings.Contains(err.Error(), "planted") {
		t.Errorf("a long password: %v", err)
	}
}

// lateChassis switches, and answers too late.
type lateChassis struct{ hal.ChassisHAL }

func (l lateChassis) SetPower(ctx context.Context, on bool) error {
	_ = l.ChassisHAL.SetPower(ctx, on)
	return errors.New("timeout while processing command")
}

func TestACompletionCodeWithoutAResultIsUncertain(t *testing.T) {
	c := newControllerOf(t, func(h hal.ChassisHAL) hal.ChassisHAL { return lateChassis{h} })
	d := newDriver(t, c, password)
	err := d.Switch(t.Context(), power.ActionOff, power.Machine{Driver: DriverName, ID: c.address, Name: "n"})
	var unconfirmed *power.UnconfirmedError
	if !errors.As(err, &unconfirmed) {
		t.Errorf("the machine is %s: %T %v", c.state(), err, err)
	}
}

// otherHands is a chassis that goes off before the answer to lightsout's request, which is refused: by that
// request, which somebody on the way sent twice, or by somebody else's.
type otherHands struct{ hal.ChassisHAL }

func (o otherHands) SetPower(ctx context.Context, on bool) error {
	if !on {
		_ = o.ChassisHAL.SetPower(ctx, false)
		return types.CompletionCode(otherState)
	}
	return o.ChassisHAL.SetPower(ctx, on)
}

func TestAMachineThatIsOffAfterAConflictMayBeOurs(t *testing.T) {
	c := newControllerOf(t, func(h hal.ChassisHAL) hal.ChassisHAL { return otherHands{h} })
	d := newDriver(t, c, password)
	if !powertest.Claims(t, d, power.ActionOff, power.Machine{Driver: DriverName, ID: c.address, Name: "n"}) {
		t.Error("the journal does not list it")
	}
	if c.state() != power.Off {
		t.Error("the machine is on")
	}
}

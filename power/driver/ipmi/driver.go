// Package ipmi is the power driver for servers whose management controller
// (BMC) speaks IPMI 2.0 over the network (RMCP+, what ipmitool calls lanplus).
//
// The protocol itself is github.com/bougou/go-ipmi: unlike a command, it keeps
// the password out of every process list. Only cipher suites 17 and 3 are used;
// suite 0 lets anybody in, and 1 and 2 do not encrypt. IPMI's login gives a
// keyed sum of the password to whoever asks for it, so that its network should
// be one that strangers don't reach. It is UDP, which ssh does not forward:
// lightsout must run where the controllers can be reached.
package ipmi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/bougou/go-ipmi/pkg/client"
	"github.com/bougou/go-ipmi/pkg/command/chassis"

	"lightsout/power"
	"lightsout/power/internal/fields"
)

// DriverName is the driver's name in configuration files.
const DriverName = "ipmi"

func init() {
	power.Register(power.DriverSpec{Name: DriverName, Off: true, On: true, Section: func() power.Section { return new(Options) }, Node: func() any { return new(fields.Node) },
		Needs: "power.ipmi is missing: it needs at least user and password_file or password_env",
	})
}

// defaultAddress is the template of a controller's address.
const defaultAddress = "{{.BMC}}"

const (
	// port of RMCP (ASF 2.0, 3.2.2.3).
	port = "623"
	// resendAfter is after how long without an answer a question is sent again, and
	// resends how often.
	resendAfter = time.Second
	resends     = 3
	// limit bounds one login with its requests.
	limit = 30 * time.Second
	// maxPassword is the longest password of IPMI 2.0, in bytes (22.30).
	maxPassword = 20
)

// Options are the section power.ipmi: where controllers are and how they are logged in to.
type Options struct {
	// Address is a template for a controller's address, with a port if it is not
	// 623; defaultAddress when empty.
	Address string `json:"address"`
	// Nodes holds the controllers, {{.BMC}} in the template, by node name.
	Nodes map[string]fields.Node `json:"-"`
	// User and Password log in, with the privilege of an operator.
	User         string       `json:"user"`
	Password     power.Source `json:"-"`
	PasswordFile string       `json:"password_file" path:"file"`
	PasswordEnv  string       `json:"password_env"`
}

// Build makes the driver.
func (o *Options) Build(site power.Site) (power.Driver, error) {
	opt := *o
	opt.Nodes = power.NodesOf[fields.Node](site)
	var err error
	opt.Password, err = site.Secret(power.Secret{
		Field: "power.ipmi.password", Name: "the password of power.ipmi", File: o.PasswordFile, Env: o.PasswordEnv, Must: true,
	})
	if err != nil {
		return nil, err
	}
	return New(opt)
}

// Driver switches servers by their controllers. It is safe for use by several
// goroutines, and keeps no session open.
type Driver struct {
	opt     Options
	address *fields.Template
	// resend is resendAfter, or shorter in tests.
	resend time.Duration

	// turns are held while a controller is spoken to, which has few sessions: a
	// *semaphore.Weighted by address.
	turns sync.Map
}

// New makes the driver. It sends nothing.
func New(opt Options) (*Driver, error) {
	address, err := fields.Parse("power.ipmi.address", cmp.Or(opt.Address, defaultAddress))
	if err != nil {
		return nil, err
	}
	if opt.User == "" || opt.Password == nil {
		return nil, power.Wrong("power.ipmi", " needs user, and password_file or password_env")
	}
	if len(opt.User) > 16 {
		return nil, power.Wrong("power.ipmi.user", " is longer than the 16 bytes that IPMI allows")
	}
	return &Driver{opt: opt, address: address, resend: resendAfter}, nil
}

// Abilities: all of them; its Off is proof.
func (d *Driver) Abilities() power.Abilities {
	return power.Abilities{State: true, ProvesOff: true, On: true, Shutdown: true, Off: true}
}

func (d *Driver) password() (string, error) {
	p, err := d.opt.Password()
	if err == nil && len(p) > maxPassword {
		err = fmt.Errorf("the password of power.ipmi is longer than the %d bytes that IPMI allows", maxPassword)
	}
	if err != nil {
		return "", &power.RefusedError{Why: err.Error()}
	}
	return p, nil
}

// Find gives the node's controller, by the template.
func (d *Driver) Find(_ context.Context, node power.NodeRef, hint string) (power.Machine, error) {
	text, how, err := d.address.Controller(fields.Of(node, hint, d.opt.Nodes[node.Name].BMC))
	if err != nil {
		return power.Machine{}, err
	}
	address, err := endpoint(text)
	if err != nil {
		return power.Machine{}, err
	}
	host, _, _ := net.SplitHostPort(address)
	return power.Machine{Driver: DriverName, ID: address, Name: power.Clean(node.Name), Address: host, How: how}, nil
}

// Ready reads the password. A machine has no settings of its own.
func (d *Driver) Ready(_ string, m power.Machine) (power.Machine, error) {
	_, err := d.password()
	return m, err
}

// endpoint gives host:port.
func endpoint(text string) (string, error) {
	host, p := text, port
	if _, err := netip.ParseAddr(text); err != nil && strings.Contains(text, ":") {
		host, p, _ = net.SplitHostPort(text) // without a host where that fails
	}
	if n, err := net.LookupPort("udp", p); err != nil || n == 0 || !fields.Plain(host) || strings.ContainsAny(host, "/@") {
		return "", fmt.Errorf("%q is not the address of a controller; it looks like 10.0.1.13 or 10.0.1.13:623", power.Clean(text))
	}
	return net.JoinHostPort(host, p), nil
}

// State asks for the chassis status. A controller that does not answer is
// Unknown: its power supply may have been cut, or the way there.
func (d *Driver) State(ctx context.Context, m power.Machine) (power.Reading, error) {
	var on bool
	err := d.talk(ctx, m, func(ctx context.Context, c *client.Client) (err error) {
		on, err = status(ctx, c)
		return err
	})
	switch {
	case err != nil:
		return power.Unanswered(power.Reading{}, err)
	case on:
		return power.Reported(power.On, "chassis power is on"), nil
	}
	return power.Reported(power.Off, "chassis power is off"), nil
}

// status reads the chassis power state (28.2).
func status(ctx context.Context, c *client.Client) (on bool, err error) {
	s, err := c.GetChassisStatus(ctx)
	if err != nil {
		return false, said(err, "the chassis status")
	}
	return s.PowerIsOn, nil
}

// Preflight asks for the state: a controller that tells it can be expected to
// switch.
func (d *Driver) Preflight(ctx context.Context, _ power.Action, m power.Machine) error {
	return d.talk(ctx, m, func(ctx context.Context, c *client.Client) error {
		_, err := status(ctx, c)
		return err
	})
}

// controls are the chassis controls (28.3) by action; the soft shutdown asks the
// guest, by ACPI.
var controls = map[power.Action]chassis.ChassisControl{
	power.ActionOn: chassis.ChassisControlPowerUp, power.ActionOff: chassis.ChassisControlPowerDown,
	power.ActionShutdown: chassis.ChassisControlSoftShutdown,
}

// Switch sends a chassis control, once: what got no answer may have been carried
// out.
func (d *Driver) Switch(ctx context.Context, a power.Action, m power.Machine) error {
	return d.talk(ctx, m, func(ctx context.Context, c *client.Client) error {
		on, err := status(ctx, c)
		if err != nil || on == (a == power.ActionOn) {
			return err
		}
		if err := ctx.Err(); err != nil {
			return &power.SilentError{Text: "nothing was switched: lightsout stopped waiting", Err: err}
		}
		if err := power.BeforeSend(ctx); err != nil {
			return err
		}
		c.WithRetry(0)
		_, reply := c.ChassisControl(ctx, controls[a])
		if reply == nil {
			return nil
		}
		err = said(reply, "the chassis control")
		switch refused := new(*power.RefusedError); {
		case isCode(reply, otherState):
			return &power.ConflictError{Why: err.Error()}
		case errors.As(err, refused) && !isCode(reply, noResult...):
			return err
		}
		return &power.UnconfirmedError{Why: err.Error()}
	})
}

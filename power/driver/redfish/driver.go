// Package redfish is the power driver for servers whose management controller
// (BMC) speaks Redfish (DMTF DSP0266): a system's PowerState is read, and its
// Reset action is posted with a ResetType that the controller allows.
package redfish

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"lightsout/power"
	"lightsout/power/internal/fields"
	"lightsout/power/internal/rest"
)

// DriverName is the driver's name in configuration files.
const DriverName = "redfish"

func init() {
	power.Register(power.DriverSpec{Name: DriverName, Off: true, On: true, Section: func() power.Section { return new(Options) }, Node: func() any { return new(fields.Node) },
		Needs: "power.redfish is missing: it needs at least user and password_file or password_env",
	})
}

// defaultURL is the template of a controller's address.
const defaultURL = "https://{{.BMC}}"

// Options are the section power.redfish: where controllers are and how they are logged in to.
type Options struct {
	// URL is a template for a controller's address; defaultURL when empty.
	URL string `json:"url"`
	// System is a template for the system's Id, name, UUID or path, where a
	// controller has several. Empty: the only one, or the one with the hint's or
	// the node's name.
	System string `json:"system"`
	// Nodes holds the controllers, {{.BMC}} in the templates, by node name.
	Nodes map[string]fields.Node `json:"-"`
	// User and Password log in.
	User         string       `json:"user"`
	Password     power.Source `json:"-"`
	PasswordFile string       `json:"password_file" path:"file"`
	PasswordEnv  string       `json:"password_env"`
	// CAFile holds certificates (PEM) of authorities, or of the controllers
	// themselves, that are trusted instead of the system's.
	CAFile string `json:"ca_file" path:"file"`
	// Fingerprints are SHA-256 sums, in hex, of controllers' certificates that
	// are trusted as they are, whatever name they are for.
	Fingerprints []string `json:"cert_sha256"`
	// LegacyTLS accepts what old controllers have: RSA key exchange, which keeps no secret from whoever
	// gets the controller's key later, and certificates with a negative serial number.
	LegacyTLS bool `json:"legacy_tls"`
	// ViaBastion sends requests through the bastion.
	ViaBastion bool `json:"via_bastion"`
	// Dial makes connections; nil: straight.
	Dial power.Dial `json:"-"`
}

// Build makes the driver.
func (o *Options) Build(site power.Site) (power.Driver, error) {
	opt := *o
	opt.Nodes, opt.Dial = power.NodesOf[fields.Node](site), site.Via(o.ViaBastion)
	if site.CheckOnly {
		opt.CAFile = ""
	}
	var err error
	opt.Password, err = site.Secret(power.Secret{
		Field: "power.redfish.password", Name: "the password of power.redfish", File: o.PasswordFile, Env: o.PasswordEnv, Must: true,
	})
	if err != nil {
		return nil, err
	}
	return New(opt)
}

// Driver switches servers by their controllers. It is safe for use by several
// goroutines.
type Driver struct {
	opt    Options
	url    *fields.Template
	system *fields.Template
	rest   rest.Client
	// patience bounds each request of a lookup: controllers may be slow.
	patience time.Duration
}

// New makes the driver. It makes no request.
func New(opt Options) (*Driver, error) {
	d := &Driver{opt: opt, patience: 10 * time.Second}
	var err error
	d.url, err = fields.Parse("power.redfish.url", cmp.Or(opt.URL, defaultURL))
	if err != nil {
		return nil, err
	}
	d.system, err = fields.Parse("power.redfish.system", opt.System)
	if err != nil {
		return nil, err
	}
	if opt.User == "" || opt.Password == nil {
		return nil, power.Wrong("power.redfish", " needs user, and password_file or password_env")
	}
	transport, err := newTransport(opt)
	if err != nil {
		return nil, err
	}
	d.rest = rest.Client{Name: "the controller", HTTP: rest.HTTP(transport)}
	return d, nil
}

// Abilities: all of them; its Off is proof.
func (d *Driver) Abilities() power.Abilities {
	return power.Abilities{State: true, ProvesOff: true, On: true, Shutdown: true, Off: true}
}

// link is a reference to another resource.
type link struct {
	ID string `json:"@odata.id"`
}

// system is a ComputerSystem, as far as it matters here.
type system struct {
	ID           string `json:"Id"`
	Name         string
	UUID         string
	HostName     string
	SerialNumber string
	PowerState   string
	Actions      struct {
		Reset struct {
			Target    string   `json:"target"`
			Allowable []string `json:"ResetType@Redfish.AllowableValues"`
			Info      string   `json:"@Redfish.ActionInfo"`
		} `json:"#ComputerSystem.Reset"`
	}
}

// Ready reads the password. A machine has no settings of its own.
func (d *Driver) Ready(_ string, m power.Machine) (power.Machine, error) {
	if _, err := d.opt.Password(); err != nil {
		return m, &power.RefusedError{Why: err.Error()}
	}
	return m, nil
}

// State reads the system's PowerState. A controller that does not answer is
// Unknown: its power supply may have been cut, or the way there.
func (d *Driver) State(ctx context.Context, m power.Machine) (power.Reading, error) {
	var s system
	switch err := d.get(ctx, m.ID, &s); {
	case rest.Code(err) == http.StatusNotFound:
		return power.Reported(power.Unknown, "the controller has no such system"), nil
	case err != nil:
		return power.Unanswered(power.Reading{}, err)
	}
	return reading(s.PowerState), nil
}

// powerStates are what a PowerState means (DSP2046, ComputerSystem).
var powerStates = map[string]power.State{
	"On": power.On, "Off": power.Off, "PoweringOn": power.Transitioning, "PoweringOff": power.Transitioning,
}

func reading(state string) power.Reading {
	if state == "" {
		return power.Reported(power.Unknown, "the controller reports no PowerState")
	}
	return power.Reported(powerStates[state], "PowerState "+state)
}

// Preflight asks for the state, and whether the controller allows a ResetType
// for the action.
func (d *Driver) Preflight(ctx context.Context, a power.Action, m power.Machine) error {
	var s system
	if err := d.get(ctx, m.ID, &s); err != nil {
		return err
	}
	if r := reading(s.PowerState); r.State == power.Unknown {
		return fmt.Errorf("the controller does not know the state of %s (%s)", m.Title(), r.Detail)
	}
	_, err := d.resetType(ctx, m, s, a)
	return err
}

// resetTypes are those that do what an action is for, best first.
var resetTypes = map[power.Action][]string{
	power.ActionOn:       {"On", "ForceOn"},
	power.ActionShutdown: {"GracefulShutdown"},
	power.ActionOff:      {"ForceOff"},
}

// resetType chooses among what the controller allows. One that does not say is
// asked for the usual.
func (d *Driver) resetType(ctx context.Context, m power.Machine, s system, a power.Action) (string, error) {
	wanted := resetTypes[a]
	allowed := s.Actions.Reset.Allowable
	if len(allowed) == 0 && s.Actions.Reset.Info != "" {
		var info struct {
			Parameters []struct {
				Name            string
				AllowableValues []string
			}
		}
		if err := d.get(ctx, resolve(m.ID, s.Actions.Reset.Info), &info); err == nil {
			for _, p := range info.Parameters {
				if p.Name == "ResetType" {
					allowed = p.AllowableValues
				}
			}
		}
	}
	if len(allowed) == 0 {
		return wanted[0], nil
	}
	for _, w := range wanted {
		if slices.Contains(allowed, w) {
			return w, nil
		}
	}
	return "", &power.RefusedError{Why: fmt.Sprintf("the controller of %s cannot %s it: it allows %s",
		m.Title(), power.Verb(a), power.Clean(strings.Join(allowed, ", ")))}
}

// Switch posts a reset of the type that does what the action is for.
func (d *Driver) Switch(ctx context.Context, a power.Action, m power.Machine) error {
	var s system
	if err := d.get(ctx, m.ID, &s); err != nil {
		return err
	}
	if reading(s.PowerState).State == a.Wanted() {
		return nil // some controllers answer such a request with an error
	}
	reset, err := d.resetType(ctx, m, s, a)
	if err != nil {
		return err
	}
	target := cmp.Or(s.Actions.Reset.Target, strings.TrimRight(path(m.ID), "/")+"/Actions/ComputerSystem.Reset")
	err = d.call(ctx, http.MethodPost, resolve(m.ID, target), map[string]string{"ResetType": reset}, nil)
	return d.rest.Switched(err)
}

// resolve gives the URL of a reference on the same controller. One that leads
// elsewhere is cut to its path: the password is for this controller alone.
func resolve(base, ref string) string {
	b, err := url.Parse(base)
	r, wrong := url.Parse(ref)
	if err != nil || wrong != nil || !strings.HasPrefix(r.Path, "/") {
		return base
	}
	out := url.URL{Scheme: b.Scheme, Host: b.Host, Path: r.Path, RawPath: r.RawPath, RawQuery: r.RawQuery}
	return out.String()
}

func path(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.EscapedPath()
}

// Package mdx is the power driver for virtual machines of the mdx platform
// (https://mdx.jp), by the REST API of its user portal.
//
// The API has no public specification. This driver follows the platform operators' own
// client (nii-gakunin-cloud/mdx-rest-client-python): the portal accepts power requests
// with 202 and carries them out later, their bodies are not reliable, and the driver
// polls the VM's status for the result.
//
// This package only uses that API. It does not log in to the portal in a user's name:
// the user issues a token there.
package mdx

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"lightsout/internal/text"
	"lightsout/power"
	"lightsout/power/internal/rest"
)

// DriverName is the driver's name in configuration files.
const DriverName = "mdx"

func init() {
	power.Register(power.DriverSpec{Name: DriverName, Off: true, On: true, Section: func() power.Section { return new(Options) }, Node: func() any { return new(Node) },
		Needs: "power.mdx is missing: it needs at least project and token_file or token_env",
	})
}

// defaultURL is the portal's.
const defaultURL = "https://oprpl.mdx.jp"

// Options are the section power.mdx: which portal and project to speak to.
type Options struct {
	// URL is the portal's; defaultURL when empty.
	URL string `json:"url"`
	// PlainHTTP allows a URL of http, by which anybody on the way can read the
	// token. Loopback and the lab need no such word.
	PlainHTTP bool `json:"plain_http"`
	// Project is the project's uuid or name; it may be empty when the token is
	// for one project only.
	Project string `json:"project"`
	// Token gives the token that the user has issued in the portal.
	Token     power.Source `json:"-"`
	TokenFile string       `json:"token_file" path:"file"`
	TokenEnv  string       `json:"token_env"`
	// ViaBastion sends requests through the bastion.
	ViaBastion bool `json:"via_bastion"`
	// Dial makes connections; nil: straight, over IPv4 only.
	Dial power.Dial `json:"-"`
	// Nodes holds the settings of each node by its name.
	Nodes map[string]Node `json:"-"`
}

// Node is what an entry below power.nodes may say.
type Node struct {
	// ServiceLevel is what the VM is powered on with, whatever the portal says.
	ServiceLevel string `json:"service_level"`
}

// Build makes the driver.
func (o *Options) Build(site power.Site) (power.Driver, error) {
	opt := *o
	opt.Dial, opt.PlainHTTP, opt.Nodes = site.Via(o.ViaBastion), o.PlainHTTP, power.NodesOf[Node](site)
	var err error
	opt.Token, err = site.Secret(power.Secret{
		Field: "power.mdx.token", Name: "the portal's token", File: o.TokenFile, Env: o.TokenEnv, Must: true,
	})
	if err != nil {
		return nil, err
	}
	return New(opt)
}

// Driver switches virtual machines through the portal. It is safe for use by
// several goroutines; no more than five requests are under way at once.
type Driver struct {
	url     string
	project string
	nodes   map[string]Node
	rest    rest.Client
	tokens  *tokens
	// turns bounds the requests, and switches, which is acquired before, those that switch.
	turns, switches *semaphore.Weighted
	// pauses before a read is repeated.
	pauses []time.Duration

	projectID atomic.Pointer[string] // nil until it is found

	inventory inventory
}

// New makes the driver. It makes no request.
func New(opt Options) (*Driver, error) {
	for _, node := range slices.Sorted(maps.Keys(opt.Nodes)) {
		if level := opt.Nodes[node].ServiceLevel; level != "" && !isLevel(level) {
			return nil, power.Wrong("power.nodes."+power.Clean(node)+".service_level", ": %q is not a service level of mdx; it is %s or %s", power.Clean(level), levelSpot, levelGuarantee)
		}
	}
	u, err := url.Parse(cmp.Or(opt.URL, defaultURL))
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") || u.User != nil || u.RawQuery != "" {
		// The error does not repeat the value, which may hold a password.
		return nil, power.Wrong("power.mdx.url", " is not the address of a portal: it looks like https://oprpl.mdx.jp, without user or query")
	}
	if u.Scheme == "http" && !opt.PlainHTTP && !rest.Loopback(u.Hostname()) {
		return nil, power.Wrong("power.mdx.url", " is http, and anybody on the route can read the token: use https, or allow http with plain_http: true under power.mdx")
	}
	if opt.Token == nil {
		return nil, power.Wrong("power.mdx", ": the token is missing; give token_file or token_env")
	}
	d := &Driver{
		url:      strings.TrimRight(u.String(), "/"),
		project:  opt.Project,
		nodes:    opt.Nodes,
		turns:    semaphore.NewWeighted(parallel),
		switches: semaphore.NewWeighted(parallel - 1),
		pauses:   []time.Duration{time.Second, 2 * time.Second, 4 * time.Second},
		// Its name resolves to IPv6 addresses that often don't answer.
		rest: rest.Client{Name: "the mdx portal", HTTP: rest.HTTP(rest.Transport(opt.Dial, "tcp4"))},
	}
	d.tokens = &tokens{source: opt.Token, exchange: d.exchange, turn: semaphore.NewWeighted(1)}
	d.inventory.turn = semaphore.NewWeighted(1)
	return d, nil
}

// Close closes idle connections.
func (d *Driver) Close() { d.rest.HTTP.CloseIdleConnections() }

// Abilities: all of them; its Off is proof.
func (d *Driver) Abilities() power.Abilities {
	return power.Abilities{State: true, ProvesOff: true, On: true, Shutdown: true, Off: true}
}

// State polls the VM's status.
func (d *Driver) State(ctx context.Context, m power.Machine) (power.Reading, error) {
	_, r, err := d.look(ctx, m)
	return r, err
}

// look reads a VM, and what its status means.
func (d *Driver) look(ctx context.Context, m power.Machine) (vm, power.Reading, error) {
	v, err := d.detail(ctx, m.ID)
	if rest.Code(err) == http.StatusNotFound {
		return v, power.Reported(power.Unknown, noVM), nil
	}
	return v, reading(v.Status), err
}

// States polls many VMs' status with one request for each hundred of the
// project.
func (d *Driver) States(ctx context.Context, machines []power.Machine) ([]power.Reading, error) {
	vms, err := d.list(ctx)
	if err != nil {
		return nil, err
	}
	return text.Each(machines, func(m power.Machine) power.Reading {
		if k := slices.IndexFunc(vms, func(v vm) bool { return v.UUID == m.ID }); k >= 0 {
			return reading(vms[k].Status)
		}
		return power.Reported(power.Unknown, noVM)
	}), nil
}

// noVM is the text for a VM that does not exist.
const noVM = "the portal has no such VM"

// states are what a VM's statuses mean (the operators' client, mdx_lib.py). Suspended is neither on
// nor off: the platform does that to spot VMs by itself, and power_on is not possible from it.
var states = map[string]power.State{
	"PowerON": power.On, "PowerOFF": power.Off, "Deallocated": power.Off, "Deploying": power.Transitioning,
}

// reading maps a status.
func reading(status string) power.Reading {
	detail := status
	switch status {
	case "Suspended":
		detail = "Suspended, by the platform"
	case "":
		detail = "the portal reports no status"
	}
	return power.Reported(states[status], detail)
}

// requests are the portal's words for the actions.
var requests = map[power.Action]string{power.ActionOn: "power_on", power.ActionOff: "power_off", power.ActionShutdown: "shutdown"}

// Switch posts an action when the VM is in the state that it starts from, and
// is done when it is there already; from other states it is refused, as the
// portal would. A VM is powered on with the service level in the machine's
// Params, or that of the portal when there is none.
func (d *Driver) Switch(ctx context.Context, a power.Action, m power.Machine) error {
	v, r, err := d.look(ctx, m)
	if err != nil {
		return err
	}
	if due, err := rest.Due(a, m, r, "; check it in the mdx portal"); !due {
		return err
	}
	var body map[string]string
	if a == power.ActionOn {
		asked, _ := serviceLevel(v.ServiceLevel)
		level := cmp.Or(m.Params[power.ParamServiceLevel], asked)
		if !isLevel(level) { // of a journal that somebody has edited
			return &power.RefusedError{Why: fmt.Sprintf("%q is not a service level of mdx; set service_level for the node of %s under power.nodes to %s or %s",
				power.Clean(level), m.Title(), levelSpot, levelGuarantee)}
		}
		body = map[string]string{"service_level": level}
	}
	err = d.call(ctx, http.MethodPost, vmPath(m.ID)+requests[a]+"/", body, nil)
	switch code := rest.Code(err); {
	case code == http.StatusNotFound && a == power.ActionOn:
		return err // seen under load; asking again is harmless
	case code == http.StatusForbidden:
		err = fmt.Errorf("the mdx portal does not allow this token's user to switch %s (%w)", m.Title(), err)
	}
	return d.rest.Switched(err)
}

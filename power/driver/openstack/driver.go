// Package openstack is the power driver for servers of an OpenStack cloud, by
// Nova's actions os-start and os-stop. Credentials come from where OpenStack's
// own commands take them: clouds.yaml, or the environment variables OS_*.
//
// os-stop asks the guest to shut down and pulls the plug when it has not after
// a while (Nova's shutdown_timeout, a minute by default). There is no action
// that pulls it at once.
package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"golang.org/x/sync/semaphore"

	"lightsout/internal/text"
	"lightsout/power"
	"lightsout/power/internal/match"
	"lightsout/power/internal/poll"
	"lightsout/power/internal/rest"
)

// DriverName is the driver's name in configuration files.
const DriverName = "openstack"

func init() {
	power.Register(power.DriverSpec{Name: DriverName, Off: true, On: true, Section: func() power.Section { return new(Options) }})
}

// Options are the section power.openstack: which cloud.
type Options struct {
	// Cloud is its name in clouds.yaml; empty: that of OS_CLOUD, or else the
	// credentials of the other OS_ variables.
	Cloud string `json:"cloud"`
	// CloudsFile is the clouds.yaml; empty: where OpenStack's commands look.
	CloudsFile string `json:"clouds_file" path:"file"`
	// Region replaces the region from there.
	Region string `json:"region"`
	// ViaBastion sends requests through the bastion.
	ViaBastion bool `json:"via_bastion"`
	// Dial makes connections; nil: straight.
	Dial power.Dial `json:"-"`
}

// Build makes the driver.
func (o *Options) Build(site power.Site) (power.Driver, error) {
	opt := *o
	opt.Dial = site.Via(o.ViaBastion)
	return New(opt)
}

// Driver switches servers by Nova. It is safe for use by several goroutines.
// Close ends all calls under way.
type Driver struct {
	opt   Options
	lists *poll.Shared[[]servers.Server]

	turn *semaphore.Weighted // held while nova is read or set
	nova *gophercloud.ServiceClient

	secrets atomic.Pointer[func() []string] // nil until there are any
}

// New makes the driver. It makes no request and reads no credentials.
func New(opt Options) (*Driver, error) {
	if opt.CloudsFile != "" && opt.Cloud == "" {
		return nil, power.Wrong("power.openstack.clouds_file", " is set without cloud: name one of its clouds")
	}
	return &Driver{opt: opt, lists: poll.New[[]servers.Server](time.Minute), turn: semaphore.NewWeighted(1)}, nil
}

// Close ends all calls under way and closes connections.
func (d *Driver) Close() {
	d.lists.Close()
	_ = d.turn.Acquire(context.Background(), 1) // whose end is the only error
	defer d.turn.Release(1)
	if d.nova != nil {
		d.nova.HTTPClient.CloseIdleConnections()
	}
}

// Abilities: it powers on and shuts down; its Off is proof. It can't pull the
// plug at once.
func (d *Driver) Abilities() power.Abilities {
	return power.Abilities{State: true, ProvesOff: true, On: true, Shutdown: true}
}

// list gives all servers of the project. Who asks while one is under way is
// given its answer.
func (d *Driver) list(ctx context.Context) (all []servers.Server, asked time.Time, err error) {
	return d.lists.Do(ctx, "", func(ctx context.Context) ([]servers.Server, error) {
		nova, err := d.connect(ctx)
		if err != nil {
			return nil, err
		}
		pages, err := servers.List(nova, servers.ListOpts{}).AllPages(ctx)
		if err != nil {
			return nil, d.explain("the servers can't be listed", err)
		}
		all, err := servers.ExtractServers(pages)
		if err != nil {
			return nil, errors.New("lightsout cannot parse OpenStack's list of servers")
		}
		return all, nil
	})
}

// Find looks a node's server up, as match.One does; a providerID is
// openstack:///id.
func (d *Driver) Find(ctx context.Context, node power.NodeRef, hint string) (power.Machine, error) {
	all, _, err := d.list(ctx)
	if err != nil {
		return power.Machine{}, err
	}
	last := ""
	if strings.HasPrefix(node.ProviderID, "openstack://") {
		last = node.ProviderID[strings.LastIndexByte(node.ProviderID, '/')+1:]
	}
	known := text.Each(all, func(s servers.Server) match.Candidate {
		return match.Candidate{ID: s.ID, Name: s.Name, Addresses: addresses(s)}
	})
	m, _, err := match.One(DriverName, node, hint, last, known)
	return m, err
}

// Ready reads the credentials. A server has no settings of its own.
func (d *Driver) Ready(_ string, m power.Machine) (power.Machine, error) {
	if _, err := d.opt.read(); err != nil {
		return m, &power.RefusedError{Why: err.Error()}
	}
	return m, nil
}

// addresses reads {"network": [{"addr": "10.0.0.1", …}]}.
func addresses(s servers.Server) (out []string) {
	for _, network := range s.Addresses {
		list, _ := network.([]any)
		for _, item := range list {
			entry, _ := item.(map[string]any)
			if addr, ok := entry["addr"].(string); ok {
				out = append(out, addr)
			}
		}
	}
	slices.Sort(out)
	return out
}

// noServer is the text for a server that does not exist.
const noServer = "OpenStack has no such server"

// State reads the server's status.
func (d *Driver) State(ctx context.Context, m power.Machine) (power.Reading, error) {
	s, err := d.get(ctx, m)
	if rest.Code(err) == http.StatusNotFound {
		return power.Reported(power.Unknown, noServer), nil
	}
	if err != nil {
		return power.Reading{}, err
	}
	return reading(*s), nil
}

func (d *Driver) get(ctx context.Context, m power.Machine) (*servers.Server, error) {
	if strings.ContainsAny(m.ID, "/?#%") || m.ID == "" {
		return nil, &power.RefusedError{Why: fmt.Sprintf("%q is not a server's id", power.Clean(m.ID))}
	}
	nova, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	s, err := servers.Get(ctx, nova, m.ID).Extract()
	if err != nil {
		return nil, d.explain("the state of "+m.Title()+" can't be read", err)
	}
	return s, nil
}

// States polls all machines with one list.
func (d *Driver) States(ctx context.Context, machines []power.Machine) ([]power.Reading, error) {
	all, asked, err := d.list(ctx)
	if err != nil {
		return nil, err
	}
	return text.Each(machines, func(m power.Machine) power.Reading {
		r := power.Reported(power.Unknown, noServer)
		if k := slices.IndexFunc(all, func(s servers.Server) bool { return s.ID == m.ID }); k >= 0 {
			r = reading(all[k])
		}
		r.RequestedAt = asked
		return r
	}), nil
}

// reading maps a status (Nova API guide, "Server concepts"). A task that is
// under way counts for more than the status that it began from.
func reading(s servers.Server) power.Reading {
	switch {
	case s.TaskState != "":
		return power.Reported(power.Transitioning, s.Status+", "+s.TaskState)
	case s.Status == "ACTIVE" && (s.PowerState == servers.SHUTDOWN || s.PowerState == servers.CRASHED):
		// Nova has seen that it stopped, and has not made it SHUTOFF yet.
		return power.Reported(power.Transitioning, "ACTIVE, and its power state is "+s.PowerState.String())
	case s.Status == "":
		return power.Reported(power.Unknown, "OpenStack reports no status")
	}
	return power.Reported(states[s.Status], s.Status)
}

// states are what a status means when no task is under way.
var states = map[string]power.State{
	"ACTIVE": power.On, "SHUTOFF": power.Off, "BUILD": power.Transitioning, "REBUILD": power.Transitioning, "REBOOT": power.Transitioning,
	"HARD_REBOOT": power.Transitioning, "MIGRATING": power.Transitioning, "RESIZE": power.Transitioning, "REVERT_RESIZE": power.Transitioning,
	"PASSWORD": power.Transitioning,
}

// Switch starts or stops the server (os-start, os-stop) when it is in the state
// that this starts from. Nova pulls no plug.
func (d *Driver) Switch(ctx context.Context, a power.Action, m power.Machine) error {
	s, err := d.get(ctx, m)
	if rest.Code(err) == http.StatusNotFound {
		return &power.RefusedError{Why: m.Title() + " can't be switched: " + noServer}
	}
	if err != nil {
		return err
	}
	if due, err := rest.Due(a, m, reading(*s), ""); !due {
		return err
	}
	nova, err := d.connect(ctx)
	if err != nil {
		return err
	}
	d.lists.Forget("")
	defer d.lists.Forget("")
	what := "start" // by rest, which calls power.BeforeSend each time that it is sent
	if a == power.ActionOn {
		err = servers.Start(ctx, nova, m.ID).ExtractErr()
	} else {
		what, err = "stop", servers.Stop(ctx, nova, m.ID).ExtractErr()
	}
	if err != nil {
		if unsent, ok := errors.AsType[*rest.UnsentError](err); ok {
			return unsent.Err
		}
		sent := errors.As(err, new(*rest.LostError))
		err = d.explain("OpenStack was asked to "+what+" "+m.Title(), err)
		if sent || rest.Unsure(rest.Code(err)) {
			return &power.UnconfirmedError{Why: err.Error()}
		}
		return err
	}
	return nil
}

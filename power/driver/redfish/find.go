package redfish

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"lightsout/power"
	"lightsout/power/internal/fields"
	"lightsout/power/internal/match"
	"lightsout/power/internal/rest"
)

// root is where every Redfish service begins (DSP0266, 6.2).
const root = "/redfish/v1/"

// systemsLimit bounds the number of systems that are read from one controller.
const systemsLimit = 256

// Find gives the node's system: its controller is where the URL leads, and on
// that it is the only one, or the one that System, the hint or the node's name
// names exactly.
func (d *Driver) Find(ctx context.Context, node power.NodeRef, hint string) (power.Machine, error) {
	values := fields.Of(node, hint, d.opt.Nodes[node.Name].BMC)
	hint = node.Named(hint)
	text, how, err := d.url.Controller(values)
	if err != nil {
		return power.Machine{}, err
	}
	base, host, err := controller(text)
	if err != nil {
		return power.Machine{}, err
	}
	systems, err := d.systems(ctx, base)
	if err != nil {
		return power.Machine{}, err
	}
	// What names the system, if it is not the only one.
	name := ""
	switch {
	case d.opt.System != "":
		if name, err = d.system.Render(values); err != nil {
			return power.Machine{}, err
		}
	case hint != "" && !d.url.Uses("Machine"):
		name = hint
	case len(systems) > 1:
		name = node.Name
	}
	urls := slices.Sorted(maps.Keys(systems))
	i, err := match.Only(node, urls, func(at string) bool { return name == "" || systems[at].named(name, at) }, func(at string) string { return at })
	if err != nil {
		return power.Machine{}, err
	}
	s := systems[urls[i]]
	return power.Machine{Driver: DriverName, ID: urls[i], Name: power.Clean(cmp.Or(s.HostName, s.Name, s.ID)), Address: host, How: how}, nil
}

func (s system) named(name, at string) bool {
	return name == s.ID || name == s.Name || name == s.HostName || name == s.SerialNumber ||
		strings.EqualFold(name, s.UUID) || strings.TrimRight(path(at), "/") == strings.TrimRight(name, "/")
}

// controller checks a controller's address, and gives its host, too. Passwords are not sent in the open.
func controller(text string) (base, host string, err error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return "", "", fmt.Errorf("%q is not the address of a controller; it looks like https://10.0.1.13 (power.redfish.url)", power.Clean(text))
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !rest.Loopback(u.Hostname())) {
		return "", "", fmt.Errorf("power.redfish.url must be https, not %q", power.Clean(text))
	}
	return u.Scheme + "://" + u.Host, u.Hostname(), nil
}

// systems reads all systems of a controller, by URL.
func (d *Driver) systems(ctx context.Context, base string) (map[string]system, error) {
	get := func(address string, reply any) error {
		ctx, cancel := context.WithTimeout(ctx, d.patience)
		defer cancel()
		return d.get(ctx, address, reply)
	}
	var service struct{ Systems link }
	if err := get(base+root, &service); err != nil {
		return nil, err
	}
	if service.Systems.ID == "" {
		return nil, fmt.Errorf("the controller %s has no systems", base)
	}
	out := map[string]system{}
	next := service.Systems.ID
	for pages := 0; next != "" && pages < systemsLimit; pages++ {
		var list struct {
			Members []link
			Next    string `json:"Members@odata.nextLink"`
		}
		if err := get(resolve(base, next), &list); err != nil {
			return nil, err
		}
		for _, l := range list.Members {
			if l.ID == "" || len(out) >= systemsLimit {
				continue
			}
			at := resolve(base, l.ID)
			var s system
			if err := get(at, &s); err != nil {
				return nil, err
			}
			out[at] = s
		}
		next = list.Next
	}
	return out, nil
}

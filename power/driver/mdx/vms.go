package mdx

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"lightsout/internal/text"
	"lightsout/power"
	"lightsout/power/internal/match"
	"lightsout/power/internal/rest"
)

// Service levels that a VM can be powered on with.
const (
	levelSpot      = "spot"
	levelGuarantee = "guarantee"
)

// inventoryAge is how long the list of the project's VMs is used for
// finding nodes.
const inventoryAge = time.Minute

// vm is a VM: with id, name and status as the project's list gives it, and with all
// but the id as its own page does.
type vm struct {
	UUID            string `json:"uuid"`
	Name            string `json:"name"`
	Status          string `json:"status"`
	ServiceLevel    string `json:"service_level"`
	ServiceNetworks []struct {
		IPv4 []string `json:"ipv4_address"`
		IPv6 []string `json:"ipv6_address"`
	} `json:"service_networks"`
}

func (v vm) addresses() (out []string) {
	for _, n := range v.ServiceNetworks {
		out = append(append(out, n.IPv4...), n.IPv6...)
	}
	return out
}

// inventory is the project's VMs with their details.
type inventory struct {
	turn *semaphore.Weighted // held while the others are used
	at   time.Time
	vms  []vm
}

func vmPath(id string) string { return "/api/vm/" + url.PathEscape(id) + "/" }

func (d *Driver) detail(ctx context.Context, id string) (v vm, err error) {
	err = d.read(ctx, vmPath(id), &v)
	return v, err
}

// projectUUID finds the project among those that the token's user may use.
func (d *Driver) projectUUID(ctx context.Context) (string, error) {
	if id := d.projectID.Load(); id != nil {
		return *id, nil
	}
	var organisations []struct {
		Projects []struct {
			UUID string `json:"uuid"`
			Name string `json:"name"`
		} `json:"projects"`
	}
	if err := d.read(ctx, "/api/project/assigned/", &organisations); err != nil {
		return "", err
	}
	var names, ids []string
	for _, o := range organisations {
		for _, p := range o.Projects {
			names = append(names, power.Clean(p.Name))
			if d.project == "" || p.UUID == d.project || p.Name == d.project {
				ids = append(ids, p.UUID)
			}
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	switch {
	case len(names) == 0:
		return "", &power.RefusedError{Why: "the mdx portal lists no project for this token's user"}
	case len(ids) == 0:
		return "", &power.RefusedError{Why: fmt.Sprintf("the mdx portal has no project %q for this token's user; it has %s (power.mdx.project)",
			power.Clean(d.project), strings.Join(names, ", "))}
	case len(ids) > 1:
		return "", &power.RefusedError{Why: fmt.Sprintf("%d projects of the mdx portal match %q; give the uuid as power.mdx.project (%s)",
			len(ids), power.Clean(d.project), strings.Join(names, ", "))}
	}
	d.projectID.Store(&ids[0])
	return ids[0], nil
}

// maxPages bounds a list that never ends.
const maxPages = 1000

// list gives all VMs of the project.
func (d *Driver) list(ctx context.Context) (all []vm, err error) {
	project, err := d.projectUUID(ctx)
	if err != nil {
		return nil, err
	}
	for page := 1; page <= maxPages; page++ {
		var reply struct {
			Next    *string `json:"next"`
			Results []vm    `json:"results"`
		}
		path := fmt.Sprintf("/api/vm/project/%s/?page=%d&page_size=100", url.PathEscape(project), page)
		if err := d.read(ctx, path, &reply); err != nil {
			return nil, err
		}
		all = append(all, reply.Results...)
		if reply.Next == nil || *reply.Next == "" {
			return all, nil
		}
	}
	return nil, fmt.Errorf("the mdx portal's list of VMs does not end after %d pages", maxPages)
}

// known gives the inventory, reading it if it is too old: once for all who
// wait.
func (d *Driver) known(ctx context.Context) ([]vm, error) {
	inv := &d.inventory
	if err := inv.turn.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer inv.turn.Release(1)
	if time.Since(inv.at) < inventoryAge {
		return inv.vms, nil
	}
	list, err := d.list(ctx)
	if err != nil {
		return nil, err
	}
	vms := make([]vm, len(list))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(parallel)
	for i, v := range list {
		reads.Go(func() (err error) {
			vms[i], err = d.detail(ctx, v.UUID)
			vms[i].UUID, vms[i].Name = v.UUID, v.Name
			if rest.Code(err) == http.StatusNotFound {
				err, vms[i].UUID = nil, "" // deleted since it was listed
			}
			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return nil, fmt.Errorf("the VMs of the project can't be read: %w", err)
	}
	inv.vms, inv.at = slices.DeleteFunc(vms, func(v vm) bool { return v.UUID == "" }), time.Now()
	return inv.vms, nil
}

// Find looks a node's VM up, as match.One does.
func (d *Driver) Find(ctx context.Context, node power.NodeRef, hint string) (power.Machine, error) {
	vms, err := d.known(ctx)
	if err != nil {
		return power.Machine{}, err
	}
	all := text.Each(vms, func(v vm) match.Candidate { return match.Candidate{ID: v.UUID, Name: v.Name, Addresses: v.addresses()} })
	m, i, err := match.One(DriverName, node, hint, node.ProviderID[strings.LastIndexByte(node.ProviderID, '/')+1:], all)
	if err != nil {
		return power.Machine{}, err
	}
	level, from := serviceLevel(vms[i].ServiceLevel)
	m.Params = map[string]string{power.ParamServiceLevel: level, power.ParamServiceLevelFrom: from}
	return d.Ready(node.Name, m)
}

// Ready gives the VM the service level of the configuration. Without one it keeps that of the
// portal, and Switch asks for it if there is none.
func (d *Driver) Ready(node string, m power.Machine) (power.Machine, error) {
	level := d.nodes[node].ServiceLevel
	m.Params = maps.Clone(m.Params)
	switch {
	case level != "":
		m.Params = map[string]string{power.ParamServiceLevel: level, power.ParamServiceLevelFrom: levelOfConfig}
	case m.Params[power.ParamServiceLevelFrom] == levelOfConfig: // of an earlier configuration
		m.Params = nil
	}
	return m, nil
}

// levelOfConfig is the power.ParamServiceLevelFrom of a level that the configuration has.
const levelOfConfig = "config"

func isLevel(level string) bool { return level == levelSpot || level == levelGuarantee }

// serviceLevel parses a VM's level, which the portal reports in Japanese: only the word
// for spot is on record ("スポット仮想マシン"), so 起動保証 (guaranteed start) identifies the other.
// A VM of an unknown level is powered on as spot, as the operators' client does, and
// marked so.
func serviceLevel(said string) (level, from string) {
	lower := strings.ToLower(said)
	switch {
	case strings.Contains(said, "スポット"), strings.Contains(lower, levelSpot):
		return levelSpot, "portal"
	case strings.Contains(said, "保証"), strings.Contains(lower, levelGuarantee):
		return levelGuarantee, "portal"
	}
	return levelSpot, power.ServiceLevelAssumed
}

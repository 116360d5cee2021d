package fence

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"lightsout/power"
	"lightsout/power/internal/fields"
	"lightsout/power/internal/program"
)

// paramPrefix marks the agent's parameters in Machine.Params.
const paramPrefix = "fence."

// path finds the agent, also where PATH does not lead unprivileged users.
func (d *Driver) path() string {
	for _, name := range []string{d.agent, "/usr/sbin/" + d.agent} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return d.agent
}

// plugNames are what agents call the parameter that names one machine of
// several; the second is its old name.
var plugNames = []string{"plug", "port"}

// Find gives the node's machine: the parameters that the agent is to be given
// for it. Its plug is what the configuration or the hint says; without both, a parameter
// must be its own.
func (d *Driver) Find(_ context.Context, node power.NodeRef, hint string) (power.Machine, error) {
	own := d.nodes[node.Name]
	templates := maps.Clone(d.params)
	perNode := len(d.perNode[node.Name]) > 0
	maps.Copy(templates, d.perNode[node.Name])

	values := fields.Of(node, hint, "")
	hint = node.Named(hint)
	if own.Plug != "" {
		values.Machine = own.Plug
	}
	params, address := map[string]string{}, ""
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		t := templates[name]
		perNode = perNode || t.PerNode()
		// Parameters besides the plug may name the host that the secrets go to.
		render := t.Render
		if len(d.secrets) > 0 && !slices.Contains(plugNames, name) {
			render = t.RenderHost
		}
		text, err := render(values)
		if err != nil {
			return power.Machine{}, err
		}
		params[name] = text
		if t.Uses("Address") {
			address = values.Address
		}
	}
	how := "" // by the hint, or by what the template makes of the node
	if own.Plug != "" || len(d.perNode[node.Name]) > 0 {
		how = power.HowConfig
	}
	plug := own.Plug
	switch {
	case plug != "", perNode:
	case hint != "":
		plug = hint
	default:
		return power.Machine{}, fmt.Errorf(`%w: node %s has no plug; give plug under power.nodes.%s, or plug: "{{.Machine}}" in power.fence.params`, power.ErrNoMachine, node.Name, node.Name)
	}
	if strings.ContainsAny(plug, "\r\n") {
		return power.Machine{}, fmt.Errorf("the plug %q of node %s has several lines", power.Clean(plug), node.Name)
	}
	if plug != "" && params["plug"] == "" && params["port"] == "" {
		params["plug"] = plug
	}
	m := machine(node, params, how)
	if address != "" {
		m.Params[power.ParamAddress] = address
	}
	return m, nil
}

// machine makes the machine from its parameters. What tells it from others is
// its plug and its device, or all parameters when these are not given.
func machine(node power.NodeRef, params map[string]string, how string) power.Machine {
	m := power.Machine{Driver: DriverName, How: how, Params: map[string]string{}}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(params)) {
		m.Params[paramPrefix+name] = params[name]
		all = append(all, name+"="+params[name])
	}
	plug, device := cmp.Or(params["plug"], params["port"]), cmp.Or(params["ip"], params["ipaddr"])
	switch {
	case plug != "" && device != "":
		m.ID = plug + "@" + device
	case plug == "" && device != "":
		m.ID = strings.TrimSuffix(device+":"+params["ipport"], ":")
	default:
		m.ID = cmp.Or(plug, strings.Join(all, ","), node.Name)
	}
	m.Name = power.Clean(cmp.Or(plug, device, node.Name))
	return m
}

// identity are the parameters that tell a machine from others: its plug and its device.
var identity = append([]string{"ip", "ipaddr", "ipport"}, plugNames...)

// Ready gives the machine the parameters of the configuration. Those that identify it, and those
// made of the node's own values, it keeps. It looks for the agent and its secrets.
func (d *Driver) Ready(node string, m power.Machine) (power.Machine, error) {
	templates := maps.Clone(d.params)
	maps.Copy(templates, d.perNode[node])
	was := m.Params
	m.Params = maps.Clone(was)
	maps.DeleteFunc(m.Params, func(key, _ string) bool {
		name, ours := strings.CutPrefix(key, paramPrefix)
		return ours && templates[name] == nil && !slices.Contains(identity, name)
	})
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		key := paramPrefix + name
		if _, kept := was[key]; kept && (templates[name].PerNode() || slices.Contains(identity, name)) {
			continue
		}
		text, err := templates[name].Render(fields.Values{Node: node})
		if err != nil {
			return m, &power.RefusedError{Why: err.Error()}
		}
		m.Params[key] = text
	}
	for _, name := range slices.Sorted(maps.Keys(d.secrets)) {
		if _, err := d.secrets[name](); err != nil {
			return m, &power.RefusedError{Why: err.Error()}
		}
	}
	return m, program.Found(d.path(), "power.fence.agent")
}

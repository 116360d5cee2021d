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
	"lightsout/power/internal/match"
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
// for it. Its plug is what the configuration or the hint says. When neither
// does, and no parameter is its own, the agent is asked to list what it
// switches, and exactly one plug or alias must be the node's name.
func (d *Driver) Find(ctx context.Context, node power.NodeRef, hint string) (power.Machine, error) {
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
		var err error
		if plug, err = d.listed(ctx, params, node); err != nil {
			return power.Machine{}, err
		}
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

// listed looks the node's name up in what the agent lists.
func (d *Driver) listed(ctx context.Context, params map[string]string, node power.NodeRef) (string, error) {
	asked := map[string]string{}
	for name, value := range params {
		asked[paramPrefix+name] = value
	}
	r, err := d.run(ctx, "list", asked)
	if err != nil {
		return "", err
	}
	if !r.OK() {
		return "", fmt.Errorf("node %s has no plug, and the fence agent lists none (it %s); give plug under power.nodes.%s",
			node.Name, r.How(), node.Name)
	}
	m, _, err := match.One(DriverName, power.NodeRef{Name: node.Name}, node.Name, "", outlets(r.Stdout))
	return m.ID, err
}

// outlets reads what the action list prints: a plug, a comma and an alias in
// each line.
func outlets(text string) []match.Candidate {
	var out []match.Candidate
	for line := range strings.Lines(text) {
		plug, rest, _ := strings.Cut(strings.TrimSpace(line), ",")
		alias, _, _ := strings.Cut(rest, ",")
		c := match.Candidate{ID: strings.TrimSpace(plug), Name: strings.TrimSpace(alias)}
		if c.ID != "" && !slices.ContainsFunc(out, func(o match.Candidate) bool { return o.ID == c.ID && o.Name == c.Name }) {
			out = append(out, c)
		}
	}
	return out
}

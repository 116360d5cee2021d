// Package fence is the power driver for everything that a ClusterLabs fence
// agent switches: BMCs by IPMI or Redfish, hypervisors, clouds, power strips.
//
// An agent is a program that is given its arguments as lines of name=value on
// standard input and answers by its exit status (FenceAgentAPI.md of
// ClusterLabs/fence-agents). On and off are carried out and verified by the
// agent itself: 0 means that it was seen, 1 that it failed or could not be
// verified, which is not the same as not done. A status is 0 for on, 2 for off,
// and 1 when it can't be told.
//
// Agents pull the plug: none of them asks the guest to shut down.
//
// Secrets reach an agent on standard input, where nobody sees them. What an
// agent does with them is its own: fence_ipmilan, for one, hands the password to
// ipmitool as an argument, which everybody on the machine can read. The drivers ipmi
// and redfish do not.
// The package holds for every agent; the configuration has the parameters of one.
package fence

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"lightsout/power"
	"lightsout/power/internal/fields"
	"lightsout/power/internal/poll"
	"lightsout/power/internal/program"
)

// DriverName is the driver's name in configuration files.
const DriverName = "fence"

func init() {
	power.Register(power.DriverSpec{Name: DriverName, Off: true, On: true, Section: func() power.Section { return new(Options) }, Node: func() any { return new(Node) },
		Needs: "power.fence is missing: it needs at least agent",
	})
}

// statusLimit bounds one status call; some agents log in to a slow device.
const statusLimit = 40 * time.Second

// Node holds the fields of an entry below power.nodes.
type Node struct {
	// Plug is the agent's name for it: a VM's name, an outlet's number.
	Plug string `json:"plug"`
	// Params replace those of Options for this node. They are templates too.
	Params map[string]string `json:"params"`
}

// Options are the section power.fence: which agent is run, and how.
type Options struct {
	// Agent is the program: a path, or a name that is looked for in PATH and in
	// /usr/sbin, where distributions put them.
	Agent string `json:"agent" path:"program"`
	// Params are the agent's parameters by name; their values are templates.
	Params map[string]string `json:"params"`
	// Kept says where the secrets are kept.
	Kept map[string]place `json:"secrets"`
	// Secrets are parameters that nobody is to see.
	Secrets map[string]power.Source `json:"-"`
	// Nodes holds what differs, by node name.
	Nodes map[string]Node `json:"-"`
}

// place is where a secret is kept.
type place struct {
	File string `json:"file" path:"file"`
	Env  string `json:"env"`
}

// Build makes the driver.
func (o *Options) Build(site power.Site) (power.Driver, error) {
	opt := *o
	opt.Secrets, opt.Nodes = map[string]power.Source{}, power.NodesOf[Node](site)
	for _, name := range slices.Sorted(maps.Keys(o.Kept)) {
		kept, field := o.Kept[name], "power.fence.secrets."+name
		if (kept.File == "") == (kept.Env == "") {
			return nil, power.Wrong(field, " needs file or env, and not both")
		}
		var err error
		opt.Secrets[name], err = site.Secret(power.Secret{Field: field, Name: field, File: kept.File, Env: kept.Env})
		if err != nil {
			return nil, err
		}
	}
	return New(opt)
}

// Driver switches machines by a fence agent. It is safe for use by several
// goroutines. Close ends all calls under way.
type Driver struct {
	agent   string
	secrets map[string]power.Source
	params  map[string]*fields.Template
	nodes   map[string]Node
	// perNode holds the parsed Params of nodes.
	perNode map[string]map[string]*fields.Template
	polls   *poll.Shared[power.Reading]
}

var parameter = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// reserved parameters are the driver's own.
var reserved = []string{"action", "option", "o"}

// secretNames are parameters that agents know for passwords.
var secretNames = []string{"password", "passwd", "snmp_priv_passwd", "community", "token", "secret_key", "apikey", "token_value", "api_token"}

// New makes the driver. It runs nothing.
func New(opt Options) (*Driver, error) {
	d := &Driver{
		agent: opt.Agent, secrets: opt.Secrets, nodes: opt.Nodes,
		perNode: map[string]map[string]*fields.Template{}, polls: poll.New[power.Reading](statusLimit),
	}
	var err error
	for _, node := range slices.Sorted(maps.Keys(opt.Nodes)) {
		d.perNode[node], err = d.parse("power.nodes."+node+".params", opt.Nodes[node].Params)
		if err != nil {
			return nil, err
		}
	}
	if opt.Agent == "" {
		return nil, power.Wrong("power.fence.agent", " is missing: it is a fence agent's name or path, like fence_ipmilan")
	}
	for name := range opt.Secrets {
		if err := checkName("power.fence.secrets", name); err != nil {
			return nil, err
		}
	}
	d.params, err = d.parse("power.fence.params", opt.Params)
	return d, err
}

func checkName(where, name string) error {
	if !parameter.MatchString(name) || slices.Contains(reserved, name) {
		return power.Wrong(where, ": %q is not a parameter of fence agents", power.Clean(name))
	}
	return nil
}

func (d *Driver) parse(where string, params map[string]string) (map[string]*fields.Template, error) {
	out := make(map[string]*fields.Template, len(params))
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if err := checkName(where, name); err != nil {
			return nil, err
		}
		if _, both := d.secrets[name]; both || slices.Contains(secretNames, name) {
			return nil, power.Wrong(where, ": %s is a secret; give it as power.fence.secrets.%s, by file or env", name, name)
		}
		if strings.ContainsAny(params[name], "\r\n") {
			return nil, power.Wrong(where, ": %s has several lines, and a fence agent reads one", name)
		}
		t, err := fields.Parse(where+"."+name, params[name])
		if err != nil {
			return nil, err
		}
		out[name] = t
	}
	return out, nil
}

// Close ends all calls under way.
func (d *Driver) Close() { d.polls.Close() }

// Abilities: it pulls the plug and powers on; its Off is proof.
func (d *Driver) Abilities() power.Abilities {
	return power.Abilities{State: true, ProvesOff: true, On: true, Off: true}
}

// State asks the agent for the status. An agent that starts slowly is given
// time beyond ctx: who asks again gets its answer.
func (d *Driver) State(ctx context.Context, m power.Machine) (power.Reading, error) {
	r, asked, err := d.polls.Do(ctx, m.ID, func(ctx context.Context) (power.Reading, error) { return d.status(ctx, m) })
	r.RequestedAt = asked
	return power.Unanswered(r, err)
}

func (d *Driver) status(ctx context.Context, m power.Machine) (power.Reading, error) {
	r, err := d.run(ctx, "status", m.Params)
	if err != nil {
		return power.Reading{}, err
	}
	return reading(r), nil
}

// reading maps the answer to a status. Other programs than agents end with 2 as
// well, shells and Python among them, so that off is proven only when the agent
// says so in words too, as those of the fence-agents library do.
func reading(r program.Result) power.Reading {
	switch {
	case r.OK():
		return power.Reported(power.On, "fence agent: on")
	case r.Status == 2 && offWord.MatchString(r.Stdout):
		return power.Reported(power.Off, "fence agent: off")
	case r.Status == 2 && strings.TrimSpace(r.Stderr) == "":
		return power.Reading{State: power.Off, Proof: power.Presumed, Detail: "fence agent: off, by its exit status alone"}
	}
	// Agents end so when they could not get the status.
	return power.Reading{Detail: "fence agent " + r.How(), NoAnswer: true}
}

var offWord = regexp.MustCompile(`(?i)\boff\b`)

// Preflight asks for the status: an agent that can't tell it can't switch.
func (d *Driver) Preflight(ctx context.Context, _ power.Action, m power.Machine) error {
	r, err := power.Unanswered(d.status(ctx, m))
	if err == nil && r.State == power.Unknown {
		err = fmt.Errorf("the fence agent does not report the state of %s: %s", m.Title(), r.Detail)
	}
	return err
}

// Switch has the agent power the machine on or pull the plug, and returns when
// it has seen it. Agents don't shut down.
func (d *Driver) Switch(ctx context.Context, a power.Action, m power.Machine) error {
	d.polls.Forget(m.ID)
	defer d.polls.Forget(m.ID)
	r, err := d.run(ctx, string(a), m.Params) // in an agent's words, too, on and off
	return program.Switched(r, err, "the fence agent was to power "+string(a)+" "+m.Title()+", and")
}

// run runs the agent for an action. params are a machine's.
func (d *Driver) run(ctx context.Context, action string, params map[string]string) (program.Result, error) {
	var stdin strings.Builder
	fmt.Fprintf(&stdin, "action=%s\n", action)
	for _, key := range slices.Sorted(maps.Keys(params)) {
		name, ours := strings.CutPrefix(key, paramPrefix)
		if !ours {
			continue
		}
		// It may come from a journal that somebody has edited.
		if checkName("the machine's parameters", name) != nil || strings.ContainsAny(params[key], "\r\n") {
			return program.Result{}, &power.RefusedError{Why: fmt.Sprintf("%q can't be given to a fence agent", power.Clean(name))}
		}
		fmt.Fprintf(&stdin, "%s=%s\n", name, params[key])
	}
	var secrets []string
	for _, name := range slices.Sorted(maps.Keys(d.secrets)) {
		value, err := d.secrets[name]()
		switch {
		case err != nil:
			return program.Result{}, &power.RefusedError{Why: err.Error()}
		case strings.ContainsAny(value, "\r\n"):
			return program.Result{}, &power.RefusedError{Why: fmt.Sprintf("the secret %s has several lines, and a fence agent reads one", name)}
		}
		secrets = append(secrets, value)
		fmt.Fprintf(&stdin, "%s=%s\n", name, value)
	}
	return program.Run(ctx, program.Program{Argv: []string{d.path()}, Stdin: stdin.String(), Secrets: secrets,
		Advice: "; install the fence agent, or correct power.fence.agent"})
}

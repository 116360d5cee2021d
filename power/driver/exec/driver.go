// Package exec is the power driver for machines that nothing else switches:
// by the operator's own commands.
//
// A command is a list of arguments, run as it is written: no shell splits it, and each
// value ({{.Node}}, {{.Address}}, {{.Machine}}) stays within its argument. To use a
// shell write ["sh", "-c", "…"], and take the node from the environment:
// LIGHTSOUT_NODE, LIGHTSOUT_ADDRESS and LIGHTSOUT_MACHINE are set. Secrets reach a
// command by the environment too.
//
// This package works with any command. A well-known command deserves a driver of its
// own.
package exec

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"lightsout/power"
	"lightsout/power/internal/fields"
	"lightsout/power/internal/poll"
	"lightsout/power/internal/program"
)

// DriverName is the driver's name in configuration files.
const DriverName = "exec"

func init() {
	power.Register(power.DriverSpec{Name: DriverName, Section: func() power.Section { return new(Options) },
		Needs: "power.exec is missing: it needs at least on_command, off_command or shutdown_command",
	})
}

// stateLimit bounds one run of the state command.
const stateLimit = time.Minute

// Options are the section power.exec: the commands, each a program and its arguments; their texts are
// templates. What is left out can't be done.
type Options struct {
	// State prints one word, in upper or lower case: on, off, transitioning or unknown. After
	// any other output, such as "off." or "!off", the state is unknown; white space and a byte
	// order mark do not count.
	State []string `json:"state_command" path:"program"`
	// On, Off and Shutdown end with 0 when the request was accepted.
	On       []string `json:"on_command" path:"program"`
	Off      []string `json:"off_command" path:"program"`
	Shutdown []string `json:"shutdown_command" path:"program"`
	// ProvesOff: the state command's "off" comes from something that knows (a
	// power API, a power meter) and not from the machine's silence. Without it,
	// off is presumed.
	ProvesOff bool `json:"proves_off"`
	// SecretEnv names environment variables whose values are hidden in what the
	// commands say. They must be set.
	SecretEnv []string `json:"secret_env"`
}

// Sides: what there are commands for.
func (o *Options) Sides() (off, on bool) { return o.Off != nil || o.Shutdown != nil, o.On != nil }

// Build makes the driver.
func (o *Options) Build(site power.Site) (power.Driver, error) {
	return New(*o)
}

// Driver switches machines by commands. It is safe for use by several
// goroutines. Close ends all calls under way.
type Driver struct {
	opt      Options
	commands map[power.Action]command // that for the state by no action
	polls    *poll.Shared[power.Reading]
}

// command is a program and its arguments, values left open.
type command []*fields.Template

// New makes the driver. It runs nothing.
func New(opt Options) (*Driver, error) {
	d := &Driver{opt: opt, commands: map[power.Action]command{}, polls: poll.New[power.Reading](stateLimit)}
	for _, c := range []struct {
		field  string
		argv   []string
		action power.Action
	}{
		{"state_command", opt.State, ""}, {"on_command", opt.On, power.ActionOn},
		{"off_command", opt.Off, power.ActionOff}, {"shutdown_command", opt.Shutdown, power.ActionShutdown},
	} {
		if c.argv == nil {
			continue
		}
		var err error
		d.commands[c.action], err = parse("power.exec."+c.field, c.argv)
		if err != nil {
			return nil, err
		}
	}
	switch can := d.Abilities(); {
	case !can.On && !can.Off && !can.Shutdown:
		return nil, power.Wrong("power.exec", " has no command: give at least one of on_command, off_command and shutdown_command")
	case opt.ProvesOff && !can.State:
		return nil, power.Wrong("power.exec.proves_off", " needs a state command: give power.exec.state_command")
	}
	return d, nil
}

func parse(what string, argv []string) (out command, err error) {
	if len(argv) == 0 || strings.TrimSpace(argv[0]) == "" {
		return nil, power.Wrong(what, " is empty: it is a program and its arguments, like [virsh, start, \"{{.Machine}}\"]")
	}
	if len(argv) == 1 && strings.ContainsAny(argv[0], " \t") && !strings.Contains(argv[0], "{{") {
		return nil, power.Wrong(what, " is one text with blanks: write each argument as its own item, like [virsh, start, vm1]; no shell splits it")
	}
	for _, arg := range argv {
		t, err := fields.Parse(what, arg)
		if err != nil {
			return nil, err
		}
		if strings.Contains(arg, "\x00") {
			return nil, power.Wrong(what, " contains a zero byte")
		}
		out = append(out, t)
	}
	if out[0].PerNode() {
		return nil, power.Wrong(what, ": the program itself can't depend on the node")
	}
	return out, nil
}

// Close ends all calls under way.
func (d *Driver) Close() { d.polls.Close() }

// Abilities are those that there are commands for.
func (d *Driver) Abilities() power.Abilities {
	return power.Abilities{
		State: d.commands[""] != nil, ProvesOff: d.commands[""] != nil && d.opt.ProvesOff,
		On: d.commands[power.ActionOn] != nil, Off: d.commands[power.ActionOff] != nil, Shutdown: d.commands[power.ActionShutdown] != nil,
	}
}

// paramNode is the Machine.Params key for the node's name.
const paramNode = "node"

// Find takes the hint, or else the node's name, for the machine's, and sees that
// it can be filled in everywhere. What the commands make of it is theirs.
func (d *Driver) Find(_ context.Context, node power.NodeRef, hint string) (power.Machine, error) {
	v := fields.Of(node, hint, "")
	m := power.Machine{
		Driver: DriverName, ID: v.Machine, Name: power.Clean(v.Machine), Address: v.Address,
		Params: map[string]string{paramNode: node.Name},
	}
	if _, err := environment(v); err != nil {
		return power.Machine{}, err
	}
	for _, a := range slices.Sorted(maps.Keys(d.commands)) {
		c := d.commands[a]
		if _, err := c.render(v); err != nil {
			return power.Machine{}, err
		}
		if slices.ContainsFunc(c, func(t *fields.Template) bool { return t.Uses("Address") }) {
			m.Params[power.ParamAddress] = v.Address
		}
	}
	return m, nil
}

// Ready fills in the command that powers on, and looks for its program and its secrets.
func (d *Driver) Ready(_ string, m power.Machine) (power.Machine, error) {
	c := d.commands[power.ActionOn]
	if c == nil {
		return m, nil
	}
	argv, err := c.render(values(m))
	if err == nil {
		_, err = d.secrets()
	}
	if err != nil {
		return m, &power.RefusedError{Why: err.Error()}
	}
	return m, program.Found(argv[0], "power.exec.on_command")
}

func values(m power.Machine) fields.Values {
	return fields.Values{Node: m.Params[paramNode], Address: m.Address, Machine: m.ID}
}

func (c command) render(v fields.Values) (argv []string, err error) {
	for _, t := range c {
		arg, wrong := t.Render(v)
		argv, err = append(argv, arg), cmp.Or(err, wrong)
	}
	return argv, err
}

func (d *Driver) secrets() (out []string, err error) {
	for _, name := range d.opt.SecretEnv {
		v := os.Getenv(name)
		if v == "" {
			return nil, &power.RefusedError{Why: fmt.Sprintf("the environment variable %s of power.exec.secret_env is empty", name)}
		}
		out = append(out, v)
	}
	return out, nil
}

// run runs a command for a machine.
func (d *Driver) run(ctx context.Context, c command, m power.Machine) (program.Result, error) {
	secrets, err := d.secrets()
	if err != nil {
		return program.Result{}, err
	}
	v := values(m)
	argv, err := c.render(v)
	env, wrong := environment(v)
	if err := cmp.Or(err, wrong); err != nil {
		return program.Result{}, &power.RefusedError{Why: err.Error()}
	}
	return program.Run(ctx, program.Program{Argv: argv, Env: env, Secrets: secrets})
}

// environment returns the environment of a command. Scripts pass it to shells, here or
// on other hosts, so environment checks it like a template.
func environment(v fields.Values) (out []string, err error) {
	for _, e := range []struct{ name, value string }{{"NODE", v.Node}, {"ADDRESS", v.Address}, {"MACHINE", v.Machine}} {
		if e.value != "" && !fields.Plain(e.value) {
			return nil, fmt.Errorf("%q, for LIGHTSOUT_%s of node %s, is not a plain name or address", power.Clean(e.value), e.name, power.Clean(v.Node))
		}
		out = append(out, "LIGHTSOUT_"+e.name+"="+e.value)
	}
	return out, nil
}

// State runs the state command. One that takes long is given time beyond ctx:
// who asks again gets its answer.
func (d *Driver) State(ctx context.Context, m power.Machine) (power.Reading, error) {
	r, asked, err := d.polls.Do(ctx, m.ID, func(ctx context.Context) (power.Reading, error) {
		r, err := d.run(ctx, d.commands[""], m)
		return reading(r, d.opt.ProvesOff), err
	})
	r.RequestedAt = asked
	return power.Unanswered(r, err)
}

// reading understands the output of a state command: one word, and a status that agrees with
// it. The state is unknown after more than one word, because the others may deny it: "on
// (cached)", or "off" before an error.
func reading(r program.Result, provesOff bool) power.Reading {
	out := power.Reading{Detail: "the state command " + r.How()}
	words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(r.Stdout), "\ufeff")) // a byte order mark, as Windows writes it
	if len(words) == 0 {
		out.NoAnswer = true
		if r.Signal == "" && r.Status == 0 {
			out.Detail = "the state command printed nothing"
		}
		return out
	}
	out.State, out.Proof = stateOf(words[0], r)
	if out.State == power.Off && provesOff {
		out.Proof = power.Proven
	}
	if out.State == power.Unknown {
		return out
	}
	out.Detail = "the state command printed: " + power.Clean(r.Stdout)
	if len(words) > 1 {
		out.State, out.Proof, out.Detail = power.Unknown, power.ProofNone, "the state command printed more than one word: "+power.Clean(r.Stdout)
	}
	return out
}

// stateOf returns the state that a word stands for if the status agrees, and its proof.
func stateOf(word string, r program.Result) (power.State, power.Proof) {
	switch word = strings.ToLower(word); { // and nothing else: "!off" may deny it
	case r.Signal != "":
	case word == "on" && r.Status == 0:
		return power.On, power.Proven
	case word == "off" && (r.Status == 0 || r.Status == 2):
		return power.Off, power.Presumed
	case word == "transitioning" && r.Status == 0:
		return power.Transitioning, power.Proven
	}
	return power.Unknown, power.ProofNone
}

// Switch runs the action's command.
func (d *Driver) Switch(ctx context.Context, a power.Action, m power.Machine) error {
	d.polls.Forget(m.ID)
	defer d.polls.Forget(m.ID)
	r, err := d.run(ctx, d.commands[a], m)
	return program.Switched(r, err, "the command to "+power.Verb(a)+" "+m.Title())
}

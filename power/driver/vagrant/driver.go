// Package vagrant is the power driver for the machines of a Vagrantfile, by the
// vagrant command and its machine-readable output
// (https://developer.hashicorp.com/vagrant/docs/cli/machine-readable).
//
// "vagrant halt" asks the guest first and pulls the plug when it does not obey;
// "vagrant halt -f" pulls it at once; "vagrant up" powers on. They lock the
// machine and refuse to wait for each other, so that one of them runs at a time
// for each Vagrantfile. A status takes a second or more, and reports all machines.
// The driver creates and destroys no machines.
package vagrant

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"lightsout/power"
	"lightsout/power/internal/poll"
	"lightsout/power/internal/program"
)

// DriverName is the driver's name in configuration files.
const DriverName = "vagrant"

func init() {
	power.Register(power.DriverSpec{Name: DriverName, Off: true, On: true, Section: func() power.Section { return new(Options) }})
}

// statusLimit bounds one status.
const statusLimit = time.Minute

// Options are the section power.vagrant: which machines, and how vagrant is run.
type Options struct {
	// Dir is the Vagrantfile's folder; if empty, the config file's folder.
	Dir string `json:"dir" path:"folder"`
	// Command is the program, and arguments that come before vagrant's own;
	// "vagrant" when empty.
	Command []string `json:"command" path:"program"`
}

// Build makes the driver.
func (o *Options) Build(site power.Site) (power.Driver, error) {
	return New(*o)
}

// Driver switches the machines of one Vagrantfile. It is safe for use by
// several goroutines. Close ends all calls under way.
type Driver struct {
	dir     string
	command []string
	// turn is held while a machine is switched.
	turn *semaphore.Weighted
	// upKept is how long "up" keeps the turn.
	upKept time.Duration
	polls  *poll.Shared[map[string]string]
}

// New makes the driver. It runs nothing.
func New(opt Options) (*Driver, error) {
	if len(opt.Command) == 0 {
		opt.Command = []string{"vagrant"}
	}
	if opt.Command[0] == "" {
		return nil, power.Wrong("power.vagrant.command", " is empty: it is a program and its arguments, like [vagrant]")
	}
	return &Driver{
		dir: opt.Dir, command: opt.Command,
		turn: semaphore.NewWeighted(1), upKept: upKept, polls: poll.New[map[string]string](statusLimit),
	}, nil
}

// Close ends all calls under way.
func (d *Driver) Close() { d.polls.Close() }

// Abilities: all of them; its Off is proof.
func (d *Driver) Abilities() power.Abilities {
	return power.Abilities{State: true, ProvesOff: true, On: true, Shutdown: true, Off: true}
}

// run runs vagrant.
func (d *Driver) run(ctx context.Context, args ...string) (program.Result, error) {
	return program.Run(ctx, program.Program{
		Argv: append(append(slices.Clone(d.command), args...), "--machine-readable"),
		Dir:  d.dir,
		// It would look for a new version of itself.
		Env: []string{"VAGRANT_CHECKPOINT_DISABLE=1"}, Advice: " (power.vagrant)",
	})
}

// status gives every machine's state. Who asks while one is under way is given
// its answer.
func (d *Driver) status(ctx context.Context) (states map[string]string, asked time.Time, err error) {
	return d.polls.Do(ctx, "", func(ctx context.Context) (map[string]string, error) {
		r, err := d.run(ctx, "status")
		if err != nil {
			return nil, err
		}
		if !r.OK() {
			class, why := failure(r)
			return nil, fmt.Errorf("vagrant does not report the machines' states: %s", said(class, why))
		}
		return machines(r.Stdout), nil
	})
}

func said(class, why string) string {
	if class == "" {
		return why
	}
	return why + " (" + class + ")"
}

// Find gives the machine with exactly the name of the hint, or of the node when
// there is none.
func (d *Driver) Find(ctx context.Context, node power.NodeRef, hint string) (power.Machine, error) {
	states, _, err := d.status(ctx)
	if err != nil {
		return power.Machine{}, err
	}
	name := cmp.Or(node.Named(hint), node.Name)
	if _, ok := states[name]; !ok || !plainName.MatchString(name) {
		return power.Machine{}, power.ErrNoMachine
	}
	return power.Machine{Driver: DriverName, ID: name, Name: name, Address: cmp.Or(node.Addresses...)}, nil
}

// Ready looks for the command. A machine has no settings of its own.
func (d *Driver) Ready(_ string, m power.Machine) (power.Machine, error) {
	return m, program.Found(d.command[0], "power.vagrant.command")
}

// plainName is a name that vagrant takes for nothing else: it takes /x/ for a
// pattern and -x for an option.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// State gives the state that vagrant tells. A status that takes long is given
// time beyond ctx: who asks again gets its answer.
func (d *Driver) State(ctx context.Context, m power.Machine) (power.Reading, error) {
	states, asked, err := d.status(ctx)
	r := reading(states[m.ID])
	r.RequestedAt = asked
	return power.Unanswered(r, err)
}

// States polls all machines with one status.
func (d *Driver) States(ctx context.Context, machines []power.Machine) ([]power.Reading, error) {
	states, asked, err := d.status(ctx)
	pending, err := power.Unanswered(power.Reading{RequestedAt: asked}, err)
	if err != nil {
		return nil, err
	}
	out := make([]power.Reading, len(machines))
	for i, m := range machines {
		out[i] = pending
		if states != nil {
			out[i] = reading(states[m.ID])
			out[i].RequestedAt = asked
		}
	}
	return out, nil
}

// commands are vagrant's by action. "up" returns when the machine can be logged
// in to; "halt" pulls the plug when the guest does not obey in time.
var commands = map[power.Action][]string{power.ActionOn: {"up"}, power.ActionShutdown: {"halt"}, power.ActionOff: {"halt", "-f"}}

// upKept is how long "up" keeps the others waiting: it returns only once the machine has booted,
// which may be never. Vagrant locks each machine by itself (lib/vagrant/machine.rb).
const upKept = 10 * time.Second

// Switch runs the action's command. A machine that is not there is not created.
func (d *Driver) Switch(ctx context.Context, a power.Action, m power.Machine) error {
	if !plainName.MatchString(m.ID) {
		return &power.RefusedError{Why: fmt.Sprintf("%q is not the name of a machine", power.Clean(m.ID))}
	}
	if err := d.turn.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("nothing was done: vagrant was busy with another machine of the same Vagrantfile: %w", err)
	}
	end := sync.OnceFunc(func() { d.turn.Release(1) })
	defer end()
	if a == power.ActionOn { // an "up" that hangs keeps no other machine off
		defer time.AfterFunc(d.upKept, end).Stop()
	}
	d.polls.Forget("")
	states, _, err := d.status(ctx)
	if err != nil {
		return err
	}
	now := reading(states[m.ID])
	switch {
	case now.State == a.Wanted():
		return nil
	case states[m.ID] == "" || states[m.ID] == "not_created":
		return &power.RefusedError{Why: fmt.Sprintf("%s does not exist (%s); create it with vagrant up first", m.Title(), now.Detail)}
	}
	defer d.polls.Forget("")
	r, err := d.run(ctx, append(slices.Clone(commands[a]), m.ID)...)
	if err != nil || r.OK() {
		return program.Switched(r, err, "")
	}
	class, why := failure(r)
	switch {
	case slices.Contains(lockedClasses, class):
		return &power.NotSentError{Err: &power.ConflictError{Why: "nothing was done, because vagrant is busy: " + why}}
	case slices.Contains(refusedClasses, class):
		return &power.NotSentError{Err: &power.RefusedError{Why: "vagrant refused: " + why}}
	}
	return &power.UnconfirmedError{Why: fmt.Sprintf("vagrant %s %s failed: %s", commands[a][0], m.ID, said(class, why))}
}

// Classes of Vagrant's errors that come before anything is done
// (lib/vagrant/errors.rb).
var (
	lockedClasses  = []string{"MachineActionLockedError", "MachineLocked", "EnvironmentLockedError"}
	refusedClasses = []string{
		"MachineNotFound", "NoEnvironmentError", "NoDefaultProvider", "NoDefaultSyncedFolderImpl", "ProviderNotUsable", "ProviderNotFound",
		"CLIInvalidOptions", "CLIInvalidUsage", "VagrantfileSyntaxError", "VagrantfileLoadError", "VagrantfileNameError", "ConfigInvalid",
	}
)

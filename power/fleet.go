package power

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// AnnotationMachine is the node annotation that names a node's machine.
const AnnotationMachine = "lightsout.dev/machine"

// Ways to find a machine, in order.
const (
	HowConfig     = "config"
	HowAnnotation = "annotation"
	HowProviderID = "providerID"
	HowAddress    = "address"
	HowName       = "name"
)

// ParamAddress is the Machine.Params key of the address at which a machine is switched,
// if a template of the configuration uses the node's address.
const ParamAddress = "address"

// ParamServiceLevel is the Machine.Params key of the service level with which a VM is
// powered on, and ParamServiceLevelFrom is its source: "config", "portal" or ServiceLevelAssumed.
const (
	ParamServiceLevel     = "service_level"
	ParamServiceLevelFrom = "service_level_from"
	ServiceLevelAssumed   = "assumed"
)

// NodeConfig is the configuration of one node. Empty fields are not configured.
type NodeConfig struct {
	// Machine is the driver's name or id for the node's machine.
	Machine string `json:"machine"`
	// Address replaces the node's addresses.
	Address string `json:"address"`
	// Off and On are names of drivers.
	Off string `json:"off_by"`
	On  string `json:"on_by"`
}

// Config is how a fleet is switched. A zero duration or number means the default.
type Config struct {
	// Off and On are the names of the drivers used for switching off and on;
	// either may be empty.
	Off, On string
	// Nodes holds what differs, by node name.
	Nodes map[string]NodeConfig
	// Parallel is how many requests of one sort (switching, polling while switching, polling
	// by Watch, everything else) are under way at once with one driver; 10. A request to
	// power on that takes longer than turnKept does not count.
	Parallel int
	// Timeouts bound, by action (a shutdown 3 min, off 2 min, on 10 min), the wait
	// for the wanted power state, counted from the request.
	Timeouts map[Action]time.Duration
	// Locks keep other programs on this host from switching at the same time;
	// nil keeps none.
	Locks *Locks
	// PollInterval is the pause between two polls of a machine during an
	// action; 2 s. ReadTimeout bounds each poll; 5 s, and never more.
	PollInterval, ReadTimeout time.Duration
	// WayBack is the command that powers on, from any folder, the machines that the journal
	// lists as off; empty means lightsout restore.
	WayBack string
	// ReadOnly refuses every action; DryRun does everything but the switching.
	ReadOnly, DryRun bool
}

func (c *Config) setDefaults() {
	c.Parallel = cmp.Or(c.Parallel, 10)
	c.WayBack = cmp.Or(c.WayBack, "lightsout restore")
	c.PollInterval = cmp.Or(c.PollInterval, 2*time.Second)
	c.ReadTimeout = min(cmp.Or(c.ReadTimeout, 5*time.Second), 5*time.Second)
}

// timeouts are those of a Config without others.
var timeouts = map[Action]time.Duration{ActionShutdown: 3 * time.Minute, ActionOff: 2 * time.Minute, ActionOn: 10 * time.Minute}

func (c *Config) timeout(a Action) time.Duration { return cmp.Or(c.Timeouts[a], timeouts[a]) }

// Fleet is the machines of one cluster. It finds, polls and switches them in parallel.
// It is safe for concurrent use, and starts no goroutine that outlives the call.
type Fleet struct {
	cfg     Config
	journal *Journal
	drivers map[string]Driver
	// Semaphores bound, for each driver by itself, the requests to switch off, those to
	// power on, the polls during an action, those of Watch, and all other work. So polling
	// dead machines delays no request, a shutdown that hangs no power-on, and a driver that
	// hangs no other one.
	switchOffs, powerOns, polls, watches, others map[string]*semaphore.Weighted
	// retryPause is the pause after a failed or unanswered power-on before the next
	// attempt.
	retryPause time.Duration

	mu   sync.Mutex
	busy []claim
}

// claim is an operation under way.
type claim struct {
	node, machine string
	action        Action
}

// NewFleet makes a fleet. journal may be nil for a fleet that switches nothing.
// It is an error to name a driver that is not among drivers.
func NewFleet(cfg Config, journal *Journal, drivers map[string]Driver) (*Fleet, error) {
	cfg.setDefaults()
	f := &Fleet{
		cfg: cfg, journal: journal, drivers: drivers,
		retryPause: 10 * time.Second,
	}
	for _, turns := range []*map[string]*semaphore.Weighted{&f.switchOffs, &f.powerOns, &f.polls, &f.watches, &f.others} {
		*turns = make(map[string]*semaphore.Weighted, len(drivers))
		for name := range f.drivers {
			(*turns)[name] = semaphore.NewWeighted(int64(cfg.Parallel))
		}
	}
	check := func(field, name string) error {
		if _, ok := f.drivers[name]; name != "" && !ok {
			return fmt.Errorf("%s names the driver %q, which is not configured", field, name)
		}
		return nil
	}
	errs := []error{check("power.off_by", cfg.Off), check("power.on_by", cfg.On)}
	for name, n := range cfg.Nodes {
		errs = append(errs, check("power.nodes."+name+".off_by", n.Off), check("power.nodes."+name+".on_by", n.On))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return f, nil
}

// Busy returns the nodes with an operation of this program under way.
func (f *Fleet) Busy() map[string]Action {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make(map[string]Action, len(f.busy))
	for _, c := range f.busy {
		out[c.node] = c.action
	}
	return out
}

// claim marks a machine as having an operation under way, until done is called.
func (f *Fleet) claim(node string, m Machine, a Action) (done func(), err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := claim{node: node, machine: m.key(), action: a}
	for _, other := range f.busy {
		if other.machine == c.machine || other.node == node && (other.action != ActionOn || a != ActionOn) {
			return nil, fmt.Errorf("lightsout is already working on %s (%s); wait until that has ended", node, other.action)
		}
	}
	f.busy = append(f.busy, c)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.busy = slices.DeleteFunc(f.busy, func(x claim) bool { return x == c })
	}, nil
}

// cluster returns the cluster of the machines, as far as it is known.
func (f *Fleet) cluster() Cluster { return f.journal.Cluster() }

// sideBySide runs do for each number below n, as many at once as turns permits for its
// driver, and returns when all have ended. If ctx ends before its turn, do gets its error.
func sideBySide(ctx context.Context, turns map[string]*semaphore.Weighted, n int, driver func(i int) string, do func(i int, err error)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			turns, ok := turns[driver(i)]
			if !ok { // there is nobody to ask
				do(i, ctx.Err())
				return
			}
			err := turns.Acquire(ctx, 1)
			if err == nil {
				defer turns.Release(1)
			}
			do(i, err)
		})
	}
	wg.Wait()
}

// driverFor names the driver for one side of a node.
func (f *Fleet) driverFor(node string, on bool) string {
	if on {
		return cmp.Or(f.cfg.Nodes[node].On, f.cfg.On)
	}
	return cmp.Or(f.cfg.Nodes[node].Off, f.cfg.Off)
}

// able reports whether m's driver can do a.
func (f *Fleet) able(m *Machine, a Action) bool {
	return m != nil && f.drivers[m.Driver] != nil && f.drivers[m.Driver].Abilities().Can(a)
}

// errUnbound is the reason when nobody looked for a machine.
var errUnbound = errors.New("its machine is unknown")

// unboundError reports, in one sentence, why a node has no machine, or none for an action.
type unboundError struct {
	text  string
	cause error // the driver's, ErrShared or ErrCannot
}

// Error is the sentence.
func (e *unboundError) Error() string { return e.text }

// Unwrap gives the cause.
func (e *unboundError) Unwrap() error { return e.cause }

// Can returns the machine that would receive the request for a, or the reason, in one
// sentence, why there is none. The power-on driver cuts the power if the power-off
// driver only asks the guest, as ssh does.
func (f *Fleet) Can(b Binding, a Action) (Machine, error) {
	m, why := b.Off, b.OffErr
	if other := b.Off != nil && !f.able(b.Off, a) && (b.OnErr != nil || f.able(b.On, a)); a == ActionOn || a == ActionOff && other {
		m, why = b.On, b.OnErr
	}
	switch {
	case m == nil:
		return Machine{}, cmp.Or(why, errUnbound)
	case f.drivers[m.Driver] == nil:
		return Machine{}, fmt.Errorf("the driver %q is not configured", m.Driver)
	case !f.able(m, a):
		return Machine{}, &unboundError{fmt.Sprintf("the driver %s can't %s machines", m.Driver, Verb(a)), ErrCannot}
	}
	return *m, nil
}

// poll asks a machine's driver for its state once, within ReadTimeout. The
// caller has acquired a semaphore.
func (f *Fleet) poll(ctx context.Context, m Machine) (Reading, error) {
	d, ok := f.drivers[m.Driver]
	if !ok {
		return Reading{}, fmt.Errorf("the driver %q is not configured", m.Driver)
	}
	if !d.Abilities().State {
		return Reading{}, &unboundError{fmt.Sprintf("the driver %s can't read a machine's state", m.Driver), ErrCannot}
	}
	ctx, cancel := context.WithTimeout(ctx, f.cfg.ReadTimeout)
	defer cancel()
	asked := time.Now()
	r, err := d.State(ctx, m)
	if err != nil {
		return Reading{}, err
	}
	return r.arrived(asked), nil
}

// arrived completes a reading that the Fleet requested at asked. The driver may have
// set an earlier time: it may return the answer to another caller's request.
func (r Reading) arrived(asked time.Time) Reading {
	if r.RequestedAt.IsZero() || r.RequestedAt.After(asked) {
		r.RequestedAt = asked
	}
	r.Arrived, r.Detail = time.Now(), Clean(r.Detail)
	return r
}

// key is equal for one and the same machine.
func (m Machine) key() string { return m.Driver + "\x00" + m.ID }

// Called is a machine's name, or its Title.
func (m Machine) Called() string { return cmp.Or(Clean(m.Name), m.Title()) }

// Title names a machine for people: its name and its driver's identity for it, or what else there is.
func (m Machine) Title() string {
	switch {
	case m.Name != "" && m.Name != m.ID:
		return Clean(m.Name) + " (" + Clean(m.ID) + ")"
	case m.ID != "":
		return Clean(m.ID)
	}
	return Clean(m.Address)
}

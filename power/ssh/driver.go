package ssh

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"lightsout/internal/text"
	"lightsout/power"
)

// DriverName is the driver's name in configuration files.
const DriverName = "ssh"

func init() {
	// It is built with the client that the way to the cluster uses too.
	power.Register(power.DriverSpec{Name: DriverName, Off: true})
}

// defaultShutdown is the command that a node is asked to shut down with.
const defaultShutdown = "sudo -n shutdown -h now"

// paramUser is the Machine.Params key for the user that logs in.
const paramUser = "user"

// DriverOptions say how nodes are shut down.
type DriverOptions struct {
	// Shutdown is the command; defaultShutdown when empty. It must never wait
	// for a password, unless it begins with "sudo -S ": then the operator is
	// asked for sudo's password, which is handed over on standard input and
	// forgotten.
	Shutdown string
	// NodeSilent reports whether the cluster, too, shows that the machine's node
	// (Machine.Name) is silent. A machine that does not answer on ssh is
	// presumed off only then. Nil: no cluster is there to show it.
	NodeSilent func(m power.Machine) bool
	// Timeout (3 s) bounds one poll of a machine.
	Timeout time.Duration
	// CommandTimeout (30 s) is how long a machine that was logged in to may take
	// to carry the command out. After that it can't be told whether it did.
	CommandTimeout time.Duration
}

// Driver shuts nodes down over ssh, and tells by whether their ssh server
// answers if they are on. It can't power on, and can't pull the plug. It is
// safe for use by several goroutines.
type Driver struct {
	client *Client
	opt    DriverOptions

	mu   sync.Mutex
	seen map[string]*sight // by Machine.ID
}

// sight holds the observations of one machine.
type sight struct {
	// silent counts polls in a row without an answer, the first at since.
	silent int
	since  time.Time
	// pending are connections still being tried; more than maxPending are not
	// left waiting on the bastion for one dead machine.
	pending *semaphore.Weighted
}

const (
	maxPending = 12
	// silentPolls in a row, over a way that is alive, make a machine silent.
	silentPolls = 2
)

// NewDriver makes the driver.
func NewDriver(c *Client, opt DriverOptions) *Driver {
	opt.Shutdown = cmp.Or(opt.Shutdown, defaultShutdown)
	opt.Timeout = cmp.Or(opt.Timeout, 3*time.Second)
	opt.CommandTimeout = cmp.Or(opt.CommandTimeout, 30*time.Second)
	return &Driver{client: c, opt: opt, seen: map[string]*sight{}}
}

// Command is the command that machines are shut down with.
func (d *Driver) Command() string { return d.opt.Shutdown }

// Abilities: it tells the state without proving Off, and shuts down.
func (d *Driver) Abilities() power.Abilities {
	return power.Abilities{State: true, Shutdown: true}
}

// Find gives the node's own ssh server: at its first address, or, when it has
// none, at the hint or its name, as the ssh_config resolves it. An annotation
// does not choose it: a password may be asked for and sent there.
func (d *Driver) Find(_ context.Context, node power.NodeRef, hint string) (power.Machine, error) {
	target, how := hint, ""
	switch {
	case len(node.Addresses) > 0:
		target, how = node.Addresses[0], power.HowAddress
	case hint == "":
		target, how = node.Name, power.HowName
	}
	if strings.Count(target, ":") > 1 && !strings.HasPrefix(target, "[") {
		target = "[" + target + "]"
	}
	h, _, err := d.client.node(target)
	if err != nil {
		return power.Machine{}, err
	}
	return power.Machine{
		Driver: DriverName, ID: h.addr(), Name: node.Name, Address: h.name,
		Params: map[string]string{paramUser: h.user, "host": target}, How: how,
	}, nil
}

// Ready returns the machine: the driver powers nothing on.
func (d *Driver) Ready(_ string, m power.Machine) (power.Machine, error) { return m, nil }

// spec is what Client.Run is given for a machine: what Find resolved, so that
// the ssh_config's settings for it hold again, with the user of then.
func spec(m power.Machine) string {
	target := cmp.Or(m.Params["host"], m.ID)
	if u := m.Params[paramUser]; u != "" && !strings.Contains(target, "@") {
		target = u + "@" + target
	}
	return target
}

// CommandTo is the command line of ssh that logs in to a machine as the client does; empty for a machine of
// another driver. Each jump host takes its key from the agent or the ssh_config.
func (c *Client) CommandTo(m power.Machine) string {
	user, name, port, err := splitSpec(spec(m))
	if m.Driver != DriverName || err != nil {
		return ""
	}
	out := []string{"ssh"}
	for _, option := range [][2]string{{"-F", c.opt.ConfigFile}, {"-i", cmp.Or(c.opt.IdentityFiles...)}, {"-J", c.Via()}, {"-p", port}} {
		if option[1] != "" {
			out = append(out, option[:]...)
		}
	}
	return text.ShellLine(append(out, user+"@"+name)...)
}

// State polls whether the ssh server of the machine identifies itself. That proves On.
// A refused connection means that the host is up and sshd is not: Unknown.
// Silence is Unknown too, until it lasts over two polls while the bastion
// answers, and the cluster speaks for it: then it is
// presumed Off. An error means that lightsout could not reach the machine's
// network.
func (d *Driver) State(ctx context.Context, m power.Machine) (power.Reading, error) {
	h, via, err := d.client.node(spec(m))
	if err != nil {
		return power.Reading{}, err
	}
	if via != nil {
		if _, err := via.get(ctx); err != nil {
			return power.Reading{}, err
		}
	}
	began := time.Now()
	err = d.probe(ctx, via, h, m)
	switch {
	case err == nil:
		return power.Reported(power.On, "ssh answers"), nil
	case causeOf(err) == causeRefused:
		d.update(m, func(s *sight) { s.silent = 0 })
		return power.Reported(power.Unknown, "sshd stopped: the host is up and refuses ssh"), nil
	case errors.Is(err, errMute):
		return power.Reported(power.Unknown, "the host accepts ssh connections and sends nothing"), nil
	case causeOf(err) != causeSilent && !errors.Is(err, errSilent):
		return power.Reading{}, err
	case ctx.Err() != nil && time.Since(began) < d.opt.Timeout/2:
		return power.Reading{}, context.Cause(ctx) // cancelled, not waited for
	case d.presumedOff(m, via, began):
		return power.Reading{State: power.Off, Proof: power.Presumed, Detail: "ssh is silent"}, nil
	}
	return power.Reading{Detail: "ssh is silent", NoAnswer: true}, nil
}

var (
	errSilent = errors.New("no answer")
	errMute   = errors.New("connected, but no ssh server answered")
)

// update reads and changes the observations of a machine.
func (d *Driver) update(m power.Machine, f func(*sight)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seen[m.ID] == nil {
		d.seen[m.ID] = &sight{pending: semaphore.NewWeighted(maxPending)}
	}
	f(d.seen[m.ID])
}

// presumedOff counts one more poll without an answer.
func (d *Driver) presumedOff(m power.Machine, via *link, began time.Time) bool {
	alive := time.Now()
	if via != nil {
		alive = via.alive.Load().(time.Time)
	}
	off := false
	d.update(m, func(s *sight) {
		if s.silent == 0 {
			s.since = began
		}
		s.silent++
		off = s.silent >= silentPolls && alive.After(s.since)
	})
	return off && d.opt.NodeSilent != nil && d.opt.NodeSilent(m)
}

// probe connects to the ssh server and reads the first bytes of its banner
// (RFC 4253, 4.2). An open that the bastion still waits for is left to it: its
// late success counts as an answer.
func (d *Driver) probe(ctx context.Context, via *link, h host, m power.Machine) error {
	var pending *semaphore.Weighted
	d.update(m, func(s *sight) { pending = s.pending })
	if !pending.TryAcquire(1) {
		return errSilent
	}
	ctx, cancel := context.WithTimeout(ctx, d.opt.Timeout)
	defer cancel()
	done := make(chan error, 1)
	run := func() {
		defer pending.Release(1)
		err := d.banner(via, h)
		if err == nil {
			d.update(m, func(s *sight) { s.silent = 0 })
		}
		done <- err
	}
	if !d.client.spawn(run) {
		return errClosed
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return errSilent
	}
}

// probeLimit is how long an open is left to the bastion, whose own TCP gives
// up after about two minutes.
const probeLimit = 130 * time.Second

// banner waits as long as it takes, up to probeLimit; State does not wait for it.
func (d *Driver) banner(via *link, h host) error {
	ctx, cancel := context.WithTimeout(d.client.ctx, probeLimit)
	defer cancel()
	conn, err := d.client.dialVia(ctx, via, "tcp", h.addr())
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	_ = conn.SetReadDeadline(time.Now().Add(d.opt.Timeout)) // one that has ended is not read
	line, err := bufio.NewReaderSize(conn, 256).Peek(4)
	if err != nil || string(line) != "SSH-" {
		return errMute
	}
	return nil
}

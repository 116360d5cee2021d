package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"lightsout/cluster"
	"lightsout/internal/config"
	"lightsout/internal/text"
	"lightsout/loadgen"
	"lightsout/power"
	"lightsout/power/ssh"
)

// checkup checks everything that lightsout depends on. It changes nothing.
type checkup struct {
	config *config.Config
	wanted []string // nodes to check; empty is all
	// readOnly skips the checks that only acting needs.
	readOnly bool
	// recorder checks what the recorder needs, in place of machines and journal.
	recorder bool
	// restore is the command that powers on and uncordons what the check leaves off or
	// cordoned.
	restore string

	way
	power    *machines
	powerErr error

	show func([]checkRow)
	rows []checkRow
}

// connectWait bounds each connection that is made to see whether it can be.
const connectWait = 20 * time.Second

// newCheckup reads the configuration. An error outside the configuration itself becomes
// a row. secret prompts for passphrases; with nil there are no prompts.
func newCheckup(o options, wanted []string, secret func(context.Context, ssh.SecretQuestion) (string, error)) (*checkup, error) {
	cfg, err := o.Read()
	if err != nil {
		return nil, err
	}
	c := &checkup{config: cfg, wanted: wanted, readOnly: o.readOnly, restore: o.restore(cfg), show: func([]checkRow) {}}
	c.way, err = reach(cfg, sshAsker{secret: secret})
	if err != nil {
		return nil, err
	}
	if c.dial == nil {
		c.dial = (&net.Dialer{Timeout: connectWait}).DialContext
	}
	o.readOnly = true // for the machines
	c.power, c.powerErr = newMachines(cfg, o, c.ssh, nil, nil)
	return c, nil
}

func (c *checkup) close() {
	c.power.close()
	c.way.close()
}

// add takes an area's rows and shows them.
func (c *checkup) add(area string, rows ...checkRow) {
	for i := range rows {
		rows[i].Area = area
	}
	c.rows = append(c.rows, rows...)
	c.show(rows)
}

// run runs the checks, those that others depend on first.
func (c *checkup) run(ctx context.Context) {
	if !c.bastion(ctx) {
		c.add("cluster", skipped("all else", "not tested: the bastion failed"))
		c.state(nil)
		return
	}
	nodes := c.cluster(ctx)
	switch {
	case ctx.Err() != nil:
	case c.recorder:
		c.recording(ctx)
	default:
		c.machines(ctx, nodes)
		c.load(ctx)
		c.state(nodes)
	}
}

// bastion reports whether there is a way on.
func (c *checkup) bastion(ctx context.Context) bool {
	via := c.ssh.Via()
	if via == "" {
		c.add("bastion", skipped("bastion", "no bastion is configured"))
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, 2*connectWait)
	defer cancel()
	if err := c.ssh.Reach(ctx); err != nil {
		c.add("bastion", missing(via, err, "check its address, and that its ssh server runs and can be reached from here"))
		return false
	}
	rows := []checkRow{works(via, "logged in; known_hosts contains its host key")}
	ahead, within, err := c.ssh.BastionClock(ctx)
	c.add("bastion", append(rows, clockRow("clock of "+via, ahead, within, err))...)
	return true
}

// clockLimit is the largest permitted difference of clocks: lightsout compares
// heartbeats, and the times of cluster and machines, with this machine's clock.
const clockLimit = time.Second

func clockRow(what string, ahead, within time.Duration, err error) checkRow {
	switch {
	case err != nil:
		return skipped(what, "%s", err)
	case ahead.Abs() > clockLimit+within:
		return missing(what, fmt.Errorf("it differs by %s from this machine's", ahead.Abs().Round(100*time.Millisecond)),
			"have both keep time by the same servers (chrony or systemd-timesyncd)")
	}
	return works(what, "it agrees with this machine's within %s", max(ahead.Abs(), within, time.Millisecond).Round(time.Millisecond))
}

// cluster checks the API server and the account's rights, and returns the nodes.
func (c *checkup) cluster(ctx context.Context) []*cluster.Node {
	if c.noAPI != nil {
		c.add("cluster", missing("kubeconfig", c.noAPI, "correct the kubeconfig, or choose another with --kubeconfig or --context"))
		return nil
	}
	server := c.access.Server
	if c.access.Proxy != "" {
		server += " through the proxy " + c.access.Proxy
	}
	rows := []checkRow{works("kubeconfig", "context %s, user %s, API server %s", c.access.Context, c.access.User, server)}
	there := cluster.Contexts(c.config.Kubeconfig)
	for _, name := range c.config.ProductionContexts {
		if !slices.Contains(there, name) { // one config file may serve several kubeconfigs
			rows = append(rows, note("production", fmt.Sprintf("production_contexts names %q, and the kubeconfig has no such context", name), "there are: "+strings.Join(there, ", ")))
		}
	}
	version, err := c.api.Version(ctx)
	if err != nil {
		c.add("cluster", append(rows, missing("API server", err, "check that it runs, the way to it, and the server address in the kubeconfig"))...)
		return nil
	}
	c.add("cluster", append(rows, works("API server", "it answers, Kubernetes %s", version))...)
	c.add("rights", c.rights(ctx)...)
	id, _ := c.api.Identity(ctx) // the rights report its error
	c.here = identified(c.access.Context, id)
	nodes, err := c.api.Nodes(ctx)
	if err != nil {
		return nil // the rights have said so
	}
	return nodes
}

// load connects to the load's target and sends nothing.
func (c *checkup) load(ctx context.Context) {
	rows := c.deploymentName(ctx)
	l := c.config.Load
	if l.URL == "" {
		c.add("load", append(rows, skipped("target", "no load.url is configured"))...)
		return
	}
	addrs, err := loadgen.Addresses(l.URL, l.Entries)
	if err != nil {
		c.add("load", append(rows, missing("target", err, "correct it in lightsout.yaml"))...)
		return
	}
	dial, how := c.dial, ""
	switch {
	case c.config.Bastion == "":
	case l.ViaBastion != nil && !*l.ViaBastion:
		dial = (&net.Dialer{}).DialContext
	default:
		how = " through the bastion"
	}
	for _, addr := range addrs {
		ctx, cancel := context.WithTimeout(ctx, connectWait)
		conn, err := dial(ctx, "tcp", addr)
		cancel()
		if err == nil {
			conn.Close()
		}
		rows = append(rows, tried("target", err, "check load.url and load.entries, and that the service is there", "%s accepts connections%s; no request was sent", addr, how))
	}
	if err := l.ReadFiles(&loadgen.Options{}); err != nil {
		rows = append(rows, missing("files", err, "correct the load's files in lightsout.yaml"))
	}
	switch key, err := l.APIKey(); {
	case err != nil:
		rows = append(rows, missing("API key", err, "correct load.api_key_file or load.api_key_env"))
	case key == "":
		rows = append(rows, skipped("API key", "no API key is configured"))
	default:
		rows = append(rows, works("API key", "an API key is configured"))
	}
	c.add("load", rows...)
}

// state checks that the journal is writable, and lists the machines that it and the notes on nodes have as
// off.
func (c *checkup) state(nodes []*cluster.Node) {
	c.add("journal", append([]checkRow{c.folder("without a journal lightsout switches nothing")}, c.leftOff(nodes)...)...)
}

// folder checks that the folder of journals and records can be written; without says what else happens.
func (c *checkup) folder(without string) checkRow {
	dir, err := c.config.StateDir()
	if err == nil {
		err = writable(dir)
	}
	return tried("folder", err, "make it writable for this user, or set state in lightsout.yaml; "+without, "%s is writable", dir)
}

// writable returns the error that dir can't be written, nor made in the nearest folder
// above it that is there.
func writable(dir string) error {
	err := unix.Access(dir, unix.W_OK|unix.X_OK)
	switch parent := filepath.Dir(dir); {
	case errors.Is(err, unix.ENOENT) && parent != dir:
		return writable(parent)
	case err != nil:
		return fmt.Errorf("%s is not writable (%w)", dir, err)
	}
	return nil
}

// leftOff lists the machines that are off by the journal, or by the notes on nodes;
// it creates no journal. nodes is nil if lightsout could not list them.
func (c *checkup) leftOff(nodes []*cluster.Node) (rows []checkRow) {
	state, err := c.config.StateDir()
	if c.access == nil || err != nil {
		return nil
	}
	j := power.JournalToRead(state, c.here)
	defer j.Close()
	left, err := leftBehind(j)
	if err != nil {
		rows = append(rows, missing("left off", err, "inspect the journal, and repair it or move it away"))
	}
	for _, err := range left.errors(c.restore) {
		rows = append(rows, missing("left off", err, ""))
	}
	for _, o := range othersNotes(nil, j, true, justListed(nodes, c.api)) {
		rows = append(rows, missing("left off", fmt.Errorf("not in this journal: %s: it %s", o.Node, power.Ownership{Owner: power.Others, Other: o}.SwitchedOff()), "bring it back with the command of the note, or: "+c.restore+" "+text.ShellWord(power.Clean(o.Node))))
	}
	switch {
	case len(rows) > 0:
		return rows
	case nodes == nil:
		return []checkRow{skipped("left off", "the journal lists no machine as off; lightsout has not read the annotations on nodes")}
	}
	return []checkRow{works("left off", "neither the journal nor an annotation on a node lists a machine as off")}
}

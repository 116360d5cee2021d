package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"lightsout/cluster"
	"lightsout/internal/session"
	"lightsout/internal/text"
	"lightsout/internal/trial/plan"
	"lightsout/power"
	"lightsout/power/ssh"
)

// checksAtOnce bounds the number of nodes that are checked in parallel.
const checksAtOnce = 8

// machines checks each worker's machine, and the kubelet on it.
func (c *checkup) machines(ctx context.Context, nodes []*cluster.Node) {
	var rows []checkRow
	for _, name := range c.wanted {
		if !slices.ContainsFunc(nodes, func(n *cluster.Node) bool { return n.Name == name }) {
			rows = append(rows, missing(name, fmt.Errorf("the cluster has no such node, or the account may not see it"), "check its spelling: lightsout power status"))
		}
	}
	if nodes != nil {
		rows = append(rows, c.nodeNames(nodes)...)
	}
	switch {
	case c.readOnly:
		rows = append(rows, skipped("machines", "--read-only: lightsout switches no machines"))
	case c.powerErr != nil:
		rows = append(rows, missing("drivers", c.powerErr, "correct power in lightsout.yaml"))
	case c.power.missing != "":
		rows = append(rows, missing("drivers", errors.New("machines can't be switched"), noPowerTodo))
	}
	all := nodes
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n *cluster.Node) bool {
		return n.ControlPlane || len(c.wanted) > 0 && !slices.Contains(c.wanted, n.Name)
	})
	if len(nodes) == 0 {
		why := "lightsout sees no worker node"
		if all == nil {
			why = "not tested: lightsout could not read the nodes"
		}
		c.add("machines", append(rows, skipped("machines", "%s", why))...)
		return
	}
	var bindings []power.Binding
	if c.power.fleet != nil && !c.readOnly {
		s := justListed(all, c.api)
		refs := text.Each(nodes, func(n *cluster.Node) power.NodeRef { return session.NodeRef(s, n) })
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		bindings = c.power.fleet.Resolve(ctx, refs)
		cancel()
	}
	found := make([][]checkRow, len(nodes))
	var looks errgroup.Group // without errors: a problem is a row
	looks.SetLimit(checksAtOnce)
	for i, n := range nodes {
		looks.Go(func() error {
			if bindings != nil {
				found[i] = c.machine(ctx, n.Name, bindings[i])
			}
			found[i] = append(found[i], c.graceful(ctx, n))
			for k := range found[i] {
				found[i][k].Node = power.Clean(n.Name)
			}
			return nil
		})
	}
	_ = looks.Wait()
	c.add("machines", append(rows, slices.Concat(found...)...)...)
}

// machine checks the power-off and power-on drivers of one machine.
func (c *checkup) machine(ctx context.Context, node string, b power.Binding) []checkRow {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var rows []checkRow
	action, m, err := c.switchesOff(b)
	switch {
	case err != nil:
		rows = append(rows, missing("off", err, unboundTodo(err, "power.off_by")))
	case m.Driver == ssh.DriverName:
		rows = append(rows, c.overSSH(ctx, b, m)...)
	default:
		does := map[power.Action]string{power.ActionShutdown: "switches", power.ActionOff: "pulls the plug of"}
		rows = append(rows, c.obeys(ctx, "off", action, b, fmt.Sprintf("%s %s %s", m.Driver, does[action], m.Title())))
	}
	m, err = c.power.fleet.Can(b, power.ActionOn)
	if err != nil {
		return append(rows, missing("on", fmt.Errorf("it can't be powered on from here: %w", err), unboundTodo(err, "power.on_by")))
	}
	if err := c.power.fleet.Prove(ctx, []power.Binding{b})[node]; err != nil {
		return append(rows, missing("on", fmt.Errorf("cannot prove that it can be powered on: %w", err), "check the power API, its token, and that the machine is there"))
	}
	return append(rows, works("on", "%s reports the state of %s", m.Driver, m.Title()))
}

// switchesOff returns how a machine can be switched off: by a shutdown, or else by pulling its
// plug. The error is about the shutdown.
func (c *checkup) switchesOff(b power.Binding) (power.Action, power.Machine, error) {
	m, err := c.power.fleet.Can(b, power.ActionShutdown)
	if pulled, e := c.power.fleet.Can(b, power.ActionOff); err != nil && e == nil {
		return power.ActionOff, pulled, nil
	}
	return power.ActionShutdown, m, err
}

// unboundTodo returns what to do about a node without a machine; named is the field that names the driver.
func unboundTodo(err error, named string) string {
	if errors.As(err, new(*power.SilentError)) {
		return "check the power API, and the route to it"
	}
	return "correct power in lightsout.yaml: the driver in " + named + ", its settings, and the node's own machine under power.nodes"
}

// overSSH checks a node's ssh, clock and sudo.
func (c *checkup) overSSH(ctx context.Context, b power.Binding, m power.Machine) []checkRow {
	ahead, within, err := c.power.ssh.Clock(ctx, m)
	if errors.As(err, new(*ssh.ConnectError)) {
		return []checkRow{missing("ssh", err, "power it on, or check the route to it"), skipped("sudo", "there is no ssh"), skipped("clock", "there is no ssh")}
	}
	user := m.Params["user"]
	return []checkRow{
		works("ssh", "logged in to %s as %s", m.ID, user),
		c.obeys(ctx, "sudo", power.ActionShutdown, b, fmt.Sprintf("it accepts %q", c.power.ssh.Command())),
		clockRow("clock", ahead, within, err),
	}
}

// obeys asks the driver that can tell whether it would permit the action.
func (c *checkup) obeys(ctx context.Context, what string, a power.Action, b power.Binding, good string) checkRow {
	err := c.power.fleet.Preflight(ctx, a, []power.Binding{b})[b.Node.Name]
	return tried(what, err, "log in and try it by hand", "%s", good)
}

// graceful looks whether the kubelet holds a shutdown up for its pods.
func (c *checkup) graceful(ctx context.Context, n *cluster.Node) checkRow {
	const what = "graceful shutdown"
	k, err := c.api.Kubelet(ctx, n.Name)
	switch {
	case err != nil:
		return skipped(what, "%s", err)
	case k.ShutdownGrace == 0:
		return note(what, "the kubelet ignores a shutdown: its pods are killed, and the node falls silent",
			"set shutdownGracePeriod in the kubelet's configuration, unless you want to test exactly this")
	}
	return works(what, "%s, of them %s for critical pods", k.ShutdownGrace, k.ShutdownGraceCritical)
}

// nodeNames checks that the nodes in the config file exist in the cluster, and returns
// a row for each one that does not.
func (c *checkup) nodeNames(nodes []*cluster.Node) (rows []checkRow) {
	there := namesOf(nodes)
	absent := func(field, name string) {
		rows = append(rows, missing(name, errors.New(field+" names it: "+plan.Missing("node", name, there)), "correct "+field+" in lightsout.yaml"))
	}
	for _, name := range slices.Sorted(maps.Keys(c.config.Power.Nodes)) {
		if !slices.Contains(there, name) {
			absent("power.nodes", name)
		}
	}
	for _, name := range c.config.Guards.Protect {
		if !slices.ContainsFunc(there, func(n string) bool { return strings.EqualFold(n, name) }) {
			absent("guards.protect", name)
		}
	}
	return rows
}

// deploymentName checks that load.deployment exists in the cluster: neither the gauge
// nor a trial works without it. There is no row where the config names none.
func (c *checkup) deploymentName(ctx context.Context) []checkRow {
	name := c.config.Load.Deployment
	ns, _, ok := strings.Cut(name, "/")
	if !ok || c.api == nil {
		return nil
	}
	there, err := c.api.Deployments(ctx, ns)
	switch {
	case err != nil:
		return []checkRow{skipped("deployment", "%s", err)}
	case slices.Contains(there, name):
		return []checkRow{works("deployment", "%s exists", name)}
	}
	if all, err := c.api.Deployments(ctx, ""); err == nil {
		there = all
	}
	return []checkRow{missing("deployment", errors.New("load.deployment: "+plan.Missing("deployment", name, there)), "correct load.deployment in lightsout.yaml")}
}

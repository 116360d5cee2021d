package cli

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"lightsout/cluster"
	"lightsout/internal/trial/plan"
)

// nodeNames checks that the nodes in the config file exist in the cluster, and returns
// a row for each one that does not.
func (c *checkup) nodeNames(nodes []*cluster.Node) (rows []checkRow) {
	var there []string
	for _, n := range nodes {
		there = append(there, n.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.config.Power.Nodes)) {
		if !slices.Contains(there, name) {
			rows = append(rows, missing(name, errors.New("power.nodes names it: "+plan.Missing("node", name, there)), "correct power.nodes in lightsout.yaml"))
		}
	}
	for _, name := range c.config.Guards.Protect {
		if !slices.ContainsFunc(there, func(n string) bool { return strings.EqualFold(n, name) }) {
			rows = append(rows, missing(name, errors.New("guards.protect names it: "+plan.Missing("node", name, there)), "correct guards.protect in lightsout.yaml"))
		}
	}
	return rows
}

// deploymentName checks that load.deployment exists in the cluster: neither the gauge
// nor a trial works without it. none: the config names no deployment.
func (c *checkup) deploymentName(ctx context.Context) (row checkRow, none bool) {
	name := c.config.Load.Deployment
	ns, _, ok := strings.Cut(name, "/")
	if !ok || c.api == nil {
		return row, true
	}
	there, err := c.api.Deployments(ctx, ns)
	if err != nil {
		return skipped("deployment", "%s", err), false
	}
	if slices.Contains(there, name) {
		return works("deployment", "%s exists", name), false
	}
	if all, err := c.api.Deployments(ctx, ""); err == nil {
		there = all
	}
	return missing("deployment", errors.New("load.deployment: "+plan.Missing("deployment", name, there)), "correct load.deployment in lightsout.yaml"), false
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/config"
	"lightsout/internal/text"
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

// namesWithin bounds how long config check waits for a cluster.
const namesWithin = 5 * time.Second

// checkNames compares the names in a config file with the cluster, if the cluster
// answers without a prompt, and prints the names that the cluster does not have.
func checkNames(ctx context.Context, flags config.Flags, cfg *config.Config, out, progress io.Writer) (faults int, err error) {
	warnOfContexts(cfg, out)
	if cfg.Context == "" && cfg.Load.Deployment == "" && len(cfg.Power.Nodes) == 0 && len(cfg.Guards.Protect) == 0 {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, namesWithin)
	defer cancel()
	c, err := newCheckup(options{Flags: flags, readOnly: true}, nil, nil)
	if err != nil {
		return 0, err
	}
	defer c.close()
	var nodes []*cluster.Node
	if err = c.accessErr; err == nil {
		nodes, err = c.api.Nodes(ctx)
	}
	if none := (*cluster.NoContextError)(nil); errors.As(err, &none) {
		_, err = fmt.Fprintf(out, "%s: %v\n", flags.Path(), none)
		return 1, err
	}
	if err != nil {
		fmt.Fprintf(progress, "lightsout did not compare names of nodes and deployments with a cluster: %v\n", err)
		return 0, nil
	}
	rows := c.nodeNames(nodes)
	if row, none := c.deploymentName(ctx); !none && row.Result == checkMissing {
		rows = append(rows, row)
	}
	for _, r := range rows {
		if _, err := fmt.Fprintf(out, "%s: %s\n", flags.Path(), text.Clean(r.Detail, 400)); err != nil {
			return len(rows), err
		}
	}
	return len(rows), nil
}

// warnOfContexts names the production contexts that the kubeconfig lacks. That is no error:
// one config file may serve several kubeconfigs.
func warnOfContexts(cfg *config.Config, out io.Writer) {
	there := cluster.Contexts(cfg.Kubeconfig)
	for _, name := range cfg.ProductionContexts {
		if !slices.Contains(there, name) {
			fmt.Fprintf(out, "warning: production_contexts names %q, and the kubeconfig has no such context (there are: %s)\n",
				text.Clean(name, 100), text.Clean(strings.Join(there, ", "), 400))
		}
	}
}

package cli

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"lightsout/cluster"
	"lightsout/internal/record/examples"
	"lightsout/internal/trial/plan"
)

// completeWait bounds how long the shell waits for the cluster.
const completeWait = 3 * time.Second

// completeFlag has the values of a flag completed.
func completeFlag(cmd *cobra.Command, flag string, c cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, c); err != nil {
		panic(err) // there is no such flag
	}
}

// named returns the options without ./lightsout.yaml, which may run programs: an
// operator who presses a key in somebody's folder has not agreed to that.
func (o *options) named() options {
	named := *o
	named.Elsewhere = true
	return named
}

// nodes completes the nodes of the cluster that the line does not have yet. It never
// prompts: if a prompt would be necessary it returns none.
func (o *options) nodes(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWait)
	defer cancel()
	all, _ := o.listNodes(ctx) // none with an error
	names := slices.DeleteFunc(namesOf(all), func(n string) bool { return slices.Contains(args, n) })
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (o *options) listNodes(ctx context.Context) ([]*cluster.Node, error) {
	cfg, err := o.named().Read()
	if err != nil {
		return nil, err
	}
	w, err := reachAPI(cfg, sshAsker{warn: func(string) {}})
	if err != nil {
		return nil, err
	}
	defer w.close()
	return w.api.Nodes(ctx)
}

// contexts completes the contexts of the kubeconfig.
func (o *options) contexts(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	path := o.Kubeconfig
	if cfg, err := o.named().Read(); err == nil {
		path = cfg.Kubeconfig
	}
	return cluster.Contexts(path), cobra.ShellCompDirectiveNoFileComp
}

// plans completes the built-in plans, and files.
func plans(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	files, _ := filepath.Glob(begun + "*.yaml") // its only error is a wrong pattern
	return append(plan.Builtin(), files...), cobra.ShellCompDirectiveDefault
}

// records completes the examples, the folders of the trials that are kept, the
// newest first, and other folders.
func (o *options) records(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return append(examples.Names(), o.named().recordDirs()...), cobra.ShellCompDirectiveKeepOrder
}

// recordDirs lists the folders of the records below the state folder, the newest first; none without one.
func (o options) recordDirs() []string {
	if cfg, err := o.Read(); err == nil {
		if state, err := cfg.StateDir(); err == nil {
			return recordDirs(state)
		}
	}
	return nil
}

// Package cli is the command line: one file a command. It reads flags and the
// config file, builds the parts that a command needs and hands them to each
// other; what the parts do is in their own packages. Only main imports it, and
// nothing but it imports the screen.
package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"lightsout/cluster"
	"lightsout/internal/config"
)

// version is what Main was told.
var version string

// options are the flags that every command has.
type options struct {
	config.Flags
	readOnly, dryRun bool
	// plans are the files of plans that the screen offers beside the built-in ones.
	plans []string
	ascii bool
	color string
	theme theme
	// lab: the cluster is a lab that ends with this program.
	lab bool
}

// Exit codes beyond 0: 1 is a failure, 2 a usage error.
const (
	exitFailed = 1
	exitUsage  = 2
)

// usageError is a wrong command line.
type usageError struct{ error }

// endSignals end the program in order.
var endSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// Main runs the command line and returns the program's exit status.
func Main(v string) int {
	version = v
	if len(os.Args) > 1 && os.Args[1] == terminalKeeperArg {
		return keepTerminal(os.Args[2:])
	}
	// Standard error is a file while the screen is shown: drawFrames.
	cluster.SetLog(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	// A closed standard output (`… | head`) ends no program that has machines off:
	// the write fails, and the work goes on. Programs that are run get the usual
	// SIGPIPE, which they would not if it was ignored.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	// SIGHUP and SIGTERM end the session in order: load stopped, record complete.
	ctx, stop := signal.NotifyContext(context.Background(), endSignals...)
	defer stop()
	err := newCommand().ExecuteContext(ctx)
	var usage usageError
	var verdict verdictError
	switch {
	case errors.As(err, &verdict):
		return verdict.code()
	case err == nil:
		return 0
	}
	fmt.Fprintf(os.Stderr, "lightsout: %v\n", err)
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}

func newCommand() *cobra.Command {
	var o options
	root := &cobra.Command{
		Use:   "lightsout",
		Short: "Pull the plug on Kubernetes nodes, watch the service, bring them back, keep the proof",
		Long: `lightsout shows a cluster's nodes, deployments and pods as they change, switches
the nodes' machines off and on, sends requests meanwhile, and keeps a record.

Without a command it opens the screen on the current context of the kubeconfig.`,
		Example: `  lightsout demo
  lightsout --context mdx --bastion mdxuser@bastion
  lightsout power shutdown kube-node3 kube-node4
  lightsout restore`,
		Version:       version,
		Args:          usageArgs(cobra.NoArgs),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runScreen(cmd.Context(), o)
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	f := root.PersistentFlags()
	o.Add(f)
	f.BoolVar(&o.readOnly, "read-only", false, "show only, switch nothing")
	f.BoolVar(&o.dryRun, "dry-run", false, "do everything but the switching")
	f.StringArrayVar(&o.plans, "plan", nil, "offer the plan in this `file` on the screen, beside mdx and vagrant")
	f.BoolVar(&o.ascii, "ascii", false, "draw with ASCII only")
	f.Var(&o.theme, "theme", "`name` of the colours: dark, light or contrast; else the terminal's own")
	f.StringVar(&o.color, "color", "auto", "`when` to use colour: auto, always or never")
	root.AddCommand(newDemoCommand(&o), newTrialCommand(&o), newReplayCommand(&o), newPowerCommand(&o), newRestoreCommand(&o), newCheckCommand(&o), newConfigCommand(&o), newLoadCommand(&o), newExportCommand())
	return root
}

// usageArgs makes an argument check's error a usage error.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}

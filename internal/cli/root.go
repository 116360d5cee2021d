// Package cli is the command line: one file a command. It reads flags and the
// config file, builds the parts that a command needs and hands them to each
// other; what the parts do is in their own packages. A session (app.go) is made
// for the screen, `trial run` and the switching `power …`: what these switch is
// judged by a view that goes on, asked about, drained, proven and recorded in one
// way, and that way is the session's. The other commands make the parts that they
// need, and no session. Only main imports it, and nothing but it imports the screen.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"lightsout/cluster"
	"lightsout/internal/config"
	"lightsout/internal/terminal"
	"lightsout/internal/text"
	"lightsout/tui"
)

// version is the version of the program, from Command.
var version string

// options are the flags that several commands share.
type options struct {
	config.Flags
	readOnly, dryRun bool
	// plans are the files of plans that the screen offers beside the built-in ones.
	plans []string
	ascii bool
	// plain shows lines also on a terminal that can be drawn on.
	plain bool
	// once prints the state and ends.
	once  bool
	color string
	theme string // empty: the terminal's own
	// cast holds the flags for recording the screen.
	cast   castFlags
	beside func(ctx context.Context, b terminal.Beside)
	// noLoad: no requests are sent, so nothing of the load is needed.
	noLoad bool
	// past is how far back Events of Kubernetes are put on the timeline.
	past time.Duration
	// powersOn: the command powers machines on and switches none off. Faults in sections of
	// the config that it does not need, or in the ssh configuration, must not stop it.
	powersOn bool
	// unprompted: lightsout records outages without a trial.
	unprompted bool
	// lab is the scenario of a lab that ends with this program, and trials the state folder for
	// the records of its trials, empty is the usual one; lab is empty for another cluster.
	lab, trials string
}

// Exit codes beyond 0: 1 is a failure, 2 a usage error.
const (
	exitFailed = 1
	exitUsage  = 2
)

// Read reads the config file and overrides it with the flags. It prints the file's path
// if the operator did not name the file, and the faults that it overlooks for powersOn.
func (o options) Read() (*config.Config, error) {
	if o.powersOn && o.File != "" {
		o.File = cmp.Or(o.AbsPath(), o.File) // a journal names it so, and each fault shows once
	}
	var cfg *config.Config
	var faults []error
	var err error
	if o.powersOn {
		cfg, faults, err = o.ReadForOn()
	} else {
		cfg, err = o.Flags.Read()
	}
	if err != nil {
		return nil, usageError{err}
	}
	if o.Found() {
		sayFound.Do(func() { fmt.Fprintf(stderr, "lightsout reads %s\n", o.AbsPath()) })
	}
	for _, fault := range faults {
		warnOnce(fault.Error() + "; powering on does not need this section")
	}
	return cfg, nil
}

var sayFound sync.Once

// Main runs the command line and returns the program's exit status.
func Main(v string) int {
	if len(os.Args) > 2 && os.Args[1] == cluster.PluginArg {
		return cluster.Plugin(os.Args[2:])
	}
	if os.Getenv("GOGC") == "" { // memory before CPU time: 256 MB instead of 337 at 150,000 pods
		debug.SetGCPercent(50)
	}
	cluster.SetLog(slog.New(slog.NewTextHandler(terminal.Log{}, nil)))
	// A closed standard output (`… | head`) does not end a program that has machines
	// off: the write fails, and the work continues. Child processes get the usual
	// SIGPIPE, which they would not if it were ignored.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	// SIGHUP and SIGTERM end the session in order: load stopped, record complete.
	ctx := untilSignal()
	text.Self = startedAs(os.Args[0])
	cmd, err := Command(v).ExecuteContextC(ctx)
	if err == nil && cmd.HasSubCommands() { // which --help has not looked at
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	var verdict verdictError
	switch {
	case errors.As(err, &verdict):
		return trialCodes[verdict.verdict]
	case err == nil:
		return 0
	}
	wrong := errors.As(err, new(usageError))
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	fmt.Fprintln(stderr, "lightsout: "+text.Visible(err.Error()))
	if wrong {
		return exitUsage
	}
	return exitFailed
}

// startedAs is the command that starts a program of that name or path again: its name, if PATH leads to it.
func startedAs(name string) string {
	path, _ := filepath.Abs(name)
	if found, _ := exec.LookPath(filepath.Base(name)); found == path || !strings.Contains(name, "/") {
		return filepath.Base(name)
	}
	return text.ShellWord(path)
}

// Command is the command line of a program of that version.
func Command(v string) *cobra.Command {
	version = v
	var o options
	root := &cobra.Command{
		Use:           "lightsout",
		Short:         "Pull the plug on Kubernetes nodes, watch the service, bring them back, keep the proof",
		Version:       version,
		Args:          takes(0, 0, ""),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.once {
				return stateOnce(cmd.Context(), o, cmd.OutOrStdout())
			}
			return runScreen(cmd.Context(), o)
		},
	}
	if filepath.Base(os.Args[0]) == "kubectl-lightsout" {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl lightsout"}
	}
	root.SetFlagErrorFunc(flagError)
	o.clusterFlags(root)
	o.Bound(root.Flags())
	o.sessionFlags(root)
	root.Flags().BoolVar(&o.once, "once", false, "print the state once, and end: for watch and cron")
	o.drawFlags(root)
	o.cast.add(root.Flags())
	root.AddCommand(newDemoCommand(&o), newTrialCommand(&o), newReplayCommand(&o), newRecorderCommand(&o), newRecordsCommand(&o), newPowerCommand(&o), newRestoreCommand(&o), newCheckCommand(&o), newConfigCommand(&o), newLoadCommand(&o), newExportCommand(&o), newSurveyCommand(&o), newSnapshotCommand(&o))
	addHelp(root, "lightsout")
	root.AddCommand(topics()...)
	group(root)
	knowFlags(root, root)
	return root
}

// clusterFlags adds the flags that lead to a cluster and its machines.
func (o *options) clusterFlags(cmd *cobra.Command) {
	o.Add(cmd.Flags())
	completeFlag(cmd, "context", o.contexts)
}

// recordFlags adds those that say where records are, for a command that reads one by name.
func (o *options) recordFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.File, "config", "", "config `file` that names the state folder")
	cmd.Flags().StringVar(&o.State, "state", "", "`folder` with the records (default ~/.local/state/lightsout)")
}

// dryRunFlag adds that of a command that switches.
func (o *options) dryRunFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "do everything except switch")
}

// sessionFlags adds the flags of a session on the screen.
func (o *options) sessionFlags(cmd *cobra.Command) {
	o.dryRunFlag(cmd)
	cmd.Flags().BoolVar(&o.plain, "plain", false, "print lines instead of drawing a screen: the state, then each event; for pipes and screen readers")
	cmd.Flags().BoolVar(&o.readOnly, "read-only", false, "switch nothing; lightsout can still send load")
	cmd.Flags().StringArrayVar(&o.plans, "plan", nil, "offer the plan in this `file` on the screen, beside mdx and vagrant")
	completeFlag(cmd, "plan", plans)
}

// drawFlags adds the flags that say how the screen is drawn.
func (o *options) drawFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.ascii, "ascii", false, "draw with ASCII only")
	choiceFlag(cmd, &o.theme, "theme", "", "`name` of the colours: dark, light or contrast (default the terminal's own)", tui.Themes[1:]...)
	o.color = "auto"
	choiceFlag(cmd, &o.color, "color", "", "`when` to use colour: auto (default), always or never", "auto", "always", "never")
}

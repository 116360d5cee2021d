package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"lightsout/internal/text"
	"lightsout/internal/trial/plan"
)

// What a lab may be told.
var scenarios, paces = []string{"mdx", "mixed", "vagrant"}, []string{"fast", "real"}

func newDemoCommand(o *options) *cobra.Command {
	pace := "fast"
	play := demoPlayer{}
	var itself bool
	cmd := &cobra.Command{
		Use:       "demo [mdx|mixed|vagrant]",
		Short:     "Open the screen on the lab, a cluster of simulated machines",
		ValidArgs: scenarios,
		Args:      takes(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			scenario := append(args, "mdx")[0]
			if err := oneOf("demo", scenario, scenarios...); err != nil {
				return err
			}
			play.scenario = scenario
			switch {
			case !itself && play.quit:
				return usageError{errors.New("--quit is for --play")}
			case itself && demoScripts[scenario].begin == "":
				return usageError{fmt.Errorf("--play has no experiment for %s; there are %s", scenario, text.List(plan.Builtin()))}
			case itself && !o.drawn():
				return usageError{errors.New("--play needs the drawn screen; without it: lightsout trial run " + scenario + " --lab")}
			case itself:
				o.beside = play.play
			}
			there, stop, err := o.inLab(cmd.Context(), scenario, pace)
			if err != nil {
				return err
			}
			defer stop()
			return runScreen(cmd.Context(), there)
		},
	}
	choiceFlag(cmd, &pace, "pace", "", "`timings`: real is Kubernetes' own, fast (default) is shortened", paces...)
	cmd.Flags().BoolVar(&itself, "play", false, "run the whole experiment with captions; any key pauses it")
	cmd.Flags().BoolVar(&play.quit, "quit", false, "with --play: leave at the end")
	o.sessionFlags(cmd)
	o.drawFlags(cmd)
	cmd.Flags().StringVar(&o.State, "state", "", "`folder` for the records of trials (default ~/.local/state/lightsout)")
	o.cast.add(cmd.Flags())
	return cmd
}

// inLab starts a lab, and gives the options that lead to it. What is recorded
// goes with it, but for trials.
func (o options) inLab(ctx context.Context, scenario, pace string) (there options, stop func(), err error) {
	fmt.Fprintf(os.Stderr, "starting the %s lab, a real control plane: that takes 10 to 40 s…\n", scenario)
	lab, err := startLab(ctx, scenario, pace)
	if err != nil {
		return o, nil, err
	}
	fmt.Fprintln(os.Stderr, "lab: another terminal joins it with:", text.Self, "--config", text.ShellWord(lab.Config))
	o.trials, o.State = o.State, ""
	o.File, o.Kubeconfig, o.lab = lab.Config, lab.Kubeconfig, scenario
	return o, lab.stop, nil
}

// lab is a running lightsout-lab, with the used fields of its ready line.
type lab struct {
	cmd        *exec.Cmd
	leash      io.Closer
	Config     string `json:"config"`
	Kubeconfig string `json:"kubeconfig"`
}

// startLab starts the lab and waits until it is ready. The lab ends when its
// standard input does, so also when this process is killed.
func startLab(ctx context.Context, scenario, pace string) (*lab, error) {
	path, err := findLab()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, "--scenario", scenario, "--pace", pace, "--stdin-leash")
	// Not ended by the terminal's Ctrl-C: lightsout ends it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	leash, err := cmd.StdinPipe()
	out, closed := cmd.StdoutPipe()
	if err = errors.Join(err, closed); err != nil {
		return nil, err
	}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("the lab can't be started: %w", err)
	}
	l := &lab{cmd: cmd, leash: leash}
	defer context.AfterFunc(ctx, func() { _ = leash.Close() })()
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, l)
	}
	if err == nil {
		return l, nil
	}
	l.stop()
	if why := context.Cause(ctx); why != nil {
		return nil, why
	}
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	return nil, fmt.Errorf("the lab ended before it was ready: %s", cmp.Or(lines[len(lines)-1], "it printed nothing"))
}

// stop ends the lab and waits until it has cleaned up.
func (l *lab) stop() {
	_ = l.leash.Close()
	_ = l.cmd.Wait()
}

// findLab looks for lightsout-lab beside this program, then on the PATH.
func findLab() (string, error) {
	const name = "lightsout-lab"
	self, _ := os.Executable()
	self, _ = filepath.EvalSymlinks(self) // empty if the program has no path
	for _, p := range []string{filepath.Join(filepath.Dir(self), name), name} {
		if p, err := exec.LookPath(p); err == nil {
			return p, nil
		}
	}
	return "", fmt.Errorf("%s is neither beside this program nor on the PATH; `make build` builds both", name)
}

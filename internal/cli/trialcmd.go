package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"lightsout/internal/config"
	"lightsout/internal/record"
	"lightsout/internal/report"
	"lightsout/internal/session"
	"lightsout/internal/text"
	"lightsout/internal/trial"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
)

// trialCodes are the exit codes of a trial that was judged and did not pass.
var trialCodes = map[view.Verdict]int{view.Fail: exitFailed, view.NotObserved: 3, view.Aborted: 4}

// verdictError is a trial that did not pass.
type verdictError struct{ verdict view.Verdict }

// Error names the verdict.
func (e verdictError) Error() string { return "the trial's verdict is: " + string(e.verdict) }

// trialFlags are the flags of trial run.
type trialFlags struct {
	out, junit, pace, scenario string
	lab, keepOff, yes          bool
	wait                       time.Duration
}

func newTrialCommand(o *options) *cobra.Command {
	var f trialFlags
	run := &cobra.Command{
		Use:               "run PLAN",
		Short:             "Run a plan, judge it and keep the record",
		Args:              takes(1, 1, "plan ("+strings.Join(plan.Builtin(), ", ")+" or a file)"),
		ValidArgsFunction: plans,
		RunE: func(cmd *cobra.Command, args []string) error {
			sum, err := runTrial(cmd.Context(), *o, args[0], f)
			if sum == nil && err != nil { // it ended before its first step
				err = usageError{fmt.Errorf("%w; nothing was sent", err)}
			}
			return cmp.Or(err, f.keepJUnit(args[0], sum, err))
		},
	}
	run.Flags().StringVar(&f.out, "record", "", "`folder` of the record (default a new one below the state folder)")
	run.Flags().StringVar(&f.junit, "junit", "", "`file` for the verdict and the expectations as test cases of JUnit, for CI")
	run.Flags().BoolVar(&f.lab, "lab", false, "use a new lab instead of a cluster")
	choiceFlag(run, &f.scenario, "scenario", "", "`name` of the lab's scenario: mdx, mixed or vagrant (default that of the plan's name)", scenarios...)
	choiceFlag(run, &f.pace, "pace", "", "the lab's `timings`: fast (default) or real", paces...)
	run.Flags().BoolVar(&f.keepOff, "keep-off", false, "leave the machines off at the end")
	run.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask for confirmation")
	waitFlag(run, &f.wait, viewWait)
	o.cast.addRedact(run.Flags())
	o.clusterFlags(run)
	o.Bound(run.Flags())
	o.dryRunFlag(run)
	cmd := commands("trial", "Run, check and compare outage trials", run, newTrialListCommand(), newTrialShowCommand(), newTrialInitCommand(), newTrialCheckCommand(), newTrialCompareCommand(o))
	cmd.Long = "A trial runs a plan and judges it by the observations of lightsout.\n\n" + plan.Help()
	cmd.Example = "  lightsout trial check outage.yaml\n  lightsout trial run outage.yaml\n  lightsout trial run mdx --lab"
	return cmd
}

// keepJUnit writes the file for CI, if there is to be one.
func (f *trialFlags) keepJUnit(name string, sum *record.Summary, why error) error {
	suite, err := report.JUnit(name, sum, why)
	if f.junit == "" || err != nil {
		return err
	}
	return os.WriteFile(f.junit, []byte(hidden.Load().Text(string(suite))+"\n"), 0o600)
}

func newTrialCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "check PLAN...",
		Short:             "Report every error in plans; switch nothing",
		Args:              takes(1, -1, "plan"),
		ValidArgsFunction: plans,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(text.Each(args, func(name string) error { return checkPlan(cmd, name) })...); err != nil {
				return usageError{err}
			}
			return nil
		},
	}
}

// checkPlan prints a plan and its warnings, or returns its faults.
func checkPlan(cmd *cobra.Command, name string) error {
	p, err := plan.Open(name)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	fmt.Fprintln(out, strings.TrimSuffix(p.Name+": "+p.About, ": "))
	for i, st := range p.Steps {
		fmt.Fprintf(out, "%3d  %s\n", i+1, st.Text())
	}
	for _, x := range p.Expect {
		fmt.Fprintf(out, "  =  %s: %s\n", x.Name(), x.Want())
	}
	for _, w := range p.Warnings() {
		cmd.PrintErrf("%s: warning: %s\n", name, w)
	}
	return nil
}

func newTrialCompareCommand(o *options) *cobra.Command {
	var as *string
	cmd := &cobra.Command{
		Use:               "compare DIR...",
		Short:             "Compare records of trials phase by phase, with forecast accuracy",
		Args:              takes(1, -1, "record"),
		ValidArgsFunction: o.records,
		RunE: func(cmd *cobra.Command, args []string) error {
			var records []*record.Record
			for _, dir := range args {
				r, err := o.openRecord(dir)
				if err != nil {
					return err
				}
				records = append(records, r)
			}
			switch out := cmd.OutOrStdout(); *as {
			case formatJSON:
				return report.CompareJSON(out, records)
			case formatMarkdown:
				return report.CompareMarkdown(out, records)
			default:
				return report.Compare(out, records, terminalWidth(os.Stdout))
			}
		},
	}
	as = formatFlag(cmd, formatTable, formatJSON, formatMarkdown)
	o.recordFlags(cmd)
	return cmd
}

func (f *trialFlags) check(p *plan.Plan, dryRun bool) error {
	if !f.lab && (f.pace != "" || f.scenario != "") {
		return errors.New("--pace and --scenario are for --lab; a real cluster has a pace of its own")
	}
	f.pace, f.scenario = cmp.Or(f.pace, "fast"), cmp.Or(f.scenario, p.Name)
	if f.lab && !slices.Contains(scenarios, f.scenario) {
		return fmt.Errorf("the lab has no scenario %q: choose one with --scenario mdx, mixed or vagrant", f.scenario)
	}
	if st := p.Asks(); st != nil && !f.lab && !f.yes && !dryRun && !term.IsTerminal(int(os.Stdin.Fd())) {
		return fmt.Errorf("there is no terminal to confirm on (%s); repeat with --yes", st.Text())
	}
	return f.keepJUnit(p.Name, nil, errors.New("the trial has not ended")) // it stays if lightsout is killed
}

// runTrial runs a plan in a session, and judges it. Without a verdict there is no summary.
func runTrial(ctx context.Context, o options, name string, f trialFlags) (*record.Summary, error) {
	p, err := plan.Open(name)
	if err == nil {
		err = f.check(p, o.dryRun)
	}
	if err != nil {
		return nil, err
	}
	if f.lab {
		var stop func()
		if o, stop, err = o.inLab(ctx, f.scenario, f.pace); err != nil {
			return nil, err
		}
		defer stop()
		f.yes = true
	}
	s, err := newApp(o)
	if err != nil {
		return nil, err
	}
	defer s.sayLeftOff()
	s.names.Add(record.NameHost, p.Nodes()...)
	c := newConsole(f.yes, "")
	c.lanes = []view.Lane{view.LaneOperator, view.LanePower, view.LaneNode, view.LaneTaint, view.LaneEndpoints,
		view.LaneDeployment, view.LaneLoad, view.LaneLink}
	err = s.run(ctx, func(ctx context.Context) error {
		if _, err := s.view(ctx, c, f.wait); err != nil {
			return err
		}
		if err := s.polled(ctx, c, p.Nodes()); err != nil {
			return err
		}
		if err := s.trials.Check(ctx, p); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if o.dryRun {
			return s.foresee(ctx, p)
		}
		if err := s.checkGuards(ctx, name, p, f.yes); err != nil {
			return err
		}
		s.trials.Start(p, trial.RunOptions{Dir: f.out, Auto: f.yes, KeepOff: f.keepOff, End: true})
		if err := c.follow(ctx, s.session); err != nil && ctx.Err() == nil {
			fmt.Fprintln(stderr, "lightsout: "+text.Visible(err.Error()))
			s.session.Send(view.AbortTrial{Why: err.Error()})
			return c.follow(ctx, s.session)
		}
		return nil
	})
	if o.dryRun {
		return nil, err
	}
	return s.trialOver(err)
}

// trialOver prints how the trial ended, and returns its summary. The error is its exit code: the verdict, or the reason
// why nothing proves it.
func (s *app) trialOver(err error) (*record.Summary, error) {
	sum, dir, refused := s.trials.Outcome()
	if sum == nil {
		return nil, cmp.Or(refused, err, errors.New("the trial did not begin: the reason is above"))
	}
	fmt.Fprintln(stdout)
	kept, proven := provenBy(dir)
	if kept != nil {
		printLines(stdout, report.Opening(kept)...)
		sum = cmp.Or(kept.Summary, sum) // its names are replaced before it is made to fit
	}
	printLines(stdout, report.Lines(sum, terminalWidth(os.Stdout))...)
	fmt.Fprintln(stdout, "record: "+text.Clean(dir, 4096)) // in one line, to be copied
	if proven != nil || sum.Verdict == view.Pass || sum.Verdict == view.NoExpectations {
		return sum, proven
	}
	return sum, verdictError{sum.Verdict}
}

// provenBy reads the readable part of the record in a trial's folder. The error reports
// missing parts of the record and its reports.
func provenBy(dir string) (*record.Record, error) {
	r, err := record.Open(dir)
	for _, name := range []string{record.SummaryFile, record.ReportFile, record.HTMLFile} {
		if info, missing := os.Stat(filepath.Join(dir, name)); missing != nil || info.Size() == 0 {
			err = errors.Join(err, fmt.Errorf("%s is missing or empty", name))
		}
	}
	if err != nil {
		return r, fmt.Errorf("the record of the trial is not complete, so nothing proves its verdict; free space on the disk and run it again: %w", err)
	}
	return r, nil
}

// doingEvery is the interval at which a long step reports its progress.
const doingEvery = 10 * time.Second

// follow shows a trial as plain lines until the session ends.
func (c *console) follow(ctx context.Context, e *session.Session) error {
	var said string
	var saidAt time.Time
	return c.show(ctx, e, func(f *view.Frame) bool {
		t := f.Trial
		if t == nil || t.Doing == "" || t.Doing == said || f.Now.Sub(saidAt) < doingEvery {
			return false
		}
		if !saidAt.IsZero() {
			printLines(c.out, f.Now.Format("15:04:05")+" … "+t.Doing)
		}
		said, saidAt = t.Doing, f.Now
		return false
	})
}

// trialsDir is where the folders of trials are made.
func trialsDir(o options, c *config.Config, context string) (string, error) {
	if o.lab != "" {
		c = &config.Config{State: o.trials} // the lab's own folder goes with it
	}
	dir, err := c.StateDir()
	return filepath.Join(dir, record.FolderName(context), "trials"), err
}

// knownPlans are the plans that are offered on the screen.
func knownPlans(files []string) ([]*plan.Plan, error) {
	var out []*plan.Plan
	for _, name := range append(plan.Builtin(), files...) {
		p, err := plan.Open(name)
		if err != nil {
			return nil, usageError{err}
		}
		out = append(out, p)
	}
	return out, nil
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"lightsout/cluster"
	"lightsout/internal/config"
	"lightsout/internal/survey"
	"lightsout/internal/text"
	"lightsout/power"
)

// surveying holds the flags of `lightsout survey`.
type surveying struct {
	survey.Options
	as            *string
	require, from string
	min           []string
	wait          time.Duration
}

func newSurveyCommand(o *options) *cobra.Command {
	var q surveying
	cmd := &cobra.Command{
		Use:               "survey [NODE...]",
		Short:             "Forecast which nodes and zones the cluster can spare",
		ValidArgsFunction: o.nodes,
		RunE:              func(cmd *cobra.Command, args []string) error { return runSurvey(cmd.Context(), *o, q, args) },
	}
	o.clusterFlags(cmd)
	waitFlag(cmd, &q.wait, viewWait)
	f := cmd.Flags()
	f.BoolVar(&q.Pairs, "pairs", false, "also lose every pair of nodes")
	f.StringArrayVar(&q.By, "by", nil, "nodes with one value of this `label` are a failure domain (may be repeated)")
	f.StringArrayVar(&q.min, "min", nil, "how many pods of a workload are needed, and enough, as `NAMESPACE/NAME=N` (may be repeated)")
	f.StringVar(&q.require, "require", "", "exit with 1 unless the cluster survives the `loss` of any node (n-1), any pair (n-2) or any zone (zone)")
	completeFlag(cmd, "require", cobra.FixedCompletions(survey.Requirements, cobra.ShellCompDirectiveNoFileComp))
	q.as = formatFlag(cmd, survey.Formats...)
	f.StringVar(&q.from, "from", "", "survey this `file` of lightsout snapshot, without a cluster")
	return cmd
}

func newSnapshotCommand(o *options) *cobra.Command {
	redact, wait := false, viewWait
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Print the objects that decide where pods go, for survey",
		Args:  takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return placed(cmd.Context(), *o, wait, func(_ *config.Config, _ way, s *cluster.Snapshot) error {
				return survey.Save(os.Stdout, s, redact)
			})
		},
	}
	o.clusterFlags(cmd)
	waitFlag(cmd, &wait, viewWait)
	cmd.Flags().BoolVar(&redact, "redact", false, "replace the names of nodes, namespaces, pods and workloads, and the values of labels")
	return cmd
}

// check parses the flags, and the names of nodes that are lost together.
func (q *surveying) check(nodes []string) error {
	q.Together = slices.Compact(slices.Sorted(slices.Values(nodes)))
	switch {
	case q.require != "" && !slices.Contains(survey.Requirements, q.require):
		return usageError{fmt.Errorf("there is no --require %q, only %s; for certain nodes together: lightsout survey NODE NODE NODE", q.require, text.List(survey.Requirements))}
	case len(nodes) > 0 && (q.Pairs || len(q.By) > 0 || q.require != ""):
		return usageError{errors.New("survey NODE has only the loss of these nodes: leave out --pairs, --by and --require")}
	}
	q.Pairs = q.Pairs || q.require == "n-2"
	q.Min = map[cluster.Key]int{}
	for _, text := range q.min {
		key, count, _ := strings.Cut(text, "=")
		ns, name, ok := strings.Cut(key, "/")
		n, err := strconv.Atoi(count)
		if !ok || err != nil || n < 0 {
			return usageError{fmt.Errorf("--min %q is not NAMESPACE/NAME=N", text)}
		}
		q.Min[cluster.Key{Namespace: ns, Name: name}] = n
	}
	return nil
}

func runSurvey(ctx context.Context, o options, q surveying, nodes []string) error {
	if err := q.check(nodes); err != nil {
		return err
	}
	if q.from != "" {
		s, err := readSnapshot(q.from)
		if err != nil {
			return err
		}
		if *q.as == survey.Table {
			fmt.Println(strings.TrimPrefix(text.Clean(s.Context, 100)+" at "+s.At.UTC().Format("2006-01-02 15:04 UTC"), " "))
		}
		return q.print(ctx, s)
	}
	return placed(ctx, o, q.wait, func(cfg *config.Config, w way, s *cluster.Snapshot) error {
		left, err := leftOffHere(cfg, o, w)
		if err != nil {
			warnOnce("the survey may place pods on machines that are off: " + err.Error())
		}
		q.Off = text.Each(left, func(l power.LeftOff) string { return l.Node }) // the machines of a file's cluster may be on again
		return q.print(ctx, s)
	})
}

// print makes the survey of a snapshot, and judges it by the flags.
func (q *surveying) print(ctx context.Context, s *cluster.Snapshot) error {
	if err := known(s, q.Together); err != nil {
		return usageError{err}
	}
	r, err := survey.Make(ctx, s, q.Options)
	if err != nil {
		return err
	}
	for _, label := range q.By {
		if len(r.Of(label)) == 0 {
			return usageError{fmt.Errorf("no node has the label %q of --by", label)}
		}
	}
	if err := r.Write(os.Stdout, *q.as, terminalWidth(os.Stdout)); err != nil {
		return err
	}
	for _, l := range r.Losses {
		if len(l.Broken) > 0 {
			return fmt.Errorf("the loss of %s leaves too little: %s", l.Title(), l.Broken[0])
		}
	}
	if why := r.Unmet(q.require); q.require != "" && why != "" {
		return fmt.Errorf("the cluster does not meet %s: %s", q.require, why)
	}
	return nil
}

// terminalWidth is how many cells a line of the terminal has; 0 of a file that is no terminal.
func terminalWidth(f *os.File) int {
	w, _, _ := term.GetSize(int(f.Fd()))
	return max(0, w)
}

// readSnapshot reads a file of lightsout snapshot.
func readSnapshot(name string) (*cluster.Snapshot, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := survey.Load(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// placed gives use a Snapshot with every object that decides where pods go.
func placed(ctx context.Context, o options, wait time.Duration, use func(*config.Config, way, *cluster.Snapshot) error) error {
	o.readOnly = true
	return glance(ctx, o, wait, synced, func(s *cluster.Snapshot) bool { return !s.Unread(survey.Kinds...) }, func(cfg *config.Config, w way, s *cluster.Snapshot) error {
		if why := survey.WhyUnknown(s); why != "" { // each pod would seem to find a node
			return fmt.Errorf("lightsout cannot forecast where pods go: %s; try a longer --wait-for-api, or the rights of docs/clusterrole.yaml", why)
		}
		return use(cfg, w, s)
	})
}

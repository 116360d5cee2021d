package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"lightsout/internal/text"
	"lightsout/power"
	"lightsout/power/ssh"
)

// checkResult is the result of one check.
type checkResult string

// Results of a check.
const (
	checkWorks   checkResult = "works"
	checkMissing checkResult = "missing"
	// checkSkipped: unconfigured, not requested, or impossible because another check
	// failed.
	checkSkipped checkResult = "skipped"
	// checkNote: lightsout does without it, and the operator should know.
	checkNote checkResult = "note"
)

// checkRow is one check with its result.
type checkRow struct {
	// Area is the part that it belongs to, What names the thing.
	Area string `json:"area"`
	// Node is the node that it is about, if it is about one.
	Node   string      `json:"node,omitempty"`
	What   string      `json:"what"`
	Result checkResult `json:"result"`
	// Detail is the finding, and Todo is the next step.
	Detail string `json:"detail"`
	Todo   string `json:"todo,omitempty"`
}

// checkReport is all of them.
type checkReport struct {
	Context string              `json:"context,omitempty"`
	Rows    []checkRow          `json:"rows"`
	Count   map[checkResult]int `json:"count"`
}

func newCheckCommand(o *options) *cobra.Command {
	var as *string
	forRecorder := false
	cmd := &cobra.Command{
		Use:               "check [NODE...]",
		Short:             "Test rights, bastion, machines and load; switch nothing",
		ValidArgsFunction: o.nodes,
		RunE: func(cmd *cobra.Command, nodes []string) error {
			if forRecorder && len(nodes) > 0 {
				return usageError{errors.New("--recorder takes no NODE: the recorder switches no machine")}
			}
			return runCheck(cmd.Context(), *o, nodes, *as == formatJSON, forRecorder, cmd.OutOrStdout())
		},
	}
	as = formatFlag(cmd, formatTable, formatJSON)
	o.clusterFlags(cmd)
	o.Bound(cmd.Flags())
	cmd.Flags().BoolVar(&o.readOnly, "read-only", false, "skip the checks that only switching needs")
	cmd.Flags().BoolVar(&forRecorder, "recorder", false, "check what lightsout recorder needs, and nothing else")
	return cmd
}

// runCheck runs all checks, or those that the recorder needs, and prints them as JSON, or as a table, area by
// area as they end.
func runCheck(ctx context.Context, o options, nodes []string, asJSON, forRecorder bool, out io.Writer) error {
	c, err := newCheckup(o, nodes, askOnTerminal())
	if err != nil {
		return err
	}
	defer c.close()
	c.recorder = forRecorder
	if c.api != nil {
		warnNarrowed(ctx, c.config, c.api)
	}
	if !asJSON {
		c.show = func(rows []checkRow) { printRows(out, rows) }
	}
	c.run(ctx)
	report := c.report()
	if asJSON {
		if err := writeJSON(out, report); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if n := report.Count[checkMissing]; n > 0 {
		return fmt.Errorf("%d missing, %s", n, text.Count(report.Count[checkWorks], "works", "work"))
	}
	if !asJSON {
		fmt.Fprintf(out, "nothing is missing (%s)\n", text.Count(report.Count[checkWorks], "works", "work"))
	}
	return nil
}

// printRows prints one area.
func printRows(out io.Writer, rows []checkRow) {
	if len(rows) == 0 {
		return
	}
	var lines [][]string
	for _, r := range joinWorking(rows) {
		lines = append(lines, []string{strings.TrimSpace(r.Node + " " + r.What), string(r.Result), r.Detail})
		if r.Todo != "" {
			lines = append(lines, []string{"", "", "→ " + r.Todo})
		}
	}
	printLines(out, append(table(strings.ToUpper(rows[0].Area), lines), "")...)
}

// joinWorking puts what works of one node into one row, so that many nodes can
// be read.
func joinWorking(rows []checkRow) []checkRow {
	var out []checkRow
	at := map[string]int{} // index of the row of a successful check, by node
	for _, r := range rows {
		i, there := at[r.Node]
		switch {
		case r.Node == "" || r.Result != checkWorks:
			out = append(out, r)
		case there:
			out[i].Detail += ", " + r.What
		default:
			at[r.Node] = len(out)
			out = append(out, checkRow{Area: r.Area, Node: r.Node, Result: checkWorks, Detail: r.What})
		}
	}
	return out
}

// report sums up.
func (c *checkup) report() checkReport {
	r := checkReport{Rows: c.rows, Count: map[checkResult]int{checkWorks: 0, checkMissing: 0, checkSkipped: 0, checkNote: 0}}
	if c.access != nil {
		r.Context = c.access.Context
	}
	for _, row := range c.rows {
		r.Count[row.Result]++
	}
	return r
}

// row makes a row; words from elsewhere are made harmless.
func row(what string, result checkResult, detail, todo string) checkRow {
	return checkRow{What: power.Clean(what), Result: result, Detail: power.Clean(detail), Todo: power.Clean(todo)}
}

func works(what, format string, args ...any) checkRow {
	return row(what, checkWorks, fmt.Sprintf(format, args...), "")
}

func skipped(what, format string, args ...any) checkRow {
	return row(what, checkSkipped, fmt.Sprintf(format, args...), "")
}

func note(what, detail, todo string) checkRow { return row(what, checkNote, detail, todo) }

// missing returns a row with the problem; todo is the general next step, for errors
// without one of their own.
func missing(what string, err error, todo string) checkRow {
	detail := err.Error()
	var own *text.Advised
	var way *ssh.ConnectError
	switch {
	case errors.As(err, &own):
		detail, todo = strings.TrimSuffix(detail, "; "+own.Todo), own.Todo
	case errors.As(err, &way) && way.Todo() != "": // the host is there
		todo = way.Todo()
	}
	return row(what, checkMissing, detail, todo)
}

// tried is missing if there is an error, and works otherwise.
func tried(what string, err error, todo, format string, args ...any) checkRow {
	if err != nil {
		return missing(what, err, todo)
	}
	return works(what, format, args...)
}

// askOnTerminal asks for a passphrase or password on the terminal; nil if there is
// none. It does not ask about unknown host keys: a yes would write to known_hosts.
func askOnTerminal() func(context.Context, ssh.SecretQuestion) (string, error) {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return nil
	}
	return func(_ context.Context, q ssh.SecretQuestion) (string, error) {
		return askHidden(os.Stderr, q.Prompt+": ")
	}
}

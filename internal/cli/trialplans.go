package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"lightsout/internal/text"
	"lightsout/internal/trial/plan"
)

func newTrialListCommand() *cobra.Command {
	var as *string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the built-in plans",
		Args:  takes(0, 0, ""),
		RunE:  func(cmd *cobra.Command, _ []string) error { return listPlans(*as, cmd.OutOrStdout()) },
	}
	as = formatFlag(cmd, formatTable, formatJSON)
	return cmd
}

func newTrialShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "show PLAN",
		Short:             "Print a plan as YAML",
		Args:              takes(1, 1, "plan ("+strings.Join(plan.Builtin(), ", ")+" or a file)"),
		ValidArgsFunction: plans,
		RunE:              func(cmd *cobra.Command, args []string) error { return showPlan(args[0], cmd.OutOrStdout()) },
	}
}

func newTrialInitCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write an example plan",
		Args:  takes(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := append(args, "plan.yaml")[0]
			return writeNew(path, plan.Example(), "edit it, then run: "+text.Self+" trial check "+path, cmd.OutOrStdout())
		},
	}
}

// listPlans prints the built-in plans.
func listPlans(as string, out io.Writer) error {
	type line struct {
		Name  string `json:"name"`
		About string `json:"about"`
	}
	var all []line
	rows := [][]string{{"PLAN", "ABOUT"}}
	for _, name := range plan.Builtin() {
		p, err := plan.Open(name)
		if err != nil {
			return err
		}
		all = append(all, line{name, strings.TrimSpace(p.About)})
		sentence, _, _ := strings.Cut(strings.Join(strings.Fields(p.About), " "), ". ")
		rows = append(rows, []string{name, text.Cells(strings.TrimSuffix(sentence, "."))})
	}
	if as == formatJSON {
		return writeJSON(out, all)
	}
	_, err := io.WriteString(out, strings.Join(text.Columns(rows), "\n")+"\n")
	return err
}

// showPlan prints a plan: a built-in one or a file's.
func showPlan(name string, out io.Writer) error {
	body, err := plan.Text(name)
	if err != nil {
		return usageError{err}
	}
	_, err = io.WriteString(out, text.Visible(string(body)))
	return err
}

// writeNew creates the file at path, or prints the text if path is "-"; then it prints
// the next step.
func writeNew(path, body, next string, out io.Writer) error {
	if path == "-" {
		_, err := io.WriteString(out, body)
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s already exists and was not changed; name another file, or - to print the example", path)
	}
	if err == nil {
		_, err = f.WriteString(body)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("lightsout cannot write the example: %w", err)
	}
	_, err = fmt.Fprintf(out, "wrote %s; %s\n", path, next)
	return err
}

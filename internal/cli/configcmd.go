package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"lightsout/internal/config"
	"lightsout/internal/text"
)

func newConfigCommand(o *options) *cobra.Command {
	show := &cobra.Command{
		Use:   "show",
		Short: "Print the values in force, without secrets",
		Args:  takes(0, 0, ""),
		RunE:  func(cmd *cobra.Command, _ []string) error { return showConfig(o.Flags, cmd.OutOrStdout()) },
	}
	o.clusterFlags(show)
	o.Bound(show.Flags())
	check := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Report every error in the config file",
		Args:  takes(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			return checkConfig(config.Flags{File: append(args, o.File)[0]}, cmd.OutOrStdout())
		},
	}
	check.Flags().StringVar(&o.File, "config", "", "config `file` to check")
	return commands("config", "Create, show or check the config file", show, check,
		&cobra.Command{
			Use:   "init [FILE]",
			Short: "Write an example with every field as a comment",
			Args:  takes(0, 1, ""),
			RunE: func(cmd *cobra.Command, args []string) error {
				return writeNew(append(args, config.Name)[0], config.Example(), "uncomment what you need, then run: "+text.Self+" config check", cmd.OutOrStdout())
			},
		},
	)
}

func showConfig(flags config.Flags, out io.Writer) error {
	c, err := flags.Read()
	if err != nil {
		return usageError{err}
	}
	from := cmp.Or(flags.Path(), "no file")
	shown, err := c.Show()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "# from %s and the flags; omitted fields have their defaults\n%s", from, shown)
	return err
}

func checkConfig(flags config.Flags, out io.Writer) error {
	path := flags.Path()
	if path == "" {
		return usageError{errors.New("there is no config file to check; create one with: " + text.Self + " config init")}
	}
	data, err := config.ReadFile(path)
	if err != nil {
		return usageError{err}
	}
	faults := config.AllFaults(path, data)
	for _, f := range faults {
		if _, err := fmt.Fprintf(out, "%s: %v\n", path, f); err != nil {
			return err
		}
	}
	if n := len(faults); n > 0 {
		return usageError{fmt.Errorf("%s in the config", text.Count(n, "error", "errors"))}
	}
	if config.SetsNothing(data) {
		_, err = fmt.Fprintf(out, "%s sets nothing: every line is empty or a comment, so each field has its default\n", path)
		return err
	}
	_, err = fmt.Fprintf(out, "%s: OK; \"lightsout check\" tests the names and connections\n", path)
	return err
}

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"lightsout/internal/config"
)

func newConfigCommand(o *options) *cobra.Command {
	show := &cobra.Command{
		Use:   "show",
		Short: "Print the values of the file and the flags, without secrets",
		Args:  takes(0, 0, ""),
		RunE:  func(cmd *cobra.Command, _ []string) error { return showConfig(o.Flags, cmd.OutOrStdout()) },
	}
	o.clusterFlags(show)
	o.Bound(show.Flags())
	check := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Tell everything that is wrong with the file",
		Args:  takes(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			return checkConfig(config.Flags{File: append(args, o.File)[0]}, cmd.OutOrStdout())
		},
	}
	check.Flags().StringVar(&o.File, "config", "", "the `file`, as the other commands are told")
	return commands("config", "Make, show or check the config file", show, check,
		&cobra.Command{
			Use:   "init [FILE]",
			Short: "Write an example with every field, all of them as comments",
			Args:  takes(0, 1, ""),
			RunE: func(cmd *cobra.Command, args []string) error {
				return writeExample(append(args, config.Name)[0], cmd.OutOrStdout())
			},
		},
	)
}

// writeExample makes the file at path, or prints it.
func writeExample(path string, out io.Writer) error {
	if path == "-" {
		_, err := io.WriteString(out, config.Example())
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is there already and was left alone; name another file, or - to print the example", path)
	}
	if err != nil {
		return fmt.Errorf("the example can't be written: %w", err)
	}
	_, err = f.WriteString(config.Example())
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("the example can't be written: %w", err)
	}
	_, err = fmt.Fprintf(out, "%s was written; take away the \"# \" of what you need, then: lightsout config check\n", path)
	return err
}

func showConfig(flags config.Flags, out io.Writer) error {
	c, err := whileReading(flags.Read)
	if err != nil {
		return err
	}
	from := cmp.Or(flags.Path(), "no file")
	text, err := c.Show()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "# from %s and the flags; what is left out has its default\n%s", from, text)
	return err
}

func checkConfig(flags config.Flags, out io.Writer) error {
	path := flags.Path()
	if path == "" {
		return errors.New("there is no config file to check; make one with: lightsout config init")
	}
	data, err := whileReading(func() ([]byte, error) { return config.ReadFile(path) })
	if err != nil {
		return err
	}
	c, faults := config.Faults(data)
	if len(faults) == 0 {
		faults = c.FileFaults()
	}
	for _, f := range faults {
		if _, err := fmt.Fprintf(out, "%s: %v\n", path, f); err != nil {
			return err
		}
	}
	switch len(faults) {
	case 0:
		_, err := fmt.Fprintf(out, "%s: nothing is wrong with it; what it leads to is tried by: lightsout check\n", path)
		return err
	case 1:
		return errors.New("the config has a fault")
	}
	return fmt.Errorf("the config has %d faults", len(faults))
}

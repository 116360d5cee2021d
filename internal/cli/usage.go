package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lightsout/internal/config/yamlfile"
)

// usageError is a wrong command line.
type usageError struct{ error }

// takes bounds the number of arguments; a negative most is no bound. what describes a
// missing argument.
func takes(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		usage := strings.TrimSuffix(cmd.UseLine(), " [flags]")
		switch {
		case len(args) > 0 && cmd.HasSubCommands() && most == 0:
			return usageError{noCommand(cmd, args[0])}
		case len(args) < least:
			return usageError{fmt.Errorf("which %s? %s", what, usage)}
		case most >= 0 && len(args) > most:
			return usageError{fmt.Errorf("unexpected argument %q: %s", args[most], usage)}
		}
		return nil
	}
}

// commands is a command that only holds others, and alone shows its help.
func commands(use, short string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: takes(0, 0, ""), RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(below...)
	return cmd
}

// knowFlags has the commands that only hold others know the flags of the commands around them: cobra
// takes the word behind an unknown one for its value, and not for a command.
func knowFlags(root, cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		knowFlags(root, c)
		for _, from := range []*cobra.Command{root, c} {
			from.Flags().VisitAll(func(f *pflag.Flag) {
				if cmd != root && cmd.Flags().Lookup(f.Name) == nil {
					known := *f
					known.Hidden, known.Shorthand = true, ""
					cmd.Flags().AddFlag(&known)
				}
			})
		}
	}
}

// noCommand is the error that a command has none of that name below it.
func noCommand(cmd *cobra.Command, name string) error {
	var there []string
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		there = append(there, c.Name())
		for _, below := range c.Commands() {
			if below.Name() == name {
				return fmt.Errorf("there is no command %q; did you mean %q?", cmd.CommandPath()+" "+name, below.CommandPath())
			}
		}
	}
	return fmt.Errorf("there is no command %q; %s", cmd.CommandPath()+" "+name, yamlfile.Hint(name, there))
}

// oneOf returns the error that a value is not among the valid ones.
func oneOf(what, value string, all ...string) error {
	if slices.Contains(all, value) {
		return nil
	}
	return usageError{fmt.Errorf("there is no %s %q; %s", what, value, yamlfile.Hint(value, all))}
}

// flagError is the error in a flag, with where all are. A command that is not there has none of the
// flags that it was meant to have.
func flagError(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 && cmd.ValidateArgs(args) != nil {
		return usageError{noCommand(cmd, args[0])}
	}
	if own := (usageError{}); errors.As(err, &own) { // of a choiceFlag
		return own
	}
	return usageError{fmt.Errorf("%w; see: %s --help", err, cmd.CommandPath())}
}

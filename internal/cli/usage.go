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

// noCommand is the error that a command has none of that name below it.
func noCommand(cmd *cobra.Command, name string) error {
	var there []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			there = append(there, c.Name())
		}
	}
	text := fmt.Sprintf("there is no command %q", cmd.CommandPath()+" "+name)
	if name == "version" && !cmd.HasParent() {
		return fmt.Errorf("%s; did you mean %q?", text, "--version")
	}
	return fmt.Errorf("%s; %s", text, yamlfile.Hint(name, there))
}

// oneOf returns the error that a value is not among the valid ones.
func oneOf(what, value string, all ...string) error {
	if slices.Contains(all, value) {
		return nil
	}
	return usageError{fmt.Errorf("there is no %s %q; %s", what, value, yamlfile.Hint(value, all))}
}

// values returns the kind of a flag's value, by its type.
var values = map[string]string{"float64": "a number", "int": "a whole number", "duration": "a time like 90s or 30m", "bool": "true or false"}

// flagError describes the error in a flag, with a suggestion.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var empty *pflag.ValueRequiredError
	var wrong *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		// A command that is not there has none of the flags that it was meant to have.
		if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 && cmd.ValidateArgs(args) != nil {
			return usageError{noCommand(cmd, args[0])}
		}
		name := unknown.GetSpecifiedName()
		dashes := "--"
		if unknown.GetSpecifiedShortnames() != "" {
			dashes = "-"
		}
		var there []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { there = append(there, f.Name) })
		text := fmt.Sprintf("%s takes no %s%s", cmd.CommandPath(), dashes, name)
		if near := yamlfile.Suggest(name, there); near != "" && dashes == "--" {
			return usageError{fmt.Errorf("%s; did you mean --%s?", text, near)}
		}
		return usageError{fmt.Errorf("%s; see: %s --help", text, cmd.CommandPath())}
	case errors.As(err, &empty):
		return usageError{fmt.Errorf("--%s needs a value: %s", empty.GetFlag().Name, strings.ReplaceAll(empty.GetFlag().Usage, "`", ""))}
	case errors.As(err, &wrong):
		if what := values[wrong.GetFlag().Value.Type()]; what != "" {
			return usageError{fmt.Errorf("--%s is %s, not %q", wrong.GetFlag().Name, what, wrong.GetValue())}
		}
		return usageError{fmt.Errorf("--%s: %w", wrong.GetFlag().Name, wrong.Unwrap())}
	}
	return usageError{err}
}

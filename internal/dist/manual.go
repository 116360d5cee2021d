package main

import (
	"bytes"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"lightsout/internal/config"
)

// manual writes a page for each command, and lightsout.yaml(5), from the help texts and
// the example config.
func (r *release) manual(cmd *cobra.Command) error {
	cmd.DisableAutoGenTag = true
	asWritten(cmd)
	if err := doc.GenManTree(cmd, r.header("1"), r.staged("man")); err != nil {
		return err
	}
	return r.configPage(cmd)
}

func (r *release) header(section string) *doc.GenManHeader {
	return &doc.GenManHeader{Section: section, Source: "lightsout " + r.version, Manual: "lightsout", Date: &r.when}
}

// configPage writes lightsout.yaml(5): the help of "lightsout config", and the example
// with every field.
func (r *release) configPage(root *cobra.Command) error {
	help, _, err := root.Find([]string{"config"})
	if err != nil {
		return err
	}
	text := help.Long + "\nThe example below has every field as a comment, with its default or an example. See also **lightsout(1)** and **lightsout-config(1)**.\n"
	page := &cobra.Command{Use: "lightsout.yaml", Short: "config file of lightsout", Long: text, Example: config.Example(), DisableAutoGenTag: true, Run: func(*cobra.Command, []string) {}}
	page.Flags().Bool("help", false, "")
	if err := page.Flags().MarkHidden("help"); err != nil {
		return err
	}
	header := r.header("5")
	header.Title = "LIGHTSOUT.YAML"
	var out bytes.Buffer
	if err := doc.GenMan(page, header, &out); err != nil {
		return err
	}
	return os.WriteFile(r.staged("man/lightsout.yaml.5"), out.Bytes(), 0o644)
}

// asWritten prepares the texts of a command and its subcommands for a page. It keeps
// indented lines unchanged, because man would fill tables and examples like other text.
// It makes the exit status a section and, for the program itself, each help topic.
func asWritten(cmd *cobra.Command) {
	var b strings.Builder
	set := false
	for line := range strings.Lines(cmd.Long + "\n") {
		in := strings.HasPrefix(line, "  ")
		if in != set && strings.TrimSpace(line) != "" {
			b.WriteString("\n")
			set = in
		}
		if in {
			b.WriteString("    ")
		}
		b.WriteString(line)
	}
	cmd.Long = strings.Replace(b.String(), "\nExit status: ", "\n# EXIT STATUS\n", 1)
	for _, c := range cmd.Commands() {
		asWritten(c)
		if c.IsAdditionalHelpTopicCommand() {
			cmd.Long += "\n# " + strings.ToUpper(strings.ReplaceAll(c.Name(), "-", " ")) + "\n" + c.Long
		}
	}
}

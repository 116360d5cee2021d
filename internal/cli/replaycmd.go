package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lightsout/internal/record"
	"lightsout/internal/record/examples"
	"lightsout/internal/record/replay"
	"lightsout/internal/report"
	"lightsout/internal/terminal"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/tui"
)

func newReplayCommand(o *options) *cobra.Command {
	var how replay.Options
	var caption string
	cmd := &cobra.Command{
		Use:               "replay DIR",
		Short:             "Play the record of a trial on the screen",
		Args:              takes(1, 1, "record (a folder, "+strings.Join(examples.Names(), " or ")+")"),
		ValidArgsFunction: o.records,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !(how.Speed >= replay.SpeedLeast && how.Speed <= replay.SpeedMost) {
				return usageError{fmt.Errorf("--speed is from %g to %d, not %g", replay.SpeedLeast, replay.SpeedMost, how.Speed)}
			}
			r, err := o.openRecord(args[0])
			if err != nil {
				return err
			}
			if err := o.cast.check(o.drawn()); err != nil {
				return err
			}
			if !o.drawn() {
				return printRecord(cmd.OutOrStdout(), r)
			}
			return playRecord(cmd.Context(), *o, r, how, caption)
		},
	}
	o.recordFlags(cmd)
	o.cast.addFile(cmd.Flags())
	cmd.Flags().Float64Var(&how.Speed, "speed", 1, "play this many `times` as fast")
	cmd.Flags().BoolVar(&how.Loop, "loop", false, "begin again at the end, as for a booth")
	cmd.Flags().StringVar(&caption, "caption", "", "show this line of `text` below the screen instead of what happens")
	cmd.Flags().BoolVar(&o.plain, "plain", false, "print the timeline and the verdict instead")
	o.drawFlags(cmd)
	return cmd
}

// openRecord reads the record of a folder, of the folder of that name below the state folder, or of the example.
func (o *options) openRecord(name string) (*record.Record, error) {
	if _, err := os.Stat(name); errors.Is(err, os.ErrNotExist) {
		if example, ok := examples.Open(name); ok {
			return record.OpenFS(example, name)
		}
		dirs := o.recordDirs()
		i := slices.IndexFunc(dirs, func(dir string) bool { return filepath.Base(dir) == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no record %s: `%s records` lists all", name, text.Self)
		}
		name = dirs[i]
	}
	if strings.HasSuffix(name, ".cast") {
		return nil, fmt.Errorf("%s is a recording of the screen, not a record: draw it with lightsout export %[1]s NAME.gif", name)
	}
	return record.Open(name)
}

// playRecord shows a record on the screen until the operator leaves.
func playRecord(ctx context.Context, o options, r *record.Record, how replay.Options, caption string) error {
	player, err := replay.New(r, how)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	played := make(chan error, 1)
	go func() { played <- player.Run(ctx) }()
	signals.inOrder.Store(true)
	err = terminal.Show{
		Open: o.openRecord, Frames: player.Frames(), Color: terminal.ColorProfile(o.color), Cast: o.cast.file,
		Screen: tui.Options{Send: player.Send, ASCII: o.ascii, Theme: o.theme, Caption: caption},
	}.Run(ctx)
	cancel()
	return errors.Join(err, <-played)
}

// printRecord prints the timeline in the order of its times, the missing parts, and the
// verdict.
func printRecord(w io.Writer, r *record.Record) error {
	var b strings.Builder
	for _, e := range slices.SortedStableFunc(slices.Values(r.Events), func(a, b view.Event) int { return a.At.Compare(b.At) }) {
		printLines(&b, terminal.EventLine(e.At, e))
	}
	for _, t := range r.Torn {
		fmt.Fprintf(&b, "torn: %s\n", t)
	}
	printLines(&b, report.Opening(r)...)
	if r.Summary != nil {
		printLines(&b, report.Lines(r.Summary, terminalWidth(os.Stdout))...)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printLines writes lines, broken between words where the terminal is narrower; what w makes of them is its own matter.
func printLines(w io.Writer, lines ...string) {
	for _, line := range lines {
		fmt.Fprintln(w, strings.Join(text.Hang(line, terminalWidth(os.Stdout)), "\n"))
	}
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lightsout/internal/export"
	"lightsout/internal/record"
	"lightsout/internal/record/examples"
	"lightsout/internal/record/replay"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/tui"
)

// exportFlags are what the export command is told.
type exportFlags struct {
	out, size string
	at        time.Duration
	film      export.Options
}

func newExportCommand(o *options) *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:               "export FILE.cast|RECORD",
		Short:             "Make a GIF, an SVG, a PNG or a video of a recording",
		Args:              takes(1, 1, "recording (a .cast file, a record, "+strings.Join(examples.Names(), " or ")+")"),
		ValidArgsFunction: o.casts,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("at") {
				f.at = -1
			}
			return runExport(cmd.Context(), args[0], f)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "output", "o", "", "the `file` to make: .gif, .svg, .png or .mp4")
	fl.StringVar(&f.size, "size", "120x36", "columns x rows of a record's screen, like `120x36`")
	fl.DurationVar(&f.at, "at", 0, "the moment of a .png, in the `time` of a .gif (default its end)")
	fl.Float64Var(&f.film.Speed, "speed", 1, "show it so many `times` as fast as it happened")
	fl.DurationVar(&f.film.Idle, "idle", 2*time.Second, "cut the time in which nothing changes to this; 0 keeps it")
	fl.DurationVar(&f.film.Least, "least", 0, "show each picture at least so long: fewer pictures, a smaller file")
	fl.DurationVar(&f.film.From, "from", 0, "begin at this `time` of the recording")
	fl.DurationVar(&f.film.To, "to", 0, "end at this `time` of the recording (default its end)")
	fl.StringVar(&f.film.Theme, "theme", "", "`colours`: "+strings.Join(export.Themes(), ", "))
	fl.StringVar(&f.film.Title, "title", "", "a line of `text` above the screen")
	fl.BoolVar(&f.film.Captions, "captions", true, "show the recording's markers below the screen")
	fl.IntVar(&f.film.Size, "font-size", 15, "height of the letters in a .gif, .png or .mp4, in `pixels`")
	completeFlag(cmd, "theme", words(export.Themes()...))
	return cmd
}

func runExport(ctx context.Context, name string, f exportFlags) error {
	write, ok := map[string]func(*os.File, []export.Frame) error{
		".gif": func(w *os.File, frames []export.Frame) error { return export.GIF(w, frames, f.film) },
		".svg": func(w *os.File, frames []export.Frame) error { return export.SVG(w, frames, f.film) },
		".png": func(w *os.File, frames []export.Frame) error {
			at := f.at
			if at < 0 {
				at = frames[len(frames)-1].At
			}
			return export.PNG(w, frames, at, f.film)
		},
		".mp4": func(w *os.File, frames []export.Frame) error { return export.Video(ctx, w.Name(), frames, f.film) },
	}[strings.ToLower(filepath.Ext(f.out))]
	if !ok {
		return usageError{errors.New("which file is to be made? give -o with a name that ends in .gif, .svg, .png or .mp4")}
	}
	cast, err := openCast(name, f.size)
	if err != nil {
		return err
	}
	f.film.Captions = f.film.Captions && cast.HasMarkers()
	frames, err := export.Film(ctx, cast, f.film)
	if err != nil {
		return err
	}
	if err := writeFile(f.out, func(w *os.File) error { return write(w, frames) }); err != nil {
		return err
	}
	info, err := os.Stat(f.out)
	if err != nil {
		return err
	}
	last := frames[len(frames)-1]
	fmt.Printf("%s: %d pictures of %dx%d cells, %.0f s, %d KB\n", f.out, len(frames), last.Screen.Width, last.Screen.Height, last.Until.Seconds(), (info.Size()+999)/1000)
	return nil
}

// writeFile makes a file, whole or not at all.
func writeFile(path string, write func(*os.File) error) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".lightsout-*")
	if err == nil {
		defer os.Remove(tmp.Name())
		err = errors.Join(write(tmp), tmp.Close())
	}
	if err != nil {
		return fmt.Errorf("the picture can't be written: %w", err)
	}
	return os.Rename(tmp.Name(), path)
}

// openCast reads the cast at that path, or draws the record of that name.
func openCast(name, size string) (*export.Cast, error) {
	if strings.HasSuffix(name, ".cast") {
		f, err := text.OpenFile(name)
		if err != nil {
			return nil, fmt.Errorf("the recording can't be read: %w", err)
		}
		defer f.Close()
		return export.Read(f)
	}
	var w, h int
	if n, _ := fmt.Sscanf(size, "%dx%d", &w, &h); n != 2 || w < 20 || h < 5 || w > 500 || h > 200 {
		return nil, usageError{fmt.Errorf("--size is columns x rows from 20x5 to 500x200, like 120x36, not %q", size)}
	}
	r, err := openRecord(name)
	if err != nil {
		return nil, err
	}
	return drawRecord(r, w, h)
}

// drawRecord draws a record as the screen showed it, with the markers that a
// recording of that would have.
func drawRecord(r *record.Record, w, h int) (*export.Cast, error) {
	cast := &export.Cast{Width: w, Height: h}
	p := tui.NewPainter(tui.Options{})
	var moments record.Moments
	err := replay.Each(r, time.Second/2, func(f *view.Frame) error {
		at := f.Now.Sub(r.Start)
		for _, text := range moments.In(f) {
			cast.Events = append(cast.Events, export.Event{At: at, Code: "m", Data: text})
		}
		screen := "\x1b[H\x1b[0m" + strings.ReplaceAll(p.Paint(f, w, h), "\n", "\x1b[0m\r\n")
		cast.Events = append(cast.Events, export.Event{At: at, Code: "o", Data: screen})
		return nil
	})
	return cast, err
}

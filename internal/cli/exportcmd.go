package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// exportFlags are the flags of the export command.
type exportFlags struct {
	out, size string
	at        time.Duration
	film      export.Options
}

func newExportCommand(o *options) *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:               "export RECORD|FILE.cast FILE.gif|FILE.svg|FILE.png",
		Short:             "Make a GIF, an SVG or a PNG of a recording",
		Args:              takes(2, 2, "recording (a .cast file, a record, "+strings.Join(examples.Names(), " or ")+") and picture"),
		ValidArgsFunction: o.records,
		RunE: func(cmd *cobra.Command, args []string) error {
			given := cmd.Flags().Changed
			if !given("at") {
				f.at = -1
			}
			if !(f.film.Speed >= replay.SpeedLeast && f.film.Speed <= replay.SpeedMost) {
				return usageError{fmt.Errorf("--speed is from %g to %d, not %g", replay.SpeedLeast, replay.SpeedMost, f.film.Speed)}
			}
			if given("size") && strings.HasSuffix(args[0], ".cast") {
				return usageError{errors.New("--size is for records: a .cast has the size at which it was recorded")}
			}
			f.out = args[1]
			return o.runExport(cmd.Context(), args[0], f)
		},
	}
	o.recordFlags(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.size, "size", "120x36", "columns x rows of a record's screen, like `120x36`")
	fl.DurationVar(&f.at, "at", 0, "show the moment at this `time` of the film, like 12s, for a .png (default the end; --to has the recording's time)")
	fl.Float64Var(&f.film.Speed, "speed", 1, "play this many `times` as fast")
	fl.DurationVar(&f.film.Idle, "idle", 2*time.Second, "cut idle time to this; 0 keeps it")
	fl.DurationVar(&f.film.Least, "least", 0, "minimum time per frame: fewer frames, a smaller file")
	fl.DurationVar(&f.film.From, "from", 0, "start at this `time` of the recording")
	fl.DurationVar(&f.film.To, "to", 0, "end at this `time` of the recording (default its end)")
	choiceFlag(cmd, &f.film.Theme, "theme", "", "`colours`: "+strings.Join(export.Themes(), ", ")+" (default those of the .cast, or dark)", export.Themes()...)
	fl.StringVar(&f.film.Title, "title", "", "a line of `text` above the screen")
	fl.BoolVar(&f.film.Captions, "captions", true, "show the recording's markers below the screen")
	fl.StringVar(&f.film.Font, "font", "", "a TrueType or OpenType `file` with letters that the built-in font lacks (default: fonts that fontconfig finds)")
	fl.IntVar(&f.film.Size, "font-size", 15, "height of the letters in a .gif or .png, in `pixels`")
	return cmd
}

func (o *options) runExport(ctx context.Context, name string, f exportFlags) error {
	kind := strings.ToLower(filepath.Ext(f.out))
	write, ok := map[string]func(*os.File, []export.Frame) error{
		".gif": func(w *os.File, frames []export.Frame) error { return export.GIF(w, frames, f.film) },
		".svg": func(w *os.File, frames []export.Frame) error { return export.SVG(w, frames, f.film) },
		".png": func(w *os.File, frames []export.Frame) error { return export.PNG(w, frames, f.at, f.film) },
	}[kind]
	if !ok {
		return usageError{fmt.Errorf("%s has none of the endings .gif, .svg and .png, which choose the format: for a video, export film.gif, then run `ffmpeg -i film.gif -pix_fmt yuv420p film.mp4`", f.out)}
	}
	cast, err := o.openCast(name, f)
	if err != nil {
		return err
	}
	frames, err := export.Film(ctx, cast, f.film)
	if err != nil {
		return err
	}
	f.film.Captions = f.film.Captions && slices.ContainsFunc(frames, func(x export.Frame) bool { return x.Caption != "" })
	if kind != ".svg" { // whose letters are the reader's
		if err := f.findFonts(ctx, frames); err != nil {
			return err
		}
	}
	length := frames[len(frames)-1].Until
	if kind != ".png" && f.at >= 0 || f.at > length {
		return usageError{fmt.Errorf("--at %s: it is for a .png, and within the film, which lasts %.1f s", f.at, length.Seconds())}
	}
	if f.at < 0 {
		f.at = frames[len(frames)-1].At
	}
	if err := text.WriteFile(f.out, func(w *os.File) error { return write(w, frames) }); err != nil {
		return err
	}
	info, err := os.Stat(f.out)
	if err != nil {
		return err
	}
	what, screen := text.Count(len(frames), "frame", "frames"), frames[0].Screen
	if kind == ".png" {
		what = fmt.Sprintf("the frame at %.1f s", f.at.Seconds())
	}
	fmt.Printf("%s: %s of %.1f s, %dx%d cells, %d KB\n", f.out, what, length.Seconds(), screen.Width, screen.Height, (info.Size()+999)/1000)
	return nil
}

// findFonts finds fonts for all letters of a film, and warns of those that no font has.
func (f *exportFlags) findFonts(ctx context.Context, frames []export.Frame) error {
	missing, err := f.film.FindFonts(ctx, frames)
	if err == nil && len(missing) > 0 {
		fmt.Fprintf(os.Stderr, "warning: no font has %s, and the picture shows boxes instead: install a font that has (fonts-noto-cjk has Japanese, fonts-symbola has emoji), or name its file with --font\n",
			text.Fit(string(missing), 60, "…"))
	}
	return err
}

// openCast reads the cast at that path, or draws the record of that name.
func (o *options) openCast(name string, f exportFlags) (*export.Cast, error) {
	if strings.HasSuffix(name, ".cast") {
		file, err := text.OpenFile(name)
		if err != nil {
			return nil, fmt.Errorf("the recording can't be read: %w", err)
		}
		defer file.Close()
		return export.Read(file)
	}
	var w, h int
	if n, _ := fmt.Sscanf(f.size, "%dx%d", &w, &h); n != 2 || w < 20 || h < 5 || w > 500 || h > 200 {
		return nil, usageError{fmt.Errorf("--size is columns x rows from 20x5 to 500x200, like 120x36, not %q", f.size)}
	}
	r, err := o.openRecord(name)
	if err != nil {
		return nil, err
	}
	return drawRecord(r, w, h, f.film.Captions)
}

// drawRecord draws a record as the screen showed it, with the markers that a
// recording of that would have; with captions they are in the screen's band, too.
func drawRecord(r *record.Record, w, h int, captions bool) (*export.Cast, error) {
	cast := &export.Cast{Width: w, Height: h}
	p := tui.NewPainter(tui.Options{})
	var moments record.Moments
	err := replay.Each(r, time.Second/2, func(f *view.Frame) error {
		at := f.Now.Sub(r.Start)
		for _, text := range moments.In(f) {
			cast.Events = append(cast.Events, export.Event{At: at, Code: "m", Data: text})
			if captions {
				p.Caption(text)
			}
		}
		screen := "\x1b[H\x1b[0m" + strings.ReplaceAll(p.Paint(f, w, h), "\n", "\x1b[0m\r\n")
		cast.Events = append(cast.Events, export.Event{At: at, Code: "o", Data: screen})
		return nil
	})
	return cast, err
}

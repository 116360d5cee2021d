package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"lightsout/internal/export"
	"lightsout/internal/record"
	"lightsout/internal/report"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/tui"
)

// keepsake is the part of a screen to keep, as it was when the operator asked for it.
type keepsake struct {
	frame  *view.Frame
	screen string // as it is drawn
	size   tea.WindowSizeMsg
	theme  string
	dir    string
	names  *record.Names // to be replaced
}

// folder is where it goes: the trial's record, else beside the records of the
// cluster, else the folder that one stands in, as in a replay of a record that is
// in the program.
func (k keepsake) folder() string {
	if k.frame != nil && k.frame.Trial != nil {
		if info, err := os.Stat(k.frame.Trial.Dir); err == nil && info.IsDir() {
			return k.frame.Trial.Dir
		}
	}
	if k.dir != "" && os.MkdirAll(k.dir, 0o700) == nil {
		return k.dir
	}
	return "."
}

// file names a new file, without its ending.
func (k keepsake) file(kind string) string {
	path := filepath.Join(k.folder(), kind+"-"+time.Now().UTC().Format("20060102T150405Z"))
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// picture keeps the screen as SVG, whose text can be selected, and as PNG.
func (k keepsake) picture() (said tui.SayMsg, err error) {
	var b strings.Builder
	for i, line := range strings.Split(k.screen, "\n") {
		fmt.Fprintf(&b, "\x1b[%d;1H\x1b[0m%s", i+1, k.names.Line(line))
	}
	cast := &export.Cast{Width: k.size.Width, Height: k.size.Height, Events: []export.Event{{Code: "o", Data: "\x1b[?25l\x1b[?7l" + b.String()}}}
	o := export.Options{Theme: k.theme}
	frames, err := export.Film(context.Background(), cast, o)
	if err != nil {
		return said, err
	}
	_, _ = o.FindFonts(context.Background(), frames) // without them, the picture has boxes
	path := k.file("screen")
	err = errors.Join(
		text.WriteFile(path+".svg", func(w *os.File) error { return export.SVG(w, frames, o) }),
		text.WriteFile(path+".png", func(w *os.File) error { return export.PNG(w, frames, 0, o) }))
	return tui.SayMsg{Text: "saved `" + path + ".svg`, and .png", Copied: path + ".svg"}, err
}

// timeline keeps the timeline as text, in the order in which the events happened.
func (k keepsake) timeline() (said tui.SayMsg, err error) {
	if k.frame == nil || len(k.frame.Events) == 0 {
		return said, errors.New("there is nothing on the timeline yet")
	}
	return k.lines("timeline", "txt", text.Each(view.InOrder(k.frame.Events), func(e view.Event) string { return EventLine(e.At, e) }))
}

// lines keeps lines, readable by nobody else: YAML and logs may be confidential.
func (k keepsake) lines(kind, ending string, lines []string) (said tui.SayMsg, err error) {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(k.names.Text(line) + "\n")
	}
	path := k.file(kind) + "." + ending
	err = text.WriteFile(path, func(w *os.File) error { _, err := w.WriteString(b.String()); return err })
	return tui.SayMsg{Text: fmt.Sprintf("saved `%s`, %d lines", path, len(lines)), Copied: path}, err
}

// say keeps something beside the screen, and then says where it is.
func say(keep func() (tui.SayMsg, error)) tea.Cmd {
	return func() tea.Msg {
		said, err := keep()
		if err != nil {
			return tui.SayMsg{Text: "not saved: " + err.Error()}
		}
		return said
	}
}

// reportEach is how often it is looked whether the report has been written.
const reportEach = 100 * time.Millisecond

// readReport reads the report of the trial that is shown, or of the named record.
func (k keepsake) readReport(open func(dir string) (*record.Record, error), of view.ShowReport) tea.Cmd {
	return func() tea.Msg {
		dir := of.Dir
		if dir == "" {
			if k.frame == nil || k.frame.Trial == nil {
				return tui.ReportMsg{ShowReport: of, Err: "there is no trial"}
			}
			for range 50 { // it is written after the verdict
				if _, err := os.Stat(k.frame.Trial.Report); err == nil || k.frame.Replay != nil {
					break
				}
				time.Sleep(reportEach)
			}
			dir = k.frame.Trial.Dir
		}
		var b strings.Builder
		r, err := open(dir)
		if err == nil {
			err = report.Text(&b, r, of.Width)
		}
		if err != nil {
			return tui.ReportMsg{ShowReport: of, Err: "the report can't be read: " + err.Error()}
		}
		return tui.ReportMsg{ShowReport: of, Lines: strings.Split(strings.TrimRight(b.String(), "\n"), "\n")}
	}
}

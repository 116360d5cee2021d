package terminal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"lightsout/internal/export"
	"lightsout/internal/record"
	"lightsout/internal/record/examples"
	"lightsout/internal/view"
	"lightsout/tui"
)

// kept sends a message and carries out what the stage wants done after it.
func kept(t *testing.T, s *stage, key string) tea.Msg {
	t.Helper()
	_, cmd := s.Update(tea.KeyPressMsg{Code: []rune(key)[0], Text: key})
	if cmd == nil {
		t.Fatalf("%s does nothing", key)
	}
	msg := cmd()
	if all, ok := msg.(tea.BatchMsg); ok {
		for _, cmd := range all {
			if cmd != nil {
				msg = cmd()
			}
		}
	}
	s.Update(msg)
	return msg
}

func TestWhatTheScreenShowsIsKept(t *testing.T) {
	dir, trial := t.TempDir(), t.TempDir()
	names := record.NewNames()
	names.Add(record.NameHost, "bastion.example.org")
	s := newStage(tui.Options{Theme: "light"}, names)
	s.dir = dir
	s.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	at := time.Date(2026, 3, 4, 10, 20, 30, 0, time.UTC)
	f := &view.Frame{Title: view.Title{Cluster: "mdx"}, Now: at, Events: []view.Event{
		{Seq: 1, At: at.Add(time.Second), Subject: "load", Text: "second, by \x1b[31mbastion.example.org"},
		{Seq: 2, At: at, Subject: "load", Text: "first"},
	}}
	s.Update(tui.FrameMsg{Frame: f})

	if said, ok := kept(t, s, "P").(tui.SayMsg); !ok || !strings.HasPrefix(said.Text, "saved `"+dir) {
		t.Fatalf("it is said: %v", said)
	}
	svg := one(t, dir, "screen-*.svg")
	if !strings.Contains(svg, "Timeline") || !strings.Contains(svg, "mdx") || strings.Contains(svg, "bastion.example.org") || strings.Contains(svg, "kept:") {
		t.Errorf("the picture is\n%.2000s", svg)
	}
	if png := one(t, dir, "screen-*.png"); !strings.HasPrefix(png, "\x89PNG") || len(png) < 2000 {
		t.Errorf("the PNG has %d bytes", len(png))
	}

	s.Update(tea.KeyPressMsg{Code: 'V', Text: "V"})
	if path := s.rec.path; filepath.Dir(path) != dir || filepath.Ext(path) != ".cast" {
		t.Errorf("the screen is recorded to %q", path)
	}
	s.Update(tea.KeyPressMsg{Code: 'V', Text: "V"})
	cast, err := export.Read(strings.NewReader(one(t, dir, "*.cast")))
	if err != nil {
		t.Fatal(err)
	}
	for theme, background := range map[string]string{"": `fill="#fff"`, "dark": `fill="#14181f"`} { // that of the screen, unless another is asked for
		var out strings.Builder
		frames, err := export.Film(t.Context(), cast, export.Options{Theme: theme})
		if err = errors.Join(err, export.SVG(&out, frames, export.Options{})); err != nil || !strings.Contains(out.String(), background) {
			t.Errorf("the film in theme %q: %v\n%.600s", theme, err, out.String())
		}
	}

	said := s.carryOut(view.SaveText{Kind: "yaml", Lines: []string{"kind: Pod", "host: bastion.example.org"}})().(tui.SayMsg)
	if info, err := os.Stat(said.Copied); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v", said.Text, err)
	}
	if text := one(t, dir, "object-*.yaml"); !strings.HasPrefix(text, "kind: Pod\n") || strings.Contains(text, "bastion") {
		t.Errorf("the YAML is\n%s", text)
	}

	g := *f
	g.Trial = &view.TrialView{Name: "mdx", Dir: trial}
	s.Update(tui.FrameMsg{Frame: &g})
	kept(t, s, "E")
	text := one(t, trial, "timeline-*.txt")
	if lines := strings.Split(text, "\n"); len(lines) != 3 || !strings.Contains(lines[0], "first") || !strings.Contains(lines[1], "second") ||
		strings.ContainsAny(text, "\x1b") || strings.Contains(text, "bastion.example.org") {
		t.Errorf("the timeline is\n%q", text)
	}

	s.Update(tui.FrameMsg{Frame: &view.Frame{Now: at}})
	if said, _ := kept(t, s, "E").(tui.SayMsg); !strings.Contains(said.Text, "not saved: there is nothing") {
		t.Errorf("of an empty timeline it is said: %s", said.Text)
	}
}

// one reads the one file of that name.
func one(t *testing.T, dir, name string) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, name))
	if err != nil || len(all) != 1 {
		t.Fatalf("%s: %v, %v", name, all, err)
	}
	if info, err := os.Stat(all[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v", all[0], info.Mode(), err)
	}
	b, err := os.ReadFile(all[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTheReportOfARecordIsRead(t *testing.T) {
	f := &view.Frame{Trial: &view.TrialView{Dir: "mdx"}, Replay: &view.ReplayView{}}
	example := func(name string) (*record.Record, error) {
		there, _ := examples.Open(name)
		return record.OpenFS(there, name)
	}
	told, _ := keepsake{frame: f}.readReport(example, view.ShowReport{Width: 74})().(tui.ReportMsg)
	if told.Err != "" || len(told.Lines) < 100 || told.Lines[0] != "mdx: PASS" {
		t.Errorf("%s: %.300q", told.Err, told.Lines)
	}
	f.Trial.Dir = filepath.Join(t.TempDir(), "none")
	if told, _ := (keepsake{frame: f}).readReport(record.Open, view.ShowReport{Width: 74})().(tui.ReportMsg); !strings.Contains(told.Err, "can't be read") {
		t.Errorf("of a record that is not there: %v", told)
	}
}

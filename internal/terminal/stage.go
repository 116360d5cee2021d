package terminal

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/tui"
)

// stage combines the screen's model with its recording, and with a program that presses
// keys or shows captions for the operator.
type stage struct {
	*tui.Model
	rec recording
	// dir is the folder for saved screens when there is no trial; empty: the current
	// folder.
	dir     string
	open    func(dir string) (*record.Record, error)
	records func() []view.RecordLine
	frame   *view.Frame // the newest frame
	// asked holds the model's intents about the screen itself that the stage has not
	// carried out yet.
	asked []view.Intent
	// stop ends the code beside the screen when the operator takes over, and paused holds it back since then; a nil
	// stop: there is none. caption is its newest.
	stop    context.CancelFunc
	paused  atomic.Bool
	since   time.Time
	caption string
	// refresh triggers the drawing.
	refresh *refresh
}

// BesideOver reports that the code beside the screen has ended.
type BesideOver struct{}

// PlayedKey is a key that a program pressed, not the operator.
type PlayedKey tea.KeyPressMsg

// newStage returns a stage that sends the intents to o.Send, except those about the
// screen itself.
func newStage(o tui.Options, names *record.Names) *stage {
	s := &stage{rec: recording{theme: o.Theme, names: names}}
	send := o.Send
	o.Send = func(i view.Intent) {
		switch i.(type) {
		case view.RecordScreen, view.SaveScreen, view.SaveTimeline, view.SaveText, view.ShowReport, view.ShowRecords:
			s.asked = append(s.asked, i)
		default:
			send(i)
		}
	}
	if os.Getenv("TMUX") != "" {
		o.Clipboard = " (tmux: set -g set-clipboard on)"
	}
	s.Model = tui.New(o)
	return s
}

// Update handles a message and records the resulting screen; see tui.Model.
func (s *stage) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch m := msg.(type) {
	case tui.CaptionMsg:
		s.caption = string(m)
		if m != "" && s.rec.screen != nil {
			s.rec.screen.Mark(string(m))
		}
	case BesideOver:
		s.stop = nil
		return s, nil
	case PlayedKey:
		msg = tea.KeyPressMsg(m)
	case tea.KeyPressMsg:
		if s.stop != nil {
			msg = s.beside(m)
		}
	case tea.WindowSizeMsg:
		s.rec.size = m
	case tui.FrameMsg:
		if m.Frame != nil {
			s.frame = m.Frame
			if failure := s.rec.frame(m.Frame); failure != "" {
				cmd = s.pass(tui.SayMsg{Text: failure})
			}
		}
	}
	cmd = tea.Batch(cmd, s.pass(msg))
	s.rec.show(s.View().Content)
	s.refresh.due()
	return s, cmd
}

// takesOver is how long after the first key a second one takes over: a key that bounces does not.
const takesOver = time.Second

// beside is what a key of the operator's does while a program presses the keys: P and V keep the screen, the
// first other key pauses the program, space lets it go on, and another key ends it.
func (s *stage) beside(key tea.KeyPressMsg) tea.Msg {
	name, paused := key.String(), s.paused.Load()
	switch {
	case name == "P" || name == "V":
		return key
	case name == "ctrl+c" || paused && name != "space" && time.Since(s.since) > takesOver:
		s.stop()
		s.stop = nil
		s.Model.Update(tui.CaptionMsg(""))
		return tui.SayMsg{Text: "you have control now; that key was ignored"}
	case !paused:
		s.since = time.Now()
		s.Model.Update(tui.CaptionMsg("Paused: space goes on, any other key takes over. " + s.caption))
	case name == "space":
		s.Model.Update(tui.CaptionMsg(s.caption))
	default:
		return nil
	}
	s.paused.Store(!paused)
	return nil
}

// pass sends a message to the model, and carries out the intents that result.
func (s *stage) pass(msg tea.Msg) tea.Cmd {
	_, cmd := s.Model.Update(msg)
	asked := s.asked
	s.asked = nil
	for _, i := range asked {
		cmd = tea.Batch(cmd, s.carryOut(i))
	}
	return cmd
}

// carryOut carries out an intent about the screen.
func (s *stage) carryOut(i view.Intent) tea.Cmd {
	k := keepsake{s.frame, s.View().Content, s.rec.size, s.rec.theme, s.dir, s.rec.names}
	switch i := i.(type) {
	case view.RecordScreen:
		said := s.rec.toggle(k.file("screen"))
		return tea.Batch(s.pass(tui.RecordingMsg(s.rec.screen != nil)), s.pass(said))
	case view.SaveScreen:
		return say(k.picture)
	case view.SaveTimeline:
		return say(k.timeline)
	case view.SaveText:
		return say(func() (tui.SayMsg, error) { return k.lines("object", i.Kind, i.Lines) })
	case view.ShowReport:
		return k.readReport(s.open, i)
	case view.ShowRecords:
		if s.records != nil {
			return func() tea.Msg { return tui.RecordsMsg{Lines: s.records()} }
		}
		return s.pass(tui.SayMsg{Text: "this screen lists no records: `" + text.Self + " records` does", Copied: text.Self + " records"})
	}
	return nil
}

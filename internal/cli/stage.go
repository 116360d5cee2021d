package cli

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/tui"
)

// stage is the screen's model with what goes on beside it: its recording, and
// who presses keys or gives captions in the operator's place.
type stage struct {
	*tui.Model
	rec recording
	// dir is where what is kept of the screen goes when there is no trial; empty:
	// the folder that one stands in.
	dir   string
	frame *view.Frame // the newest
	// after is what is still to be done after a message, with the screen as it is
	// then; nil: nothing.
	after func(keepsake) tea.Cmd
	// stop ends what goes on beside the screen once the operator presses a key;
	// nil: nothing does that ends so.
	stop context.CancelFunc
	// refresh draws what View gives.
	refresh *refresh
}

// besideOver says that what went on beside the screen is over.
type besideOver struct{}

// playedMsg is a key that the operator did not press.
type playedMsg tea.KeyPressMsg

// newStage makes a screen whose intents go to o.Send, but for those that are
// about the screen itself.
func newStage(o tui.Options, flags castFlags, names *record.Names) *stage {
	s := &stage{rec: recording{flags: flags, names: names}}
	send := o.Send
	o.Send = func(i view.Intent) {
		switch i := i.(type) {
		case view.RecordScreen:
			s.rec.toggle()
		case view.SaveScreen:
			s.after = func(k keepsake) tea.Cmd { return k.say(keepsake.picture) }
		case view.SaveTimeline:
			s.after = func(k keepsake) tea.Cmd { return k.say(keepsake.timeline) }
		case view.ShowReport:
			s.after = func(k keepsake) tea.Cmd { return k.readReport(i.Width) }
		default:
			send(i)
		}
	}
	s.Model = tui.New(o)
	s.rec.model = s.Model
	return s
}

// Update takes a message: see tui.Model.
func (s *stage) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case tui.CaptionMsg:
		if m != "" && s.rec.screen != nil {
			s.rec.screen.Mark(string(m))
		}
	case besideOver:
		s.stop = nil
		return s, nil
	case playedMsg:
		msg = tea.KeyPressMsg(m)
	case tea.KeyPressMsg:
		if s.stop != nil {
			s.stop()
			s.stop = nil
			s.Model.Update(tui.CaptionMsg(""))
			msg = tui.SayMsg("you have the keys now; this one was not carried out")
		}
	case tea.WindowSizeMsg:
		s.rec.size = m
	case tui.FrameMsg:
		if m.Frame != nil {
			s.frame = m.Frame
			s.rec.frame(m.Frame)
		}
	}
	_, cmd := s.Model.Update(msg)
	if after := s.after; after != nil {
		s.after = nil
		cmd = tea.Batch(cmd, after(keepsake{s.frame, s.Model.View().Content, s.rec.size, tui.ThemeOf(s.Model), s.dir, s.rec.names}))
	}
	return s, cmd
}

// View draws the screen, and records what is drawn.
func (s *stage) View() tea.View {
	v := s.Model.View()
	s.rec.show(v.Content)
	s.refresh.due()
	return v
}

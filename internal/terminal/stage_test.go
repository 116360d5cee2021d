package terminal

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"lightsout/tui"
)

// Somebody on a stage presses a key by mistake, and the demo goes on with space: only a second key takes over.
func TestAKeyPausesWhatAProgramPlaysAndASecondTakesOver(t *testing.T) {
	s, ended := newStage(tui.Options{}, nil), false
	s.stop = func() { ended = true }
	s.Update(tea.WindowSizeMsg{Width: 120, Height: 36})
	s.Update(tui.CaptionMsg("Watch the machines boot."))
	for _, c := range []struct {
		key           string
		paused, ended bool
		said          string
	}{{"P", false, false, ""}, {"x", true, false, "Paused: space goes on"}, {"P", true, false, "Paused: space goes on"}, {"y", true, false, "Paused"}, {" ", false, false, ""},
		{" ", true, false, "Paused: space goes on"}, {"later", true, true, "you have control now"}} {
		if c.key == "later" {
			s.since = s.since.Add(-2 * takesOver)
		}
		key := tea.Key{Code: []rune(c.key)[0], Text: c.key}
		s.Update(tea.KeyPressMsg(key))
		screen := s.View().Content
		if s.paused.Load() != c.paused || ended != c.ended || !strings.Contains(screen, c.said) || strings.Contains(screen, "Watch the machines") == c.ended {
			t.Errorf("after %q: paused %t, ended %t\n%s", c.key, s.paused.Load(), ended, screen)
		}
	}
}

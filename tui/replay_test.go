package tui

import (
	"strings"
	"testing"
	"time"

	"lightsout/internal/view"
)

func TestReplayKeys(t *testing.T) {
	f := replayed()
	r := f.Replay
	m, sent, _ := testModel(f, 120, 36, Options{})
	for _, c := range []struct {
		key  string
		want view.Intent
	}{
		{"space", view.ReplayPause{}},
		{"left", view.ReplaySeek{By: -5 * time.Second}},
		{"right", view.ReplaySeek{By: 5 * time.Second}},
		{"shift+left", view.ReplaySeek{By: -30 * time.Second}},
		{"shift+right", view.ReplaySeek{By: 30 * time.Second}},
		{",", view.ReplaySeek{By: -30 * time.Second}},
		{".", view.ReplaySeek{By: 30 * time.Second}},
		{"+", view.ReplaySpeed{Factor: 2}},
		{"-", view.ReplaySpeed{Factor: 0.5}},
		{"home", view.ReplaySeek{At: r.Start}},
		{"end", view.ReplaySeek{At: r.End}},
		{"[", view.ReplaySeek{At: r.Marks[1].At}},
		{"]", view.ReplaySeek{At: r.Marks[2].At}},
		{"q", view.AskQuit{}},
	} {
		for _, pane := range []string{"1", "2", "3", "4", "5", "6"} {
			typeKeys(m, pane+" "+c.key)
			wantIntent(t, sent, c.want)
		}
	}
}

func TestAReplayCanNotBeSwitchedSentOrMarked(t *testing.T) {
	for _, key := range strings.Fields("s x S o r b l R n c t m f *") {
		m, sent, _ := testModel(replayed(), 120, 36, Options{})
		for _, pane := range []string{"1", "3"} {
			typeKeys(m, pane+" "+key)
			if len(*sent) > 0 {
				t.Errorf("%s sent %#v", key, (*sent)[0])
			}
			if m.dialogs.top() != nil || len(m.s.marks) > 0 {
				t.Errorf("%s in pane %s opens a dialog or marks", key, pane)
			}
		}
		if v := plainView(m); key != "*" && !strings.Contains(v, "this is a replay") {
			t.Errorf("%s is not refused:\n%s", key, v)
		}
	}
}

func TestAReplaysTimeIsItsFramesOwn(t *testing.T) {
	m, _, now := testModel(replayed(), 120, 36, Options{})
	before := m.View().Content
	*now = now.Add(10 * time.Second)
	m.Update(tickMsg{})
	if got := m.View().Content; got != before {
		t.Error("a paused replay changes by itself")
	}
	f := replayed()
	f.Now = f.Now.Add(20 * time.Second)
	m.Update(FrameMsg{f})
	if v := plainView(m); !strings.Contains(v, "T+01:43.4") {
		t.Errorf("the clock is not the frame's:\n%s", v)
	}
}

func TestARecordedQuestionTakesNoKeys(t *testing.T) {
	m, sent, now := testModel(replayedQuestion(), 80, 24, Options{})
	settleKeys(m, now)
	if v := plainView(m); !strings.Contains(v, "asked then: Shut down kube-node3 and kube-node4?") {
		t.Errorf("what was asked is not told:\n%s", v)
	}
	typeKeys(m, "right space")
	wantIntent(t, sent, view.ReplayPause{})
}

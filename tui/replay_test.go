package tui

import (
	"reflect"
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

func TestGoingBackFromAMarkWhilePlayingLeadsToTheOneBefore(t *testing.T) {
	f := replayed()
	f.Replay.Paused = false
	f.Now = f.Replay.Marks[1].At.Add(400 * time.Millisecond)
	m, sent, _ := testModel(f, 120, 36, Options{})
	typeKeys(m, "[")
	wantIntent(t, sent, view.ReplaySeek{At: f.Replay.Marks[0].At})
	f.Now = f.Replay.Start
	m.Update(FrameMsg{f})
	before := len(*sent)
	typeKeys(m, "[")
	if len(*sent) != before {
		t.Errorf("there is no mark before the start, but %#v was sent", last(t, sent))
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

func TestTheTrackShowsWhereWeAre(t *testing.T) {
	for _, c := range []struct {
		at   time.Duration
		want string
	}{{0, "●─────┼───"}, {5 * time.Second, "━━━━━●┼───"}, {9 * time.Second, "━━━━━━┿━━●"}, {time.Minute, "━━━━━━┿━━●"}, {-time.Minute, "●─────┼───"}} {
		r := &view.ReplayView{Start: t0, End: t0.Add(9 * time.Second), Marks: []view.Bookmark{{At: t0.Add(6 * time.Second)}}}
		if got := stripped(newRow(10).track(newTheme(Options{NoColor: true}), r, t0.Add(c.at), 10).String()); got != c.want {
			t.Errorf("at %v: %q, want %q", c.at, got, c.want)
		}
	}
}

func TestSpaceAtTheEndPlaysFromTheStart(t *testing.T) {
	f := replayed()
	f.Now = f.Replay.End
	m, sent, _ := testModel(f, 120, 36, Options{})
	typeKeys(m, "space")
	if len(*sent) != 2 || !reflect.DeepEqual((*sent)[0], view.ReplaySeek{At: f.Replay.Start}) || !reflect.DeepEqual((*sent)[1], view.ReplayPause{}) {
		t.Errorf("sent %#v", *sent)
	}
}

func TestAReplayNamesEachThingOnce(t *testing.T) {
	m, _, _ := testModel(replayed(), 120, 36, Options{})
	typeKeys(m, "p ]")
	v := plainView(m)
	if n := strings.Count(v, "trial mdx"); n != 1 {
		t.Errorf("the trial is named %d times:\n%s", n, v)
	}
	if _, says := m.notices.answer(m.s.now); says {
		t.Errorf("the marker stands above the scrubber and in a notice")
	}
	if !strings.Contains(v, "space continue") || strings.Contains(v, "space pause") {
		t.Errorf("a paused replay offers to pause:\n%s", v)
	}
}

func TestTheHelpHasTwoColumnsOnWideScreens(t *testing.T) {
	m, _, _ := testModel(calm(), 200, 60, Options{})
	typeKeys(m, "?")
	v := plainView(m)
	if len(strings.Split(v, "\n")) != 60 || !strings.Contains(v, "Nodes") || !strings.Contains(v, "Symbols of requests") {
		t.Errorf("the help is not whole on one screen:\n%s", v)
	}
	checkWidths(t, m, 200, 60)
}

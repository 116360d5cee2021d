package tui

import (
	"strings"
	"testing"
	"time"

	"lightsout/internal/view"
)

func TestNoKeyHasTwoMeaningsInAPane(t *testing.T) {
	for name, k := range map[string]*keymap{"live": liveKeys(), "replay": replayKeys()} {
		for _, pane := range paneSpecs {
			seen := map[string]string{}
			check := func(b binding) {
				for _, code := range b.key.Keys() {
					if before, twice := seen[code]; twice {
						t.Errorf("%s, %s: %q means %q and %q", name, pane.name, code, before, b.key.Help().Desc)
					}
					seen[code] = b.key.Help().Desc
				}
			}
			for _, b := range k.all(pane) {
				check(*b)
			}
		}
	}
}

func TestHelpNamesEveryKey(t *testing.T) {
	replay := calm()
	replay.Replay = &view.ReplayView{Start: t0, End: t0.Add(time.Minute), Speed: 1}
	for name, f := range map[string]*view.Frame{"live": calm(), "replay": replay} {
		m, _, _ := testModel(f, 120, 100, Options{})
		typeKeys(m, "?")
		shown := plainView(m)
		for _, g := range append(m.keys().common, group{"", m.keys().own(nodesSpec)}) {
			for _, b := range g.bindings {
				if h := b.key.Help(); h.Key == "" || h.Desc == "" || !strings.Contains(shown, h.Desc) {
					t.Errorf("%s: help does not explain %q (%q)", name, h.Key, h.Desc)
				}
			}
		}
	}
}

func TestReadOnlyHidesSwitching(t *testing.T) {
	f := calm()
	f.ReadOnly = true
	m, sent, _ := testModel(f, 120, 100, Options{})
	typeKeys(m, "space s o x S r")
	for _, i := range *sent {
		t.Errorf("read-only sent %#v", i)
	}
	m.notices = notices{}
	typeKeys(m, "?")
	if v := plainView(m); strings.Contains(v, "shut the marked") || strings.Contains(v, "power on") || strings.Contains(v, "rollout") {
		t.Errorf("read-only shows the keys that switch:\n%s", v)
	}
}

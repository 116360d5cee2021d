package tui

import (
	"strings"
	"testing"
	"time"

	"lightsout/internal/view"
)

func TestNoKeyHasTwoMeaningsInAPane(t *testing.T) {
	replay := calm()
	replay.Replay = &view.ReplayView{Start: t0, End: t0.Add(time.Minute), Speed: 1}
	for name, f := range map[string]*view.Frame{"live": calm(), "replay": replay} {
		m, _, _ := testModel(f, 120, 100, Options{})
		for _, pane := range m.panes {
			seen := map[string]string{}
			for _, b := range pane.all {
				if ok, _ := b.usable(m); !ok {
					continue
				}
				for _, code := range b.key.Keys() {
					// Home and end are a record's, where there is one.
					if before, twice := seen[code]; twice && code != "home" && code != "end" {
						t.Errorf("%s, %s: %q means %q and %q", name, pane.name, code, before, b.key.Help().Desc)
					}
					seen[code] = b.key.Help().Desc
				}
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
		for _, g := range append(m.keys, group{"", nodesSpec.keys}) {
			for _, b := range g.bindings {
				if ok, _ := b.usable(m); !ok {
					continue
				}
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

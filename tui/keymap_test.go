package tui

import (
	"strings"
	"testing"
)

func TestNoKeyHasTwoMeaningsInAPane(t *testing.T) {
	k := newKeymap()
	for pane := range paneCount {
		seen := map[string]string{}
		check := func(b binding) {
			for _, code := range b.key.Keys() {
				if before, twice := seen[code]; twice {
					t.Errorf("%s: %q means %q and %q", paneNames[pane], code, before, b.key.Help().Desc)
				}
				seen[code] = b.key.Help().Desc
			}
		}
		for _, b := range k.panes[pane] {
			check(b)
		}
		for _, g := range k.common {
			for _, b := range g.bindings {
				check(b)
			}
		}
	}
}

func TestHelpNamesEveryKey(t *testing.T) {
	m, _, _ := testModel(calm(), 120, 100, Options{})
	typeKeys(m, "?")
	shown := plainView(m)
	for _, g := range append(m.keys.common, group{"", m.keys.panes[paneNodes]}) {
		for _, b := range g.bindings {
			if h := b.key.Help(); h.Key == "" || h.Desc == "" || !strings.Contains(shown, h.Desc) {
				t.Errorf("help does not explain %q (%q)", h.Key, h.Desc)
			}
		}
	}
}

func TestReadOnlyHidesSwitching(t *testing.T) {
	f := calm()
	f.ReadOnly = true
	m, sent, _ := testModel(f, 120, 100, Options{})
	typeKeys(m, "space s o x S")
	for _, i := range *sent {
		t.Errorf("read-only sent %#v", i)
	}
	m.flash = ""
	typeKeys(m, "?")
	if v := plainView(m); strings.Contains(v, "shut the marked") || strings.Contains(v, "power on") {
		t.Errorf("read-only shows the keys that switch:\n%s", v)
	}
}

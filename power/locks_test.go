package power

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Nothing is switched off without a lock, and nothing stands in the way of
// powering on.
func TestWithoutLocksOnlyPoweringOnGoesOn(t *testing.T) {
	inModel(t, func(t *testing.T, m *model, p *program) {
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionShutdown, Nodes: []string{"n1"}}, &yes{p: p}); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(m.root, "no-folder")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		p.switcher.Fleet.cfg.Locks = OpenLocks(file)
		err := p.switcher.Switch(t.Context(), Request{Action: ActionShutdown, Nodes: []string{"n2"}}, &yes{p: p})
		if err == nil || !strings.Contains(err.Error(), "not a folder") {
			t.Errorf("switched off without a lock: %v", err)
		}
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionOn, Nodes: []string{"n1"}}, &yes{p: p}); err != nil {
			t.Errorf("not powered on: %v", err)
		}
	})
}

package fence

import (
	"os"
	"path/filepath"
	"testing"

	"lightsout/power"
	"lightsout/power/powertest"
)

// TestARealAgent speaks to fence_dummy, which is made of the same library as
// all others and keeps the state in a file.
func TestARealAgent(t *testing.T) {
	t.Parallel()
	powertest.Need(t, "fence_dummy")
	file := filepath.Join(t.TempDir(), "kube-node3.status")
	if err := os.WriteFile(file, []byte("on"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := New(Options{Agent: "fence_dummy", Params: map[string]string{"status_file": filepath.Join(filepath.Dir(file), "{{.Node}}.status")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	m, err := d.Find(t.Context(), power.NodeRef{Name: "kube-node3"}, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		do   func() error
		want power.State
	}{
		{func() error { return nil }, power.On},
		{func() error { return d.Switch(t.Context(), power.ActionOff, m) }, power.Off},
		{func() error { return d.Switch(t.Context(), power.ActionOff, m) }, power.Off},
		{func() error { return d.Switch(t.Context(), power.ActionOn, m) }, power.On},
		{func() error { return os.WriteFile(file, []byte("strange"), 0o600) }, power.Unknown},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		r, err := d.State(t.Context(), m)
		if err != nil || r.State != step.want || (r.Proof == power.Proven) != (step.want != power.Unknown) {
			t.Fatalf("the state is %+v, %v, want %s", r, err, step.want)
		}
	}
}

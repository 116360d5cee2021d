package e2e

import (
	"strings"
	"testing"

	"lightsout/internal/labtest"
)

// lastWorker switches workers off one after the other, each by a program of its
// own: the last stays on, though the control plane still calls the others Ready.
func lastWorker(t *testing.T, l *labtest.Lab) {
	state := t.TempDir()
	config := l.ConfigWith(func(c map[string]any) { c["state"] = state })
	for _, node := range []string{"kube-node1", "kube-node2", "kube-node3", "kube-node4"} {
		out, errs, code := run(t, nil, args(l, config, "power", "off", node, "--yes")...)
		if last := node == "kube-node4"; last != (code != 0) || last && !strings.Contains(out, "This would leave no Ready worker that takes pods") {
			t.Errorf("%s: exit %d\n%s%s", node, code, out, errs)
		}
	}
	// An operator with a journal of their own is told by the note on the node.
	elsewhere := t.TempDir()
	other := func() string {
		config := l.ConfigWith(func(c map[string]any) { c["state"] = elsewhere })
		out, errs, _ := run(t, nil, args(l, config, "power", "off", "kube-node1", "--yes", "--dry-run")...)
		return out + errs
	}
	if said := other(); !strings.Contains(said, "kube-node1 was switched off by ") {
		t.Errorf("another operator is told:\n%s", said)
	}
	if out, errs, code := run(t, nil, args(l, config, "restore", "--yes")...); code != 0 || strings.Count(out, "is on, proven") != 3 {
		t.Errorf("restore: exit %d\n%s%s", code, out, errs)
	}
	if said := other(); strings.Contains(said, "was switched off by ") {
		t.Errorf("after it was brought back another operator is told:\n%s", said)
	}
}

package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

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
	if said := other(); !strings.Contains(said, "kube-node1 was asked to go off by ") {
		t.Errorf("another operator is told:\n%s", said)
	}
	if out, errs, code := run(t, nil, args(l, config, "restore", "--yes")...); code != 0 || strings.Count(out, "is on, proven") != 3 {
		t.Errorf("restore: exit %d\n%s%s", code, out, errs)
	}
	if said := other(); strings.Contains(said, "was asked to go off by ") {
		t.Errorf("after it was brought back another operator is told:\n%s", said)
	}
}

// clockAhead cuts all workers but one off the network, whose clocks are ahead: the API
// server still calls them Ready, their machines are on, and their Leases say that they have just been renewed, or are
// deleted. None of them counts as a worker that is left.
func clockAhead(t *testing.T, l *labtest.Lab) {
	state := t.TempDir()
	config := l.ConfigWith(func(c map[string]any) { c["state"] = state })
	dead := []string{"kube-node1", "kube-node2", "kube-node3"}
	for _, node := range dead {
		l.Post("/machines/" + node + "/cut")
		lease := "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/" + node
		if node == "kube-node3" {
			l.API().Do(http.MethodDelete, lease, nil, nil)
			continue
		}
		var object map[string]any
		l.API().Do(http.MethodGet, lease, nil, &object)
		spec := object["spec"].(map[string]any)
		spec["leaseDurationSeconds"] = 3600 // at the lab's pace it would be overdue within 2 s
		spec["renewTime"] = time.Now().Add(time.Hour).UTC().Format("2006-01-02T15:04:05.000000Z07:00")
		l.API().Do(http.MethodPut, lease, object, nil)
	}
	out, errs, code := run(t, nil, args(l, config, "power", "off", "kube-node4", "--yes")...)
	if code == 0 || !strings.Contains(out, "This would leave no Ready worker that takes pods") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if on := l.Machines("on"); !strings.Contains(strings.Join(on, " "), "kube-node4") {
		t.Errorf("these are on: %v", on)
	}
	for _, node := range dead {
		l.Post("/machines/" + node + "/join")
	}
}

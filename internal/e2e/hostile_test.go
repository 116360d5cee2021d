package e2e

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"lightsout/internal/labtest"
)

// hostileNode has a node say of itself what a compromised kubelet could: first a
// program, then the address of a stranger who waits for a password.
func hostileNode(t *testing.T, l *labtest.Lab) {
	const node = "kube-node2"
	annotate := func(value any) {
		l.API().Do(http.MethodPatch, "/api/v1/nodes/"+node, map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{"lightsout.dev/machine": value}},
		}, nil)
	}
	defer annotate(nil)
	status := func(driver string, section map[string]any) string {
		out, errs, _ := run(t, []string{"PLANTED=hunter2-planted"}, args(l, l.ConfigWith(func(c map[string]any) {
			c["power"] = map[string]any{"off_by": driver, "on_by": driver, driver: section}
			c["state"] = t.TempDir()
		}), "power", "status", node)...)
		return out + errs
	}

	mark := filepath.Join(t.TempDir(), "ran")
	annotate("vm2; touch " + mark + " #")
	said := status("exec", map[string]any{
		"state_command": []string{"sh", "-c", `sh -c "echo on $LIGHTSOUT_MACHINE"`}, "on_command": []string{"true"}, "off_command": []string{"true"},
	})
	if _, err := os.Stat(mark); err == nil || !strings.Contains(said, "not a plain name") {
		t.Errorf("the annotation was run as a program, or nothing was said:\n%s", said)
	}

	stranger, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	var heard atomic.Int32
	go func() {
		for {
			c, err := stranger.Accept()
			if err != nil {
				return
			}
			heard.Add(1)
			c.Close()
		}
	}()
	annotate(stranger.Addr().String())
	said = status("redfish", map[string]any{"url": "http://{{.Machine}}", "user": "ops", "password_env": "PLANTED"})
	if heard.Load() > 0 || !strings.Contains(said, "power.nodes."+node) {
		t.Errorf("the stranger was spoken to (%d), or nothing was said:\n%s", heard.Load(), said)
	}
}

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"lightsout/internal/labtest"
	"lightsout/internal/testenv"
)

// The way back: what powering on needs is checked before anything goes off, follows a config that was
// corrected since, and is offered for a node whose machine turns out to be another node's.
func TestTheWayBack(t *testing.T) {
	testenv.Long(t, 40)
	t.Parallel()
	l := labtest.Lease(t, "mdx")
	state := t.TempDir()
	config := func(level string) string {
		return l.ConfigWith(func(c map[string]any) {
			c["state"] = state
			c["power"].(map[string]any)["nodes"].(map[string]any)["kube-node4"].(map[string]any)["service_level"] = level
		})
	}
	_, errs, code := run(t, nil, args(l, config("best"), "power", "off", "kube-node4", "--yes")...)
	if off := l.Machines("off", "stopping"); code == 0 || len(off) > 0 || !strings.Contains(errs, `"best" is not a service level of mdx`) {
		t.Fatalf("exit %d, off %v\n%s", code, off, errs)
	}
	if out, errs, code := run(t, nil, args(l, config("spot"), "power", "off", "kube-node4", "--yes")...); code != 0 {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	statusAsJSON(t, args(l, config("spot"), "power", "status", "kube-node4", "-o", "json")...)
	if out, errs, code := run(t, nil, args(l, config("guarantee"), "restore", "--yes")...); code != 0 || !strings.Contains(out, "as guarantee") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	poweredOnBySomebody(t, l, config("spot"))
	crossedWires(t, l)
}

// statusAsJSON has a script read which machine is off, how that is known, and what switches it on again.
func statusAsJSON(t *testing.T, args ...string) {
	out, errs, code := run(t, nil, args...)
	type way struct{ Driver, Machine string }
	var rows []struct {
		Node, Status, State, Proof string
		At                         time.Time
		LeftOff                    time.Time `json:"left_off"`
		Off, On                    way
	}
	if err := json.Unmarshal([]byte(out), &rows); code != 0 || err != nil || len(rows) != 1 {
		t.Fatalf("exit %d, %v\n%s%s", code, err, out, errs)
	}
	if r := rows[0]; r.Node != "kube-node4" || r.Status == "" || r.State != "off" || r.Proof != "proven" || r.On.Driver != "mdx" || r.On.Machine == "" || r.Off.Driver == "" || r.LeftOff.IsZero() || r.At.Before(r.LeftOff) {
		t.Errorf("%+v\n%s", r, out)
	}
}

// poweredOnBySomebody switches kube-node4 off, and has somebody else power it on: restore then removes the
// annotation, so that nobody takes the machine for off.
func poweredOnBySomebody(t *testing.T, l *labtest.Lab, config string) {
	if out, errs, code := run(t, nil, args(l, config, "power", "off", "kube-node4", "--yes")...); code != 0 {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	answer, err := l.Control().Post("http://lab/machines/kube-node4/on", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	until(t, "the machine is on", func() bool { return !slices.Contains(l.Machines("off", "stopping"), "kube-node4") })
	if out, errs, code := run(t, nil, args(l, config, "restore", "--yes")...); code != 0 || !strings.Contains(out, "kube-node4 is on already") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	var n struct {
		Metadata struct{ Annotations map[string]string }
	}
	l.API().Do(http.MethodGet, "/api/v1/nodes/kube-node4", nil, &n)
	if note := n.Metadata.Annotations["lightsout.dev/switched-off"]; note != "" {
		t.Errorf("kube-node4 is on, and its annotation still says: %s", note)
	}
}

// crossedWires switches kube-node2 off by a plug that kube-node3 is at.
func crossedWires(t *testing.T, l *labtest.Lab) {
	dir := t.TempDir()
	plug, pulled := filepath.Join(dir, "plug"), filepath.Join(dir, "pulled")
	if err := syscall.Mkfifo(pulled, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(plug, []byte("on\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := l.ConfigWith(func(c map[string]any) {
		c["state"] = filepath.Join(dir, "state")
		c["power"] = map[string]any{"nodes": map[string]any{"kube-node2": map[string]any{"off_by": "exec", "on_by": "exec"}}, "exec": map[string]any{
			"state_command": []string{"cat", plug}, "on_command": []string{"sh", "-c", "echo on > " + plug}, "proves_off": true,
			"off_command": []string{"sh", "-c", fmt.Sprintf("echo x > %s && echo off > %s", pulled, plug)},
		}}
	})
	control := l.Control()
	done := make(chan error, 1)
	go func() {
		_, err := os.ReadFile(pulled) // ends when the plug was pulled
		if err == nil {
			var r *http.Response
			if r, err = control.Post("http://lab/machines/kube-node3/off", "", nil); err == nil {
				err = r.Body.Close()
			}
		}
		done <- err
	}()
	out, errs, code := run(t, nil, args(l, config, "power", "off", "kube-node2", "--yes")...)
	if code == 0 || !strings.Contains(out, "kube-node2 runs on") || !strings.Contains(out, "Power it on again: lightsout restore") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if release, err := os.OpenFile(pulled, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil { // nobody pulled the plug
		release.Close()
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

package control

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"lightsout/cluster/lab/controlplane"
	"lightsout/cluster/lab/machine"
	"lightsout/cluster/lab/portal"
)

type plug struct {
	name  string
	state machine.State
	cut   bool
}

func (p *plug) Name() string         { return p.name }
func (p *plug) State() machine.State { return p.state }
func (p *plug) BootID() string       { return "boot" }
func (p *plug) PowerCut()            { p.state = machine.Off }
func (p *plug) PowerOn() error {
	if p.state != machine.Off {
		return errors.New("it is on")
	}
	p.state = machine.On
	return nil
}
func (p *plug) Shutdown() error { p.state = machine.Stopping; return nil }
func (p *plug) CutOff()         { p.cut = true }
func (p *plug) Join()           { p.cut = false }

type components struct{ done []string }

func (c *components) Status() []controlplane.Component { return nil }
func (c *components) Do(component, action string) error {
	if component != "etcd" {
		return fmt.Errorf("%w component", controlplane.ErrUnknown)
	}
	c.done = append(c.done, action)
	return nil
}

func TestRequests(t *testing.T) {
	node := &plug{name: "kube-node1", state: machine.On}
	parts := &components{}
	sudo := map[string]string{}
	p := portal.New(portal.Config{Token: "secret"})
	defer p.Close()
	h := Handler(Config{
		Machines: []Machine{node}, Components: parts, Portal: p,
		Sudo:    func(machine, message string) { sudo[machine] = message },
		Knative: func() any { return map[string]int{"active": 8} },
	})
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string // in the answer
	}{
		{"POST", "/machines/kube-node1/on", "", 409, "it is on"},
		{"POST", "/machines/kube-node1/off", "", 200, ""},
		{"GET", "/machines", "", 200, `{"name":"kube-node1","state":"off","bootID":"boot"}`},
		{"POST", "/machines/kube-node1/on", "", 200, ""},
		{"POST", "/machines/kube-node1/shutdown", "", 200, ""},
		{"GET", "/machines", "", 200, `"state":"stopping"`},
		{"POST", "/machines/kube-node1/join", "", 200, ""},
		{"POST", "/machines/kube-node1/cut", "", 200, ""},
		{"POST", "/machines/kube-node1/explode", "", 404, "explode"},
		{"POST", "/machines/kube-node9/off", "", 404, "kube-node9"},
		{"POST", "/components/etcd/stop", "", 200, ""},
		{"POST", "/components/kubelet/stop", "", 404, "unknown"},
		{"GET", "/knative", "", 200, `"active":8`},
		{"POST", "/faults", `{"target":"sudo","word":"no"}`, 200, ""},
		{"POST", "/faults", `{"target":"sudo","vm":"kube-node9","word":"no"}`, 400, "kube-node9"},
		{"POST", "/faults", `{"target":"portal","status":503,"delay":"10ms"}`, 200, ""},
		{"POST", "/faults", `{"target":"portal","staus":503}`, 400, "staus"},
		{"POST", "/faults", `{"target":"moon"}`, 400, "moon"},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, c.path, strings.NewReader(c.body)))
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s %s: %d %s; want %d with %q", c.method, c.path, c.body, w.Code, w.Body, c.status, c.want)
		}
	}
	if len(parts.done) != 1 || sudo["kube-node1"] != "no" || !node.cut {
		t.Errorf("components %v, sudo %v, cut off %v", parts.done, sudo, node.cut)
	}
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("DELETE", "/faults", nil))
	if sudo["kube-node1"] != "" {
		t.Error("sudo was not mended")
	}
}

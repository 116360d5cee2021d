package config

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"lightsout/internal/testenv"
	"lightsout/power"
)

// bind parses a config and looks up the machine of a node that says of itself
// what a compromised kubelet could: an annotation and an address.
func bind(t *testing.T, yaml, annotation, address string) (power.Binding, *power.Fleet) {
	t.Helper()
	c, err := Parse([]byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	drivers, err := c.Power.Drivers(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range drivers {
		t.Cleanup(func() { Close(d) })
	}
	fleet, err := power.NewFleet(power.Config{Off: c.Power.Off, On: c.Power.On, Nodes: c.Power.FleetNodes()}, nil, drivers)
	if err != nil {
		t.Fatal(err)
	}
	node := power.NodeRef{Name: "kube-node3", Addresses: []string{address}, Annotations: map[string]string{power.AnnotationMachine: annotation}}
	return fleet.Resolve(t.Context(), []power.NodeRef{node})[0], fleet
}

// TestANodeDoesNotChooseWhoGetsASecret has the annotation and the address of a
// node lead to a stranger, who waits for the password.
func TestANodeDoesNotChooseWhoGetsASecret(t *testing.T) {
	t.Setenv("PLANTED", planted)
	var heard atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { heard.Add(1) }))
	defer web.Close()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	go func() {
		for buf := make([]byte, 1500); ; heard.Add(1) {
			if _, _, err := udp.ReadFrom(buf); err != nil {
				return
			}
		}
	}()
	dir := t.TempDir()
	agent := filepath.Join(dir, "agent")
	testenv.Script(t, agent, "#!/bin/sh\necho \"$@\" > \"$0.heard\"\n")
	stranger := web.Listener.Addr().String()
	for _, c := range []struct{ yaml, says, annotation, address string }{
		{`redfish: {url: "http://{{.Machine}}", user: a, password_env: PLANTED}`, "{{.Machine}}", stranger, "10.0.0.13"},
		{`redfish: {url: "http://{{.Address}}:` + fmt.Sprint(web.Listener.Addr().(*net.TCPAddr).Port) + `", user: a, password_env: PLANTED}`, "{{.Address}}", "", "127.0.0.1"},
		{`ipmi: {address: "{{.Machine}}", user: a, password_env: PLANTED}`, "{{.Machine}}", udp.LocalAddr().String(), "10.0.0.13"},
		{`fence: {agent: ` + agent + `, params: {ip: "{{.Machine}}"}, secrets: {password: {env: PLANTED}}}`, "{{.Machine}}", stranger, "10.0.0.13"},
	} {
		driver, _, _ := strings.Cut(c.yaml, ":")
		b, fleet := bind(t, fmt.Sprintf("power: {off_by: %s, on_by: %s, %s}", driver, driver, c.yaml), c.annotation, c.address)
		if b.Off != nil || b.On != nil || !strings.Contains(fmt.Sprint(b.OnErr), c.says) || !strings.Contains(fmt.Sprint(b.OnErr), "power.nodes.kube-node3") {
			t.Errorf("%s: bound to %+v (%v)", c.yaml, b.On, b.OnErr)
		}
		fleet.Prove(t.Context(), []power.Binding{b})
	}
	if _, err := os.Stat(agent + ".heard"); err == nil || heard.Load() != 0 {
		t.Error("the stranger was spoken to")
	}
	// What the configuration names is spoken to.
	b, _ := bind(t, fmt.Sprintf(`power: {on_by: redfish, redfish: {url: "http://{{.Machine}}", user: a, password_env: PLANTED}, nodes: {kube-node3: {machine: %q}}}`, stranger), "other", "10.0.0.13")
	if heard.Load() == 0 {
		t.Errorf("the controller that the config names was not asked: %v", b.OnErr)
	}
}

// TestNoSecretFollowsARedirect has each API that a secret is sent to lead on to
// another host.
func TestNoSecretFollowsARedirect(t *testing.T) {
	t.Setenv("PLANTED", planted)
	var heard, asked atomic.Int32
	stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		heard.Add(1)
		t.Errorf("the stranger got %s with %v", r.URL, r.Header)
	}))
	defer stranger.Close()
	for _, code := range []int{301, 302, 303, 307, 308} {
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			http.Redirect(w, r, stranger.URL+r.URL.Path, code)
		}))
		t.Setenv("OS_AUTH_URL", api.URL+"/v3")
		for name, value := range map[string]string{"OS_CLOUD": "", "OS_USERNAME": "me", "OS_PASSWORD": planted, "OS_PROJECT_NAME": "p", "OS_DOMAIN_NAME": "d"} {
			t.Setenv(name, value)
		}
		for _, section := range []string{
			"mdx: {url: %q, project: p, token_env: PLANTED}", "openstack: {region: %q}",
			"redfish: {url: %q, user: a, password_env: PLANTED}",
		} {
			driver, _, _ := strings.Cut(section, ":")
			before := asked.Load()
			b, _ := bind(t, fmt.Sprintf("power: {off_by: %s, on_by: %s, "+section+"}", driver, driver, api.URL), "", "10.0.0.13")
			if b.On != nil || asked.Load() == before {
				t.Errorf("%d, %s: bound to %+v (%v) after %d requests", code, section, b.On, b.OnErr, asked.Load()-before)
			}
		}
		api.Close()
	}
	if heard.Load() > 0 {
		t.Error("the stranger was spoken to")
	}
}

package portal

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type machine struct {
	name string
	mu   sync.Mutex
	on   bool
}

func (m *machine) Name() string { return m.name }
func (m *machine) Powered() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.on
}
func (m *machine) set(on bool)     { m.mu.Lock(); m.on = on; m.mu.Unlock() }
func (m *machine) PowerOn() error  { m.set(true); return nil }
func (m *machine) PowerCut()       { m.set(false) }
func (m *machine) Shutdown() error { m.set(false); return nil }

func lab(t *testing.T, n int) (*Portal, []*machine) {
	var machines []*machine
	cfg := Config{Project: "lab", Token: "secret"}
	for i := range n {
		m := &machine{name: fmt.Sprintf("kube-node%d", i+1), on: true}
		machines = append(machines, m)
		cfg.VMs = append(cfg.VMs, VM{Machine: m, Address: fmt.Sprintf("10.0.0.%d", 11+i), ServiceLevel: "spot"})
	}
	p := New(cfg)
	t.Cleanup(p.Close)
	return p, machines
}

func call(p *Portal, token, method, path, body string, into any) int {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "JWT "+token)
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	if into != nil {
		json.Unmarshal(w.Body.Bytes(), into)
	}
	return w.Code
}

type page struct {
	Count   int
	Next    *string
	Results []struct{ UUID, Name, Status string }
}

func ids(t *testing.T, p *Portal) map[string]string {
	t.Helper()
	var l page
	if code := call(p, "secret", "GET", "/api/vm/project/"+p.Project()+"/?page_size=100", "", &l); code != 200 {
		t.Fatalf("list: %d", code)
	}
	all := map[string]string{}
	for _, v := range l.Results {
		all[v.Name] = v.UUID
	}
	return all
}

func status(p *Portal, id string) string {
	var d struct{ Status string }
	call(p, "secret", "GET", "/api/vm/"+id+"/", "", &d)
	return d.Status
}

// await waits until machine id has the status and no operation is under way: a
// machine is off some moments before its portal ends the task.
func await(t *testing.T, p *Portal, id, want string) {
	t.Helper()
	busy := func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.find(id).busy != ""
	}
	for end := time.Now().Add(10 * time.Second); status(p, id) != want || busy(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("status %s, want %s", status(p, id), want)
		}
	}
}

func TestOnlyAKnownTokenGetsIn(t *testing.T) {
	p, _ := lab(t, 1)
	if code := call(p, "wrong", "GET", "/api/project/assigned/", "", nil); code != 401 {
		t.Errorf("wrong token: %d", code)
	}
	var fresh struct{ Token string }
	if code := call(p, "", "POST", "/api/refresh/", `{"token":"secret"}`, &fresh); code != 200 || fresh.Token == "" {
		t.Errorf("refresh: %d, %q", code, fresh.Token)
	}
	if code := call(p, fresh.Token, "GET", "/api/project/assigned/", "", nil); code != 200 {
		t.Errorf("refreshed token: %d", code)
	}
	if code := call(p, "", "POST", "/api/refresh/", `{"token":"wrong"}`, nil); code != 400 {
		t.Errorf("refresh of a wrong token: %d", code)
	}
}

func TestPagesCoverAllMachinesOnce(t *testing.T) {
	p, _ := lab(t, 7)
	seen := map[string]bool{}
	path := "/api/vm/project/" + p.Project() + "/?page=1&page_size=3"
	for path != "" {
		var l page
		if code := call(p, "secret", "GET", path, "", &l); code != 200 || l.Count != 7 {
			t.Fatalf("%s: %d, count %d", path, code, l.Count)
		}
		for _, v := range l.Results {
			if seen[v.Name] {
				t.Errorf("%s twice", v.Name)
			}
			seen[v.Name] = true
		}
		path = ""
		if l.Next != nil {
			path = (*l.Next)[strings.Index(*l.Next, "/api"):]
		}
	}
	if len(seen) != 7 {
		t.Errorf("%d machines", len(seen))
	}
	if code := call(p, "secret", "GET", "/api/vm/project/"+p.Project()+"/?page=99", "", nil); code != 404 {
		t.Errorf("a page beyond the last: %d", code)
	}
}

func TestPowerActions(t *testing.T) {
	p, machines := lab(t, 2)
	id := ids(t, p)["kube-node2"]
	act := func(action, body string) int {
		return call(p, "secret", "POST", "/api/vm/"+id+"/"+action+"/", body, nil)
	}
	if code := act("power_on", `{"service_level":"spot"}`); code != 400 {
		t.Errorf("power_on of a running machine: %d", code)
	}
	if code := act("shutdown", ""); code != http.StatusAccepted {
		t.Fatalf("shutdown: %d", code)
	}
	await(t, p, id, PowerOff)
	if code := act("power_on", ""); code != 400 {
		t.Errorf("power_on without a service level: %d", code)
	}
	if code := act("power_on", `{"service_level":"guarantee"}`); code != http.StatusAccepted {
		t.Errorf("power_on: %d", code)
	}
	await(t, p, id, PowerOn)
	if !machines[1].Powered() || !machines[0].Powered() {
		t.Error("the machines don't have the power that the portal says")
	}
	var d struct {
		ServiceLevel string `json:"service_level"`
	}
	call(p, "secret", "GET", "/api/vm/"+id+"/", "", &d)
	if d.ServiceLevel != "起動保証仮想マシン" {
		t.Errorf("service level %s", d.ServiceLevel)
	}
	if code := call(p, "secret", "POST", "/api/vm/"+id+"/power_off", "", nil); code == http.StatusAccepted {
		t.Error("a path without its trailing slash was taken")
	}
	if code := act("explode", ""); code != 404 {
		t.Errorf("unknown action: %d", code)
	}
}

func TestFaults(t *testing.T) {
	p, machines := lab(t, 2)
	id := ids(t, p)["kube-node1"]
	p.AddFault(Fault{Path: "shutdown", VM: "kube-node1", Status: 503, Count: 1})
	p.AddFault(Fault{Path: "shutdown", Never: true})
	shutdown := func() int { return call(p, "secret", "POST", "/api/vm/"+id+"/shutdown/", "", nil) }
	if code := shutdown(); code != 503 {
		t.Errorf("first: %d", code)
	}
	if code := shutdown(); code != 202 {
		t.Errorf("second: %d", code)
	}
	p.Close()
	if !machines[0].Powered() {
		t.Error("done, though it should be accepted and never done")
	}
	if err := p.SetStatus("kube-node1", Deallocated); err != nil || status(p, id) != Deallocated {
		t.Errorf("status %s, %v", status(p, id), err)
	}
	if err := p.AddFault(Fault{Status: 7}); err == nil {
		t.Error("HTTP status 7 taken")
	}
}

package openstack

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"lightsout/power"
)

const (
	password = "hunter2-planted"
	token    = "gAAAAAB-planted-token"
	uuid3    = "0f2f9a3e-7e5c-4d6e-9a55-000000000003"
	uuid4    = "0f2f9a3e-7e5c-4d6e-9a55-000000000004"
)

// cloud answers as Keystone and Nova do; the replies are those of the API
// guides, cut to what matters. It can be told to misbehave.
type cloud struct {
	*httptest.Server

	mu      sync.Mutex
	servers []*server
	valid   map[string]bool
	issued  int
	seen    []string
	// fault answers in the cloud's place when it returns true.
	fault func(w http.ResponseWriter, r *http.Request, body string) bool
	stall chan struct{}
}

type server struct {
	id, name, status, task string
	power                  int
	addrs                  []string
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{valid: map[string]bool{}, servers: []*server{
		{id: uuid3, name: "kube-node3", status: "ACTIVE", power: 1, addrs: []string{"10.0.0.13", "163.220.0.13"}},
		{id: uuid4, name: "twin", status: "ACTIVE", power: 1, addrs: []string{"10.0.0.130"}},
		{id: "0f2f9a3e-7e5c-4d6e-9a55-000000000005", name: "twin", status: "SHUTOFF", power: 4, addrs: []string{"fd00::5"}},
	}}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *cloud) with(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	body := string(data)
	c.mu.Lock()
	c.seen = append(c.seen, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+body))
	fault, stall := c.fault, c.stall
	c.mu.Unlock()
	if stall != nil {
		select {
		case <-stall:
		case <-r.Context().Done():
		}
		return
	}
	if fault != nil && fault(w, r, body) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer(w, r, body)
}

func reply(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v)
}

// complain answers as Nova does.
func complain(w http.ResponseWriter, code int, kind, message string) {
	reply(w, code, map[string]any{kind: map[string]any{"code": code, "message": message}})
}

func (c *cloud) answer(w http.ResponseWriter, r *http.Request, body string) {
	switch {
	case r.URL.Path == "/identity/" && r.Method == http.MethodGet:
		reply(w, 300, map[string]any{"versions": map[string]any{"values": []any{map[string]any{
			"id": "v3.14", "status": "stable", "links": []any{map[string]any{"rel": "self", "href": c.URL + "/identity/v3/"}}}}}})
		return
	case r.URL.Path == "/identity/v3/auth/tokens":
		if !strings.Contains(body, password) {
			complain(w, 401, "error", "The request you have made requires authentication.")
			return
		}
		c.issued++
		t := fmt.Sprintf("%s-%d", token, c.issued)
		c.valid[t] = true
		w.Header().Set("X-Subject-Token", t)
		reply(w, 201, map[string]any{"token": map[string]any{
			"expires_at": "2099-01-01T00:00:00.000000Z", "methods": []string{"password"},
			"catalog": []any{map[string]any{"type": "compute", "name": "nova", "id": "n", "endpoints": []any{
				map[string]any{"interface": "public", "region": "RegionOne", "region_id": "RegionOne", "id": "e", "url": c.URL + "/compute/v2.1"}}}},
		}})
		return
	case !c.valid[r.Header.Get("X-Auth-Token")]:
		complain(w, 401, "error", "Unauthorized")
		return
	}
	path, ok := strings.CutPrefix(r.URL.Path, "/compute/v2.1/servers/")
	if !ok {
		complain(w, 404, "itemNotFound", "The resource could not be found.")
		return
	}
	id, action, _ := strings.Cut(path, "/")
	if id == "detail" {
		c.list(w, r)
		return
	}
	i := slices.IndexFunc(c.servers, func(s *server) bool { return s.id == id })
	switch {
	case i < 0:
		complain(w, 404, "itemNotFound", "Instance "+id+" could not be found.")
	case action == "":
		reply(w, 200, map[string]any{"server": c.servers[i].json()})
	case action == "action" && r.Method == http.MethodPost:
		c.servers[i].act(w, body)
	default:
		complain(w, 404, "itemNotFound", "The resource could not be found.")
	}
}

// list gives two servers a page, so that paging shows.
func (c *cloud) list(w http.ResponseWriter, r *http.Request) {
	from := 0
	if m := r.URL.Query().Get("marker"); m != "" {
		from = 1 + slices.IndexFunc(c.servers, func(s *server) bool { return s.id == m })
	}
	to := min(from+2, len(c.servers))
	page := []any{}
	for _, s := range c.servers[from:to] {
		page = append(page, s.json())
	}
	out := map[string]any{"servers": page}
	if to < len(c.servers) {
		out["servers_links"] = []any{map[string]any{"rel": "next", "href": c.URL + "/compute/v2.1/servers/detail?marker=" + c.servers[to-1].id}}
	}
	reply(w, 200, out)
}

func (s *server) json() map[string]any {
	var addrs []any
	for _, a := range s.addrs {
		addrs = append(addrs, map[string]any{"addr": a, "version": 4, "OS-EXT-IPS:type": "fixed"})
	}
	var task any
	if s.task != "" {
		task = s.task
	}
	return map[string]any{
		"id": s.id, "name": s.name, "status": s.status, "addresses": map[string]any{"private": addrs},
		"OS-EXT-STS:task_state": task, "OS-EXT-STS:vm_state": strings.ToLower(s.status), "OS-EXT-STS:power_state": s.power,
		"created": "2025-01-01T00:00:00Z", "updated": "2025-01-01T00:00:00Z",
	}
}

func (s *server) act(w http.ResponseWriter, body string) {
	switch {
	case strings.Contains(body, "os-start") && s.status == "SHUTOFF":
		s.status, s.power = "ACTIVE", 1
	case strings.Contains(body, "os-stop") && s.status == "ACTIVE":
		s.status, s.power = "SHUTOFF", 4
	default:
		complain(w, 409, "conflictingRequest", "Cannot do that to instance "+s.id+" while it is in vm_state "+s.status)
		return
	}
	w.WriteHeader(202)
}

func (c *cloud) posts() (out []string) {
	c.with(func() {
		for _, s := range c.seen {
			if strings.Contains(s, "/action") {
				out = append(out, s)
			}
		}
	})
	return out
}

// cloudsFile writes a clouds.yaml.
func (c *cloud) cloudsFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clouds.yaml")
	text := fmt.Sprintf(`
clouds:
  mdx2:
    region_name: RegionOne
    auth:
      auth_url: %s/identity
      username: me
      password: %s
      project_name: p
      user_domain_name: Default
      project_domain_name: Default
  bare: {}
  open:
    verify: false
    auth: {auth_url: %s/identity, username: me, password: %s}
`, c.URL, password, c.URL, password)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func newDriver(t *testing.T, c *cloud) *Driver {
	t.Helper()
	d, err := New(Options{Cloud: "mdx2", CloudsFile: c.cloudsFile(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func machine(id string) power.Machine {
	return power.Machine{Driver: DriverName, ID: id, Name: "kube-node3"}
}

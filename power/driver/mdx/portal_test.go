package mdx

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lightsout/power"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	projectID   = "11111111-2222-3333-4444-555555555555"
	secretToken = "eyJhbGciOi.planted-secret.c2ln"
)

// portal imitates the mdx portal as its public clients meet it, and can be
// told to misbehave.
type portal struct {
	*httptest.Server

	mu     sync.Mutex
	valid  map[string]bool // tokens that are taken
	issued int
	vms    []*portalVM
	seen   []string // "POST /api/vm/x/power_on/ {body}"
	open   int
	most   int // requests at once
	// fault answers in the portal's place when it returns true.
	fault func(w http.ResponseWriter, r *http.Request) bool
	// lazy: power requests are accepted and never carried out.
	lazy bool
}

type portalVM struct {
	uuid, name, status, level string
	ipv4                      []string
}

func newPortal(t testing.TB, vms ...*portalVM) *portal {
	p := &portal{valid: map[string]bool{secretToken: true}, vms: vms}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func fourVMs() []*portalVM {
	var out []*portalVM
	for i := 1; i <= 4; i++ {
		out = append(out, &portalVM{
			uuid: fmt.Sprintf("uuid-%d", i), name: fmt.Sprintf("kube-node%d", i), status: "PowerON",
			level: "スポット仮想マシン", ipv4: []string{fmt.Sprintf("10.0.0.1%d", i)},
		})
	}
	return out
}

func (p *portal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.open++
	p.most = max(p.most, p.open)
	fault := p.fault
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.open--
		p.mu.Unlock()
	}()
	var body map[string]string
	if r.Body != nil {
		_ = json.NewDecoder(r.Body).Decode(&body)
	}
	p.mu.Lock()
	p.seen = append(p.seen, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Method, r.URL.Path, body["service_level"])))
	p.mu.Unlock()
	if fault != nil && fault(w, r) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer(w, r, body)
}

func (p *portal) answer(w http.ResponseWriter, r *http.Request, body map[string]string) {
	reply := func(code int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(v)
	}
	if r.URL.Path == "/api/refresh/" {
		if !strings.HasPrefix(body["token"], "eyJ") {
			reply(400, map[string]string{"detail": "no token"})
			return
		}
		p.issued++
		token := fmt.Sprintf("eyJ.renewed-%d.planted-secret", p.issued)
		p.valid[token] = true
		reply(200, map[string]string{"token": token})
		return
	}
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "JWT "); !ok || !p.valid[token] {
		reply(401, map[string]string{"detail": "Signature has expired. " + r.Header.Get("Authorization")})
		return
	}
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case !strings.HasSuffix(r.URL.Path, "/"):
		http.Redirect(w, r, r.URL.Path+"/", http.StatusMovedPermanently)
	case r.URL.Path == "/api/project/assigned/":
		reply(200, []any{map[string]any{"uuid": "org", "name": "University", "projects": []any{
			map[string]any{"uuid": projectID, "name": "llm", "type": "x", "expired": false},
			map[string]any{"uuid": "other", "name": "others", "type": "x", "expired": false},
		}}})
	case r.URL.Path == "/api/vm/project/"+projectID+"/":
		p.page(r, reply)
	case len(path) >= 3 && path[1] == "vm":
		i := slices.IndexFunc(p.vms, func(v *portalVM) bool { return v.uuid == path[2] })
		if i < 0 {
			reply(404, map[string]string{"detail": "Not found."})
			return
		}
		p.vm(p.vms[i], path[3:], r, body, reply)
	default:
		reply(404, map[string]string{"detail": "Not found."})
	}
}

// page lists VMs, two a page when the project is small, so that paging shows.
func (p *portal) page(r *http.Request, reply func(int, any)) {
	var page, size int
	fmt.Sscan(r.URL.Query().Get("page"), &page)
	fmt.Sscan(r.URL.Query().Get("page_size"), &size)
	if size < 1 || size > 100 || page < 1 {
		reply(400, map[string]string{"detail": "bad page"})
		return
	}
	size = min(size, 3)
	from, to := min((page-1)*size, len(p.vms)), min(page*size, len(p.vms))
	results := []any{}
	for _, v := range p.vms[from:to] {
		results = append(results, map[string]any{"uuid": v.uuid, "name": v.name, "status": v.status, "vcenter": "vc", "running_tasks": []any{}})
	}
	var next any
	if to < len(p.vms) {
		next = fmt.Sprintf("http://portal.invalid/?page=%d", page+1)
	}
	reply(200, map[string]any{"count": len(p.vms), "next": next, "previous": nil, "results": results})
}

func (p *portal) vm(v *portalVM, action []string, r *http.Request, body map[string]string, reply func(int, any)) {
	if len(action) == 0 {
		reply(200, map[string]any{"name": v.name, "status": v.status, "service_level": v.level,
			"service_networks": []any{map[string]any{"adapter_number": 1, "ipv4_address": v.ipv4, "ipv6_address": []string{}}}})
		return
	}
	if r.Method != http.MethodPost {
		reply(405, map[string]string{"detail": "Method not allowed."})
		return
	}
	if !p.lazy {
		switch action[0] {
		case "power_on":
			if body["service_level"] == "" {
				reply(400, map[string]string{"detail": "service_level is required"})
				return
			}
			v.status = "PowerON"
		case "shutdown", "power_off":
			v.status = "PowerOFF"
		}
	}
	reply(202, "accepted")
}

// with runs f with the portal's state held.
func (p *portal) with(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// posts gives the power requests that came.
func (p *portal) posts() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, s := range p.seen {
		if strings.HasPrefix(s, "POST /api/vm/") {
			out = append(out, s)
		}
	}
	return out
}

func newDriver(t *testing.T, p *portal, project string) *Driver {
	t.Helper()
	d, err := New(Options{URL: p.URL, Project: project, Token: func() (string, error) { return secretToken, nil }})
	if err != nil {
		t.Fatal(err)
	}
	d.pauses = []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond}
	t.Cleanup(d.Close)
	return d
}

func tokenFile(t *testing.T, token string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func machine(id string) power.Machine {
	return power.Machine{Driver: DriverName, ID: id, Name: id, Params: map[string]string{power.ParamServiceLevel: levelGuarantee}}
}

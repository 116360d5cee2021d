package portal

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The states of a virtual machine, in mdx's words.
const (
	PowerOn     = "PowerON"
	PowerOff    = "PowerOFF"
	Deallocated = "Deallocated"
	Suspended   = "Suspended"
)

// Machine is a virtual machine's hardware.
type Machine interface {
	Name() string
	// Powered reports whether it has power.
	Powered() bool
	PowerOn() error
	PowerCut()
	// Shutdown asks the guest; it returns at once.
	Shutdown() error
}

// VM is a machine as the portal knows it.
type VM struct {
	Machine      Machine
	Address      string // of its first network adapter
	ServiceLevel string // "spot" or "guarantee"
	CPUs         int
	MemoryGiB    int
}

// Config describes a portal.
type Config struct {
	Organisation string // default "Lights-out Laboratory"
	Project      string // its name
	Token        string // the one that is issued to the user
	Seed         string // VMs and project have the same ids in every portal with the same seed
	VMs          []VM
	// Delay is how long the hypervisor takes from accepting an action to
	// doing it.
	Delay time.Duration
}

// Portal is the power API's server. It is safe for use by several goroutines
// at once.
type Portal struct {
	cfg     Config
	project string // uuid
	vms     []*vm  // sorted by name
	handler http.Handler
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup

	mu     sync.Mutex
	tokens map[string]bool
	tasks  map[string]*task
	faults []*Fault
}

type vm struct {
	VM
	uuid string

	// Guarded by Portal.mu, and VM.ServiceLevel with them.
	status string // one that the hypervisor has set apart from on and off
	busy   string // the action that is under way
}

type task struct {
	UUID       string  `json:"uuid"`
	Type       string  `json:"type"`
	ObjectUUID string  `json:"object_uuid"`
	ObjectName string  `json:"object_name"`
	Start      string  `json:"start_datetime"`
	End        *string `json:"end_datetime"`
	Status     string  `json:"status"` // Running, Completed or Failed
	Progress   int     `json:"progress"`
}

// New returns a portal. Close ends what it has under way.
func New(cfg Config) *Portal {
	cfg.Organisation = cmp.Or(cfg.Organisation, "Lights-out Laboratory")
	p := &Portal{
		cfg:     cfg,
		project: uuid(cfg.Seed, "project", cfg.Project),
		tokens:  map[string]bool{cfg.Token: true},
		tasks:   map[string]*task{},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	for _, v := range cfg.VMs {
		p.vms = append(p.vms, &vm{VM: v, uuid: uuid(cfg.Seed, "vm", v.Machine.Name())})
	}
	slices.SortFunc(p.vms, func(a, b *vm) int { return cmp.Compare(a.Machine.Name(), b.Machine.Name()) })

	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/refresh/{$}", p.refresh)
	mux.HandleFunc("GET /api/project/assigned/{$}", p.assigned)
	mux.HandleFunc("GET /api/vm/project/{project}/{$}", p.list)
	mux.HandleFunc("GET /api/vm/{vm}/{$}", p.detail)
	mux.HandleFunc("POST /api/vm/{vm}/{action}/{$}", p.act)
	mux.HandleFunc("GET /api/task/{task}/{$}", p.task)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { detail(w, http.StatusNotFound, "Not found.") })
	p.handler = p.guard(mux)
	return p
}

// Close ends the actions that are under way.
func (p *Portal) Close() {
	p.cancel()
	p.wg.Wait()
}

// ServeHTTP implements http.Handler.
func (p *Portal) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.handler.ServeHTTP(w, r) }

// Project returns the project's uuid.
func (p *Portal) Project() string { return p.project }

// guard applies faults, and lets in who has a token.
func (p *Portal) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
		if f := p.fault(r); f != nil {
			if f.Delay > 0 && !pause(r.Context(), time.Duration(f.Delay)) {
				return
			}
			if f.Status != 0 {
				detail(w, f.Status, http.StatusText(f.Status))
				return
			}
		}
		if r.URL.Path != "/api/refresh/" { // its token is in the body
			token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "JWT ")
			if !ok {
				w.Header().Set("WWW-Authenticate", `JWT realm="api"`)
				detail(w, http.StatusUnauthorized, "Authentication credentials were not provided.")
				return
			}
			if !p.known(token) {
				w.Header().Set("WWW-Authenticate", `JWT realm="api"`)
				detail(w, http.StatusUnauthorized, "Error decoding signature.")
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func (p *Portal) known(token string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tokens[token]
}

func (p *Portal) refresh(w http.ResponseWriter, r *http.Request) {
	var body struct{ Token string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || !p.known(body.Token) {
		reply(w, http.StatusBadRequest, map[string][]string{"non_field_errors": {"Error decoding signature."}})
		return
	}
	token := rand.Text()
	p.mu.Lock()
	p.tokens[token] = true
	p.mu.Unlock()
	reply(w, http.StatusOK, map[string]string{"token": token})
}

func (p *Portal) assigned(w http.ResponseWriter, r *http.Request) {
	type project struct {
		UUID    string `json:"uuid"`
		Name    string `json:"name"`
		Type    string `json:"type"`
		Expired bool   `json:"expired"`
	}
	reply(w, http.StatusOK, []map[string]any{{
		"uuid":     uuid(p.cfg.Seed, "organisation", p.cfg.Organisation),
		"name":     p.cfg.Organisation,
		"projects": []project{{UUID: p.project, Name: p.cfg.Project, Type: "通常"}},
	}})
}

// list answers one page: page counts from 1, page_size is at most 100.
func (p *Portal) list(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("project") != p.project {
		detail(w, http.StatusNotFound, "Not found.")
		return
	}
	page, size := number(r, "page", 1), min(number(r, "page_size", 10), 100)
	from := (page - 1) * size
	if page < 1 || size < 1 || from >= len(p.vms) && page > 1 {
		detail(w, http.StatusNotFound, "Invalid page.")
		return
	}
	to := min(from+size, len(p.vms))
	link := func(n int) *string {
		q := r.URL.Query()
		q.Set("page", strconv.Itoa(n))
		s := "http://" + r.Host + r.URL.Path + "?" + q.Encode()
		return &s
	}
	answer := struct {
		Count    int              `json:"count"`
		Next     *string          `json:"next"`
		Previous *string          `json:"previous"`
		Results  []map[string]any `json:"results"`
	}{Count: len(p.vms), Results: []map[string]any{}}
	if to < len(p.vms) {
		answer.Next = link(page + 1)
	}
	if page > 1 {
		answer.Previous = link(page - 1)
	}
	for _, v := range p.vms[from:to] {
		status, running := p.status(v)
		answer.Results = append(answer.Results, map[string]any{
			"uuid": v.uuid, "name": v.Machine.Name(), "status": status,
			"vcenter": "lab", "running_tasks": running,
		})
	}
	reply(w, http.StatusOK, answer)
}

func (p *Portal) detail(w http.ResponseWriter, r *http.Request) {
	v := p.find(r.PathValue("vm"))
	if v == nil {
		detail(w, http.StatusNotFound, "Not found.")
		return
	}
	status, _ := p.status(v)
	p.mu.Lock()
	level := v.ServiceLevel
	p.mu.Unlock()
	switch level {
	case "guarantee":
		level = "起動保証仮想マシン"
	default:
		level = "スポット仮想マシン"
	}
	reply(w, http.StatusOK, map[string]any{
		"name": v.Machine.Name(), "status": status, "service_level": level,
		"os_type": "Linux", "vmware_tools": "Running", "vcenter": "lab", "esxi": "lab",
		"cpu": v.CPUs, "memory": fmt.Sprintf("%dGB", v.MemoryGiB), "gpu": "0",
		"pack_type": "CPU", "pack_num": v.CPUs,
		"service_networks": []map[string]any{{
			"adapter_number": 1, "ipv4_address": []string{v.Address}, "ipv6_address": []string{}, "segment": "lab",
		}},
		"storage_networks": []any{}, "hard_disks": []any{},
	})
}

func (p *Portal) find(id string) *vm {
	for _, v := range p.vms {
		if v.uuid == id {
			return v
		}
	}
	return nil
}

// status returns a VM's state and the actions under way.
func (p *Portal) status(v *vm) (string, []string) {
	powered := v.Machine.Powered()
	p.mu.Lock()
	defer p.mu.Unlock()
	running := []string{}
	if v.busy != "" {
		running = append(running, v.busy)
	}
	switch {
	case v.status != "":
		return v.status, running
	case powered:
		return PowerOn, running
	}
	return PowerOff, running
}

func (p *Portal) task(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	var answer task
	t := p.tasks[r.PathValue("task")]
	if t != nil {
		answer = *t
	}
	p.mu.Unlock()
	if t == nil {
		detail(w, http.StatusNotFound, "Not found.")
		return
	}
	reply(w, http.StatusOK, answer)
}

func number(r *http.Request, name string, otherwise int) int {
	s := r.URL.Query().Get(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil || n > 1<<20 {
		return 0
	}
	return n
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

func detail(w http.ResponseWriter, status int, message string) {
	reply(w, status, map[string]string{"detail": message})
}

// uuid derives an id from words, in the form of a version 8 UUID (RFC 9562).
func uuid(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	b := sum[:16]
	b[6] = b[6]&0x0f | 0x80
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

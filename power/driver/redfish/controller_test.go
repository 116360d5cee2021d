package redfish

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"lightsout/power"
	"lightsout/power/powertest"
)

const (
	user     = "admin"
	password = "hunter2-planted"
)

// bmc is a controller as DSP0266 has it, with the replies of real ones, and can
// be told to misbehave.
type bmc struct {
	*httptest.Server

	mu    sync.Mutex
	state map[string]string // PowerState by system
	names map[string]string // Name by system
	allow []string          // nil: not told
	info  []string          // by ActionInfo; nil: none
	seen  []string          // "POST /path body"
	// fault answers in the controller's place when it returns true.
	fault func(w http.ResponseWriter, r *http.Request, body string) bool
	stall chan struct{} // closed to let go of who waits
}

func newBMC(t testing.TB) *bmc {
	t.Helper()
	b := &bmc{
		state: map[string]string{"1": "On"}, names: map[string]string{"1": "System"},
		allow: []string{"On", "ForceOff", "GracefulShutdown", "GracefulRestart", "ForceRestart"},
	}
	b.Server = httptest.NewUnstartedServer(b)
	b.Config.ErrorLog = log.New(io.Discard, "", 0)
	b.StartTLS()
	t.Cleanup(b.Close)
	return b
}

func (b *bmc) with(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

func (b *bmc) sum() string {
	s := sha256.Sum256(b.Certificate().Raw)
	return hex.EncodeToString(s[:])
}

func (b *bmc) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := r.Body.Read(buf)
		body.Write(buf[:n])
		if err != nil {
			break
		}
	}
	b.mu.Lock()
	b.seen = append(b.seen, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+body.String()))
	fault, stall := b.fault, b.stall
	b.mu.Unlock()
	if stall != nil {
		select {
		case <-stall:
		case <-r.Context().Done():
		}
		return
	}
	if fault != nil && fault(w, r, body.String()) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer(w, r, body.String())
}

func reply(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v)
}

// complain answers as an iDRAC does.
func complain(w http.ResponseWriter, code int, message string) {
	reply(w, code, map[string]any{"error": map[string]any{
		"code": "Base.1.8.GeneralError", "message": "A general error has occurred. See ExtendedInfo for more information",
		"@Message.ExtendedInfo": []any{map[string]any{
			"Message": message, "MessageId": "IDRAC.2.5.PSU501", "Resolution": "No response action is required.", "Severity": "Critical",
		}},
	}})
}

func (b *bmc) allowed(r *http.Request) bool {
	u, p, ok := r.BasicAuth()
	return ok && u == user && p == password
}

func (b *bmc) answer(w http.ResponseWriter, r *http.Request, body string) {
	path := strings.TrimSuffix(r.URL.Path, "/")
	if path == "/redfish/v1" { // for everybody
		reply(w, 200, map[string]any{"RedfishVersion": "1.6.0", "Systems": map[string]string{"@odata.id": "/redfish/v1/Systems"}})
		return
	}
	if !b.allowed(r) {
		complain(w, 401, "The authentication credentials included with this request are missing or invalid.")
		return
	}
	ref := func(p string) map[string]string { return map[string]string{"@odata.id": p} }
	id, rest, _ := strings.Cut(strings.TrimPrefix(path, "/redfish/v1/Systems/"), "/")
	switch {
	case path == "/redfish/v1/Systems":
		members := []any{}
		for id := range b.state {
			members = append(members, ref("/redfish/v1/Systems/"+id))
		}
		reply(w, 200, map[string]any{"Members": members, "Members@odata.count": len(members)})
	case b.state[id] == "":
		complain(w, 404, "The resource at the URI "+path+" was not found.")
	case rest == "":
		reset := map[string]any{"target": "/redfish/v1/Systems/" + id + "/Actions/ComputerSystem.Reset"}
		if b.allow != nil {
			reset["ResetType@Redfish.AllowableValues"] = b.allow
		}
		if b.info != nil {
			reset["@Redfish.ActionInfo"] = "/redfish/v1/Systems/" + id + "/ResetActionInfo"
		}
		reply(w, 200, map[string]any{
			"Id": id, "Name": b.names[id], "UUID": "4c4c4544-0000-1000-8000-00000000000" + id[:1], "HostName": "", "PowerState": b.state[id],
			"Actions": map[string]any{"#ComputerSystem.Reset": reset},
		})
	case rest == "ResetActionInfo":
		reply(w, 200, map[string]any{"Parameters": []any{map[string]any{"Name": "ResetType", "AllowableValues": b.info}}})
	case rest == "Actions/ComputerSystem.Reset" && r.Method == http.MethodPost:
		b.reset(w, id, body)
	default:
		complain(w, 405, "The operation is not allowed on this resource.")
	}
}

func (b *bmc) reset(w http.ResponseWriter, id, body string) {
	var want struct{ ResetType string }
	_ = json.Unmarshal([]byte(body), &want)
	to := map[string]string{"On": "On", "ForceOn": "On", "ForceOff": "Off", "GracefulShutdown": "Off"}[want.ResetType]
	if to == "" {
		complain(w, 400, "The value '"+want.ResetType+"' for the property ResetType is not in the list of acceptable values.")
		return
	}
	if b.state[id] == to {
		complain(w, 409, "Server is already powered "+strings.ToUpper(to)+".")
		return
	}
	b.state[id] = to
	w.WriteHeader(204)
}

func (b *bmc) posts() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, s := range b.seen {
		if strings.HasPrefix(s, "POST /redfish/v1/Systems/") {
			out = append(out, s)
		}
	}
	return out
}

func newDriver(t *testing.T, b *bmc, change func(*Options)) *Driver {
	t.Helper()
	opt := Options{URL: b.URL, User: user, Password: powertest.Secret(password), Fingerprints: []string{b.sum()}}
	if change != nil {
		change(&opt)
	}
	d, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// certFile writes the controller's certificate into a file.
func (b *bmc) certFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bmc.pem")
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b.Certificate().Raw})
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (b *bmc) machine() power.Machine {
	return power.Machine{Driver: DriverName, ID: b.URL + "/redfish/v1/Systems/1", Name: "System"}
}

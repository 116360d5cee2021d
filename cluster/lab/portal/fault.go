package portal

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Fault is something that goes wrong on purpose, for requests whose path
// contains Path and, for requests about a VM, whose VM has this name; empty
// fields match everything.
type Fault struct {
	Path string `json:"path,omitempty"`
	VM   string `json:"vm,omitempty"`

	Status int      `json:"status,omitempty"` // answer with this HTTP status and do nothing
	Delay  Duration `json:"delay,omitempty"`  // answer so much later
	Never  bool     `json:"never,omitempty"`  // accept the action, and never do it
	Count  int      `json:"count,omitempty"`  // gone after so many requests; 0: stays

	used int
}

// Duration is a time.Duration that JSON has as a string such as "1.5s".
type Duration time.Duration

// MarshalJSON implements json.Marshaler.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// UnmarshalJSON implements json.Unmarshaler.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return err
	}
	if v < 0 {
		return fmt.Errorf("the delay %s is negative", s)
	}
	*d = Duration(v)
	return nil
}

// AddFault adds a fault after those that there are; the first that matches a
// request counts. It fails for a status that HTTP does not have.
func (p *Portal) AddFault(f Fault) error {
	if f.Status != 0 && (f.Status < 100 || f.Status > 599) {
		return fmt.Errorf("there is no HTTP status %d", f.Status)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, &f)
	return nil
}

// ClearFaults removes all faults.
func (p *Portal) ClearFaults() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = nil
}

// SetStatus makes a VM show a status such as Deallocated or Suspended until
// the next action on it; "" shows what its power says.
func (p *Portal) SetStatus(name, status string) error {
	switch status {
	case "", PowerOn, PowerOff, Deallocated, Suspended, "NotFound", "Deploying", "Detached":
	default:
		return fmt.Errorf("mdx has no status %q", status)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, v := range p.vms {
		if v.Machine.Name() == name {
			v.status = status
			return nil
		}
	}
	return fmt.Errorf("the portal has no machine %q", name)
}

// fault returns the fault for a request, as it was when the request came.
func (p *Portal) fault(r *http.Request) *Fault {
	name := ""
	for _, v := range p.vms {
		if strings.Contains(r.URL.Path, v.uuid) {
			name = v.Machine.Name()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, f := range p.faults {
		if f.Never || !f.matches(r.URL.Path, name) {
			continue
		}
		f.used++
		if f.Count > 0 && f.used >= f.Count {
			p.faults = append(p.faults[:i:i], p.faults[i+1:]...)
		}
		now := *f
		return &now
	}
	return nil
}

func (f *Fault) matches(path, vm string) bool {
	return strings.Contains(path, f.Path) && (f.VM == "" || f.VM == vm)
}

package mdx

import (
	"net/http"
	"strings"
	"testing"

	"lightsout/power"
	"lightsout/power/powertest"
)

var _ power.BulkDriver = (*Driver)(nil)

func TestContract(t *testing.T) {
	powertest.Run(t, func(t *testing.T) *powertest.World {
		p := newPortal(t, append(fourVMs(), &portalVM{uuid: "uuid-5", name: "twin", status: "PowerON"}, &portalVM{uuid: "uuid-6", name: "twin", status: "PowerON"})...)
		vm := p.vms[2]
		states := map[power.State]string{power.On: "PowerON", power.Off: "PowerOFF", power.Transitioning: "Deploying", power.Unknown: "Suspended"}
		fault := func(f func(w http.ResponseWriter, r *http.Request) bool) { p.with(func() { p.fault = f }) }
		return &powertest.World{
			Driver:  newDriver(t, p, "llm"),
			Can:     power.Abilities{State: true, ProvesOff: true, On: true, Shutdown: true, Off: true},
			Machine: powertest.Lookup{Node: power.NodeRef{Name: "kube-node3"}},
			None:    &powertest.Lookup{Node: power.NodeRef{Name: "kube-node", Addresses: []string{"10.0.0.1"}}},
			Twins:   &powertest.Lookup{Node: power.NodeRef{Name: "twin"}},
			Set:     func(s power.State) { p.with(func() { vm.status = states[s] }) },
			Is:      func() (s power.State) { p.with(func() { s = reading(vm.status).State }); return },
			States:  []power.State{power.Transitioning, power.Unknown},
			Gone:    func() { p.Close() },
			Stall: func() func() {
				stall := make(chan struct{})
				fault(func(_ http.ResponseWriter, r *http.Request) bool {
					select {
					case <-stall:
					case <-r.Context().Done():
					}
					return true
				})
				return func() { close(stall) }
			},
			Lose: func() {
				fault(func(w http.ResponseWriter, r *http.Request) bool {
					if r.Method != http.MethodPost || !strings.HasPrefix(r.URL.Path, "/api/vm/") {
						return false
					}
					if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
						conn.Close()
					}
					return true
				})
			},
			Refuse: func() {
				fault(func(w http.ResponseWriter, r *http.Request) bool {
					http.Error(w, `{"detail": "\u001b[31m\u202erefused `+r.Header.Get("Authorization")+`"}`, http.StatusForbidden)
					return true
				})
			},
			Secrets: []string{secretToken},
		}
	})
}

package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"lightsout/cluster/lab/controlplane"
	"lightsout/cluster/lab/machine"
	"lightsout/cluster/lab/portal"
)

// Machine is a machine's power, and its network.
type Machine interface {
	Name() string
	State() machine.State
	BootID() string
	PowerOn() error
	PowerCut()
	Shutdown() error
	CutOff()
	Join()
}

// Components is the control plane.
type Components interface {
	Do(component, action string) error
	Status() []controlplane.Component
}

// Portal is the power API.
type Portal interface {
	AddFault(portal.Fault) error
	SetStatus(vm, status string) error
	ClearFaults()
}

// Config is what is controlled.
type Config struct {
	Machines   []Machine
	Components Components
	Portal     Portal
	// Sudo makes sudo on a machine fail with a message; "" mends it.
	Sudo func(machine, message string)
	// Knative returns where requests are, as something that JSON can hold.
	Knative func() any
}

// Fault is the body of POST /faults. Target says what else counts:
// "portal": the fields of portal.Fault; "status": VM shows Word as its status;
// "sudo": on machine VM ("" is all), sudo fails with Word as its message.
type Fault struct {
	Target string `json:"target"`
	Word   string `json:"word,omitempty"`
	portal.Fault
}

// Handler returns the control's HTTP interface:
//
//	GET    /machines                    name, state and boot id of each
//	POST   /machines/{name}/{action}    off (power cut), on, shutdown; cut (off the network), join
//	GET    /components                  name, state and process id of each
//	POST   /components/{name}/{action}  stop, cont, kill, start
//	GET    /knative                     requests in the activator and the queue-proxies
//	POST   /faults                      see Fault
//	DELETE /faults                      mends all
//
// Errors are {"error": "…"} with 404 for a name that there isn't, 409 for
// what is not possible now and 400 for a body that is not understood.
func Handler(c Config) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /machines", func(w http.ResponseWriter, r *http.Request) {
		type state struct {
			Name   string        `json:"name"`
			State  machine.State `json:"state"`
			BootID string        `json:"bootID"`
		}
		all := []state{}
		for _, m := range c.Machines {
			all = append(all, state{m.Name(), m.State(), m.BootID()})
		}
		reply(w, http.StatusOK, all)
	})
	mux.HandleFunc("POST /machines/{name}/{action}", func(w http.ResponseWriter, r *http.Request) {
		name, action := r.PathValue("name"), r.PathValue("action")
		i := slices.IndexFunc(c.Machines, func(m Machine) bool { return m.Name() == name })
		if i < 0 {
			fail(w, http.StatusNotFound, fmt.Errorf("the lab has no machine %q", name))
			return
		}
		var err error
		switch m := c.Machines[i]; action {
		case "off":
			m.PowerCut()
		case "on":
			err = m.PowerOn()
		case "shutdown":
			err = m.Shutdown()
		case "cut":
			m.CutOff()
		case "join":
			m.Join()
		default:
			fail(w, http.StatusNotFound, fmt.Errorf("no action %q on a machine: take off, on, shutdown, cut or join", action))
			return
		}
		done(w, err)
	})
	mux.HandleFunc("GET /components", func(w http.ResponseWriter, r *http.Request) {
		reply(w, http.StatusOK, c.Components.Status())
	})
	mux.HandleFunc("POST /components/{name}/{action}", func(w http.ResponseWriter, r *http.Request) {
		done(w, c.Components.Do(r.PathValue("name"), r.PathValue("action")))
	})
	mux.HandleFunc("GET /knative", func(w http.ResponseWriter, r *http.Request) {
		reply(w, http.StatusOK, c.Knative())
	})
	mux.HandleFunc("POST /faults", func(w http.ResponseWriter, r *http.Request) {
		var f Fault
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16))
		d.DisallowUnknownFields()
		err := d.Decode(&f)
		if err == nil {
			err = c.inject(f)
		}
		if err != nil {
			fail(w, http.StatusBadRequest, err)
			return
		}
		reply(w, http.StatusOK, struct{}{})
	})
	mux.HandleFunc("DELETE /faults", func(w http.ResponseWriter, r *http.Request) {
		c.Portal.ClearFaults()
		for _, m := range c.Machines {
			c.Sudo(m.Name(), "")
			c.Portal.SetStatus(m.Name(), "")
		}
		reply(w, http.StatusOK, struct{}{})
	})
	return mux
}

func (c Config) inject(f Fault) error {
	switch f.Target {
	case "portal":
		return c.Portal.AddFault(f.Fault)
	case "status":
		return c.Portal.SetStatus(f.VM, f.Word)
	case "sudo":
		if strings.TrimSpace(f.Word) == "" {
			return errors.New(`a fault of sudo needs the message as "word"`)
		}
		found := false
		for _, m := range c.Machines {
			if f.VM == "" || f.VM == m.Name() {
				c.Sudo(m.Name(), f.Word)
				found = true
			}
		}
		if !found {
			return fmt.Errorf("the lab has no machine %q", f.VM)
		}
		return nil
	}
	return fmt.Errorf("no faults of %q: take portal, status or sudo", f.Target)
}

// Serve serves h on l until ctx ends.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func done(w http.ResponseWriter, err error) {
	switch {
	case err == nil:
		reply(w, http.StatusOK, struct{}{})
	case errors.Is(err, controlplane.ErrUnknown):
		fail(w, http.StatusNotFound, err)
	default:
		fail(w, http.StatusConflict, err)
	}
}

func fail(w http.ResponseWriter, status int, err error) {
	reply(w, status, map[string]string{"error": err.Error()})
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

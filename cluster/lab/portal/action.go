package portal

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"
)

// act answers POST /api/vm/{vm}/{action}/: 202 and a task, or why not.
func (p *Portal) act(w http.ResponseWriter, r *http.Request) {
	v := p.find(r.PathValue("vm"))
	action := r.PathValue("action")
	if v == nil {
		detail(w, http.StatusNotFound, "Not found.")
		return
	}
	wants := PowerOn
	var level string
	switch action {
	case "power_on":
		wants = PowerOff
		var body struct {
			ServiceLevel string `json:"service_level"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil && !errors.Is(err, io.EOF) {
			detail(w, http.StatusBadRequest, "JSON parse error")
			return
		}
		level = body.ServiceLevel
		switch level {
		case "":
			reply(w, http.StatusBadRequest, map[string][]string{"service_level": {"This field is required."}})
			return
		case "spot", "guarantee":
		default:
			reply(w, http.StatusBadRequest, map[string][]string{"service_level": {"\"" + level + "\" is not a valid choice."}})
			return
		}
	case "shutdown", "power_off":
	default:
		detail(w, http.StatusNotFound, "Not found.")
		return
	}
	status, _ := p.status(v)
	if status == Deallocated {
		status = PowerOff
	}
	p.mu.Lock()
	switch {
	case v.busy != "":
		p.mu.Unlock()
		detail(w, http.StatusConflict, "Another operation is in progress.")
		return
	case status != wants:
		p.mu.Unlock()
		detail(w, http.StatusBadRequest, "The operation is not possible in the status "+status+".")
		return
	}
	never := slices.ContainsFunc(p.faults, func(f *Fault) bool { return f.Never && f.matches(r.URL.Path, v.Machine.Name()) })
	t := &task{
		UUID: uuid(rand.Text()), Type: action, ObjectUUID: v.uuid, ObjectName: v.Machine.Name(),
		Start: time.Now().Format(time.RFC3339), Status: "Running",
	}
	p.tasks[t.UUID] = t
	id := t.UUID
	if !never {
		v.busy = action
		p.wg.Go(func() { p.do(v, action, level, t) })
	}
	p.mu.Unlock()
	reply(w, http.StatusAccepted, map[string]string{"task_id": id})
}

// do carries an accepted action out, after the hypervisor's delay.
func (p *Portal) do(v *vm, action, level string, t *task) {
	done := pause(p.ctx, p.cfg.Delay)
	var err error
	if done {
		switch action {
		case "power_on":
			err = v.Machine.PowerOn()
		case "shutdown":
			err = v.Machine.Shutdown()
		case "power_off":
			v.Machine.PowerCut()
		}
	}
	end := time.Now().Format(time.RFC3339)
	p.mu.Lock()
	defer p.mu.Unlock()
	v.busy = ""
	t.End = &end
	if !done || err != nil {
		t.Status = "Failed"
		return
	}
	v.status = ""
	if level != "" {
		v.ServiceLevel = level
	}
	t.Status, t.Progress = "Completed", 100
}

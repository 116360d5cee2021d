package labtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// atOnce is how many labs run side by side on two cores without being late: a lab waits for
// its clocks most of the time, and takes a core for some seconds when it starts.
const atOnce = 3

// pool are the labs of a test binary.
type pool struct {
	changed *sync.Cond // its lock guards the rest
	running int
	idle    []*running // at rest
	// starting lets one lab start at a time: more would make those that run late.
	starting sync.Mutex
}

// running is a lab's program.
type running struct {
	scenario string
	info     info
	end      func()
}

var labs = &pool{changed: sync.NewCond(new(sync.Mutex))}

// Start gives the test a lab at the fast pace, and ends it with the test. It is for tests
// that break what a lab does not repair, such as its control plane.
func Start(t testing.TB, scenario string) *Lab {
	t.Helper()
	r := labs.take(t, scenario)
	t.Cleanup(func() { labs.end(r) })
	return newLab(t, r.info)
}

// Lease gives the test a lab that no other test uses meanwhile: one at rest that an earlier
// test gave back, or a new one. What the test made in it with Do is deleted afterwards, its
// machines are switched on, and the nodes are as they were. After a failed test the lab ends.
func Lease(t testing.TB, scenario string) *Lab {
	t.Helper()
	r := labs.take(t, scenario)
	l := newLab(t, r.info)
	t.Cleanup(func() {
		if err := l.tidy(); t.Failed() || err != nil {
			t.Logf("the lab is not used again: %v", err)
			labs.end(r)
			return
		}
		labs.put(r)
	})
	return l
}

// Room waits until there is room for one more lab, which a program that the test runs
// starts. The room is free again after the test.
func Room(t testing.TB) {
	t.Helper()
	labs.room("")
	t.Cleanup(labs.leave)
}

// take returns a lab at rest, or starts one when there is room.
func (p *pool) take(t testing.TB, scenario string) *running {
	t.Helper()
	if r := p.room(scenario); r != nil {
		return r
	}
	p.starting.Lock()
	defer p.starting.Unlock()
	r := &running{scenario: scenario}
	end, err := launch(t, &r.info, "--scenario", scenario, "--pace", "fast")
	if err != nil {
		p.leave()
		t.Fatal(err)
	}
	t.Logf("a new lab: %s", scenario)
	r.end = end
	return r
}

// room returns a lab of the scenario at rest; nil means that there is room for a new one,
// which counts from now on.
func (p *pool) room(scenario string) *running {
	p.changed.L.Lock()
	defer p.changed.L.Unlock()
	for p.running == atOnce && len(p.idle) == 0 {
		p.changed.Wait()
	}
	r := p.pop(func(r *running) bool { return r.scenario == scenario })
	switch {
	case r != nil:
		return r
	case p.running < atOnce:
		p.running++
	default: // one of another scenario makes room
		p.pop(func(*running) bool { return true }).end()
	}
	return nil
}

// pop takes out the idle lab that was used last, of those that are wanted; nil: there is none.
func (p *pool) pop(wanted func(*running) bool) *running {
	for i, r := range slices.Backward(p.idle) {
		if wanted(r) {
			p.idle = slices.Delete(p.idle, i, i+1)
			return r
		}
	}
	return nil
}

func (p *pool) put(r *running) {
	p.changed.L.Lock()
	defer p.changed.L.Unlock()
	p.idle = append(p.idle, r)
	p.changed.Broadcast()
}

func (p *pool) end(r *running) { r.end(); p.leave() }

func (p *pool) leave() {
	p.changed.L.Lock()
	defer p.changed.L.Unlock()
	p.running--
	p.changed.Broadcast()
}

// tidy undoes what a test did to the lab, and waits until the lab is at rest.
func (l *Lab) tidy() error {
	made := l.API().made
	l = newLab(l.t, l.info) // the test's own connections are closed
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	err := l.ask(http.MethodDelete, "/faults", "", nil)
	for _, path := range slices.Backward(made) { // what is gone already is no failure
		_ = l.API().Try(http.MethodDelete, path, map[string]any{"propagationPolicy": "Background"}, nil)
	}
	for err == nil {
		missing := l.unrest()
		if missing == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			err = missing
		case <-time.After(200 * time.Millisecond):
		}
	}
	return err
}

// unrest says what the lab still waits for; nil: it is at rest. It switches machines on,
// and takes off the nodes what lightsout left there.
func (l *Lab) unrest() error {
	var machines []struct{ Name, State string }
	var nodes, deployments, pods struct{ Items []item }
	api := l.API()
	err := errors.Join(l.ask(http.MethodGet, "/machines", "", &machines), api.Try(http.MethodGet, "/api/v1/nodes", nil, &nodes),
		api.Try(http.MethodGet, "/apis/apps/v1/deployments", nil, &deployments), api.Try(http.MethodGet, "/api/v1/pods", nil, &pods))
	for _, m := range machines {
		err = errors.Join(err, l.ask(http.MethodPost, "/machines/"+m.Name+"/join", "", nil))
		if m.State == "off" {
			err = errors.Join(err, l.ask(http.MethodPost, "/machines/"+m.Name+"/on", "", nil))
		}
		if m.State != "on" {
			err = errors.Join(err, fmt.Errorf("%s is %s", m.Name, m.State))
		}
	}
	for _, n := range nodes.Items {
		if fresh := n.fresh(); fresh != nil {
			err = errors.Join(err, errors.New("lightsout left something on "+n.Metadata.Name), api.Try(http.MethodPatch, "/api/v1/nodes/"+n.Metadata.Name, fresh, nil))
		}
		if !n.ready() {
			err = errors.Join(err, fmt.Errorf("%s is not Ready, or tainted", n.Metadata.Name))
		}
	}
	for _, d := range deployments.Items {
		s := d.Status
		if want := d.Spec.Replicas; s.ObservedGeneration != d.Metadata.Generation || s.UpdatedReplicas != want || s.AvailableReplicas != want || s.Replicas != want {
			err = errors.Join(err, fmt.Errorf("deployment %s: %+v", d.Metadata.Name, s))
		}
	}
	for _, p := range pods.Items {
		if p.Metadata.DeletionTimestamp != "" {
			err = errors.Join(err, fmt.Errorf("pod %s is being deleted", p.Metadata.Name))
		}
	}
	return err
}

// item is a node, a deployment or a pod.
type item struct {
	Metadata struct {
		Name, DeletionTimestamp string
		Generation              int
		Annotations             map[string]string
	}
	Spec struct {
		Unschedulable bool
		Taints        []struct{ Key string }
		Replicas      int
	}
	Status struct {
		Conditions                                                       []struct{ Type, Status string }
		ObservedGeneration, UpdatedReplicas, AvailableReplicas, Replicas int
	}
}

// fresh is the patch that undoes what lightsout did to a node; nil: it is as it was.
func (n item) fresh() map[string]any {
	notes := map[string]any{}
	for key := range n.Metadata.Annotations {
		if strings.HasPrefix(key, "lightsout.dev/") {
			notes[key] = nil
		}
	}
	if len(notes) == 0 && !n.Spec.Unschedulable {
		return nil
	}
	return map[string]any{"metadata": map[string]any{"annotations": notes}, "spec": map[string]any{"unschedulable": nil}}
}

// ready reports whether a node takes pods, as far as its health is concerned.
func (n item) ready() bool {
	for _, taint := range n.Spec.Taints {
		if strings.HasPrefix(taint.Key, "node.kubernetes.io/") {
			return false
		}
	}
	for _, c := range n.Status.Conditions {
		if c.Type == "Ready" && c.Status != "True" {
			return false
		}
	}
	return true
}

// nameOf is the name in an object; empty if it has none, as an eviction of a pod.
func nameOf(object any) string {
	var o struct{ Metadata struct{ Name string } }
	b, err := json.Marshal(object)
	if err != nil || json.Unmarshal(b, &o) != nil {
		return ""
	}
	return o.Metadata.Name
}

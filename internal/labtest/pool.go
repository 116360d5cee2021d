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
const atOnce = 4

// pool are the labs of a test binary.
type pool struct {
	mu      sync.Mutex
	changed sync.Cond
	running int
	// Whoever asked first is served first: tickets were drawn, served are served.
	tickets, served int
	idle            []*running // at rest
	// starting lets one lab start at a time: more would make those that run late.
	starting sync.Mutex
}

// running is a lab's program.
type running struct {
	scenario string
	info     info
	end      func()
}

var labs = func() *pool {
	p := &pool{}
	p.changed.L = &p.mu
	return p
}()

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
	p.mu.Lock()
	defer p.mu.Unlock()
	ticket := p.tickets
	p.tickets++
	for p.served != ticket || p.running == atOnce && len(p.idle) == 0 {
		p.changed.Wait()
	}
	p.served++
	p.changed.Broadcast()
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
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, r)
	p.changed.Broadcast()
}

func (p *pool) end(r *running) {
	r.end()
	p.leave()
}

func (p *pool) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	p.changed.Broadcast()
}

// tidy undoes what a test did to the lab, and waits until the lab is at rest.
func (l *Lab) tidy() error {
	made := l.API().made
	l = newLab(l.t, l.info) // the test's own connections are closed
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	err := l.ask(http.MethodDelete, "/faults", nil)
	for i := len(made) - 1; i >= 0; i-- {
		// What is gone already is no failure.
		_ = l.API().Try(http.MethodDelete, made[i], map[string]any{"propagationPolicy": "Background"}, nil)
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

func (l *Lab) ask(method, path string, into any) error {
	return ask(context.Background(), l.Control(), method, "http://lab"+path, "", into)
}

// powered switches on every machine that is off, joins it with the network, and names one
// that is not on.
func (l *Lab) powered() error {
	var all []struct{ Name, State string }
	err := l.ask(http.MethodGet, "/machines", &all)
	for _, m := range all {
		err = errors.Join(err, l.ask(http.MethodPost, "/machines/"+m.Name+"/join", nil))
		if m.State == "off" {
			err = errors.Join(err, l.ask(http.MethodPost, "/machines/"+m.Name+"/on", nil))
		}
		if m.State != "on" {
			err = errors.Join(err, fmt.Errorf("%s is %s", m.Name, m.State))
		}
	}
	return err
}

// unrest says what the lab still waits for; nil: it is at rest.
func (l *Lab) unrest() error {
	if err := l.powered(); err != nil {
		return err
	}
	var nodes struct {
		Items []struct {
			Metadata struct {
				Name        string
				Annotations map[string]string
			}
			Spec struct {
				Unschedulable bool
				Taints        []struct{ Key string }
			}
			Status struct {
				Conditions []struct{ Type, Status string }
			}
		}
	}
	if err := l.API().Try(http.MethodGet, "/api/v1/nodes", nil, &nodes); err != nil {
		return err
	}
	for _, n := range nodes.Items {
		notes := map[string]any{}
		for key := range n.Metadata.Annotations {
			if strings.HasPrefix(key, "lightsout.dev/") {
				notes[key] = nil
			}
		}
		if len(notes) > 0 || n.Spec.Unschedulable {
			return errors.Join(fmt.Errorf("%s is cordoned or annotated", n.Metadata.Name), l.API().Try(http.MethodPatch, "/api/v1/nodes/"+n.Metadata.Name,
				map[string]any{"metadata": map[string]any{"annotations": notes}, "spec": map[string]any{"unschedulable": nil}}, nil))
		}
		for _, taint := range n.Spec.Taints {
			if strings.HasPrefix(taint.Key, "node.kubernetes.io/") {
				return fmt.Errorf("%s is tainted: %s", n.Metadata.Name, taint.Key)
			}
		}
		for _, c := range n.Status.Conditions {
			if c.Type == "Ready" && c.Status != "True" {
				return fmt.Errorf("%s is not Ready", n.Metadata.Name)
			}
		}
	}
	return errors.Join(l.unfinished(), l.deleting())
}

// unfinished names a deployment that lacks pods.
func (l *Lab) unfinished() error {
	var all struct {
		Items []struct {
			Metadata struct {
				Name       string
				Generation int
			}
			Spec   struct{ Replicas int }
			Status struct{ ObservedGeneration, UpdatedReplicas, AvailableReplicas, Replicas int }
		}
	}
	err := l.API().Try(http.MethodGet, "/apis/apps/v1/deployments", nil, &all)
	for _, d := range all.Items {
		s := d.Status
		if s.ObservedGeneration != d.Metadata.Generation || s.UpdatedReplicas != d.Spec.Replicas || s.AvailableReplicas != d.Spec.Replicas || s.Replicas != d.Spec.Replicas {
			return fmt.Errorf("deployment %s is %+v", d.Metadata.Name, s)
		}
	}
	return err
}

// deleting names a pod that is about to go.
func (l *Lab) deleting() error {
	var pods struct {
		Items []struct {
			Metadata struct{ Name, DeletionTimestamp string }
		}
	}
	err := l.API().Try(http.MethodGet, "/api/v1/pods", nil, &pods)
	for _, p := range pods.Items {
		if p.Metadata.DeletionTimestamp != "" {
			return fmt.Errorf("pod %s is being deleted", p.Metadata.Name)
		}
	}
	return err
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

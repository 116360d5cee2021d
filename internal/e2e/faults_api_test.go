//go:build linux

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"lightsout/internal/labtest"
	"lightsout/internal/record"
	"lightsout/internal/testenv"
)

// scene is a program that watches a namespace of its own of the lab, through a
// front of its own.
type scene struct {
	*glass
	api     *labtest.API
	name    string // of the namespace
	front   *front // before the API server
	door    *door  // or before the bastion, whose address this is:
	bastion string
}

// openScene waits until all is shown: a deployment that wants 1 pod.
func openScene(t *testing.T, l *labtest.Lab, name string) *scene {
	t.Helper()
	s := newScene(t, l, name)
	s.front = newFront(t, s.api)
	config := write(t, "lightsout.yaml", "namespaces: ["+name+"]\n")
	s.open("--config", config, "--kubeconfig", s.front.kubeconfig())
	return s
}

// open starts the program and waits until it shows everything.
func (s *scene) open(args ...string) {
	s.t.Helper()
	s.glass = openGlass(s.t, args...)
	s.sees("the cluster", isLive, s.probe(1), `probe-\S+ +no node`)
}

// newScene makes the namespace.
func newScene(t *testing.T, l *labtest.Lab, name string) *scene {
	t.Helper()
	s := &scene{glass: &glass{t: t}, api: l.API(), name: name}
	s.api.Do("POST", "/api/v1/namespaces", map[string]any{"metadata": map[string]any{"name": name}}, nil)
	labels := map[string]string{"app": "probe"}
	s.api.Do("POST", "/apis/apps/v1/namespaces/"+name+"/deployments", map[string]any{
		"metadata": map[string]any{"name": "probe"},
		"spec": map[string]any{
			"replicas": 1, "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				// Nowhere to go: it costs the lab nothing.
				"spec": map[string]any{"nodeSelector": labels, "containers": []any{map[string]string{"name": "main", "image": "none"}}},
			},
		},
	}, nil)
	return s
}

const (
	isLive  = `● live`
	isStale = `STALE`
)

// probe matches the deployment when so many pods are wanted.
func (s *scene) probe(n int) string { return fmt.Sprintf(`probe\s.*\b0/%d\b`, n) }

// scale changes the cluster behind the program's back. A server that was stopped
// for long reads before it writes again: it is asked until it does.
func (s *scene) scale(n int) {
	s.t.Helper()
	s.until("the server takes a change", func() bool {
		return nil == s.api.Try("PATCH", "/apis/apps/v1/namespaces/"+s.name+"/deployments/probe", map[string]any{"spec": map[string]any{"replicas": n}}, nil)
	})
}

// wayFaults are those of the API server and of the bastion before it.
var wayFaults = []struct {
	name       string
	bastion    bool // there is one
	make, mend func(s *scene)
	says       string // what is on the screen while it lasts
}{
	{"killed", false, func(s *scene) { s.front.stop() }, func(s *scene) { s.front.start(s.front.cert) }, `STALE \d.*refuses connections`},
	{"its certificate changed", false,
		func(s *scene) { s.front.stop(); s.front.start(newCertificate(s.t)) },
		func(s *scene) { s.front.stop(); s.front.start(s.front.cert) }, `STALE \d.*certificate`},
	{"the bastion's connection frozen", true, func(s *scene) { s.door.freeze() }, func(s *scene) { s.door.thaw() }, `STALE \d.*(answer|time)`},
	{"the bastion's host key changed", true, func(s *scene) { s.door.lead(stranger(s.t)) }, func(s *scene) { s.door.lead(s.bastion) }, `STALE \d.*key`},
}

// TestFaults has the real program on a terminal and behind an API server, and
// something of that misbehaves: the screen says so, or is right; afterwards it is
// right, nothing has leaked, and the record is whole.
func TestFaults(t *testing.T) {
	testenv.Long(t, 60)
	t.Parallel()
	l := labtest.Start(t, "mdx")
	atRest := openScene(t, l, "fault-none").autopsy()
	t.Run("the API server and etcd stopped and killed", func(t *testing.T) {
		s := openSceneBehind(t, l, "fault-real")
		s.survives(atRest, func(s *scene) { stoppedForReal(t, l, s) })
	})
	t.Run("SIGTSTP, a shell, and fg", func(t *testing.T) { suspended(t, l) })
	for i, f := range wayFaults {
		t.Run(f.name, func(t *testing.T) {
			open := openScene
			if f.bastion {
				open = openSceneBehind
			}
			s := open(t, l, fmt.Sprintf("fault-way-%d", i))
			s.survives(atRest, func(s *scene) {
				f.make(s)
				s.scale(2)
				s.sees("that it is not live", f.says)
				if v := s.screen(); strings.Contains(v, isLive) {
					t.Errorf("it says live:\n%s", v)
				}
				f.mend(s)
			})
			s.checkTold(true)
		})
	}
	for i, f := range programFaults {
		t.Run(f.name, func(t *testing.T) {
			s := openScene(t, l, fmt.Sprintf("fault-program-%d", i))
			s.survives(atRest, f.make)
			s.checkTold(false)
		})
	}
	for i, f := range ends {
		t.Run(f.name, func(t *testing.T) {
			s := openScene(t, l, fmt.Sprintf("fault-end-%d", i))
			f.make(s)
			s.endsInOrder()
		})
	}
}

// checkTold: the record has what changed meanwhile, and the loss and the return if
// the server was lost.
func (s *scene) checkTold(lost bool) {
	s.t.Helper()
	events := s.read(record.EventsFile)
	if !strings.Contains(events, "0/3") {
		s.t.Errorf("the record lacks the change:\n%s", events)
	}
	at := 0
	for _, want := range []string{`"answers"`, "does not answer", `"answers"`} {
		if !lost {
			break
		}
		i := strings.Index(events[at:], want)
		if i < 0 {
			s.t.Errorf("the record lacks %s", want)
			return
		}
		at += i + 1
	}
}

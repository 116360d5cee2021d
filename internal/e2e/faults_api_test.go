package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lightsout/internal/labtest"
	"lightsout/internal/record"
	"lightsout/internal/testenv"
)

// scene is a program that watches a namespace of its own of the lab, through a
// front of its own.
type scene struct {
	*glass
	api   *labtest.API
	front *front
	name  string // of the namespace
}

// openScene waits until all is shown: a deployment that wants 1 pod.
func openScene(t *testing.T, l *labtest.Lab, name string, more ...string) *scene {
	t.Helper()
	s := &scene{api: l.API(), name: name}
	s.front = newFront(t, s.api)
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
	config := write(t, "lightsout.yaml", "namespaces: ["+name+"]\n")
	s.glass = openGlass(t, append([]string{"--config", config, "--kubeconfig", s.front.kubeconfig()}, more...)...)
	s.sees("the cluster", isLive, s.probe(1), `probe-\S+ no node`)
	return s
}

const (
	isLive  = `● live`
	isStale = `STALE`
)

// probe matches the deployment when so many pods are wanted.
func (s *scene) probe(n int) string { return fmt.Sprintf(`probe\s.*\b0/%d\b`, n) }

// scale changes the cluster behind the program's back.
func (s *scene) scale(n int) {
	s.t.Helper()
	s.api.Do("PATCH", "/apis/apps/v1/namespaces/"+s.name+"/deployments/probe", map[string]any{"spec": map[string]any{"replicas": n}}, nil)
}

// apiFaults are the faults of an API server that a front can have.
var apiFaults = []struct {
	name       string
	make, mend func(s *scene)
	says       string // what is on the screen while it lasts; empty: it is live, and what is shown is right
}{
	{"killed", func(s *scene) { s.front.stop() }, func(s *scene) { s.front.start(s.front.cert) }, `STALE \d.*refuses connections`},
	{"slow (2 s an answer)", func(s *scene) { s.front.behave(slowly(2 * time.Second)) }, nil, ""},
	{"429 with Retry-After", func(s *scene) { s.front.behave(answers(429, "TooManyRequests", "2")) }, nil, `STALE \d.*\(429\)`},
	{"500", func(s *scene) { s.front.behave(answers(500, "InternalError", "")) }, nil, `STALE \d.*not ready`},
	{"500 on every watch", func(s *scene) { s.front.behave(onWatches(answers(500, "InternalError", ""))) }, nil, `! in part(?s:.*)STALE \w+s and \d more \d+s .*\(500 `},
	{"410 on every watch", func(s *scene) { s.front.behave(onWatches(answers(410, "Expired", ""))) }, nil, `! in part(?s:.*)STALE \w+s and \d more \d+s .*history`},
	{"its watch cut each second", func(s *scene) { s.front.behave(onWatches(s.front.forASecond)) }, nil, ""},
	{"its certificate changed",
		func(s *scene) { s.front.stop(); s.front.start(newCertificate(s.t)) },
		func(s *scene) { s.front.stop(); s.front.start(s.front.cert) }, `STALE \d.*certificate`},
	{"no file descriptors left",
		func(s *scene) { s.limit(unix.RLIMIT_NOFILE, 0); s.front.cut() },
		func(s *scene) { s.limit(unix.RLIMIT_NOFILE, unix.RLIM_INFINITY) }, `STALE \d.*too many open files`},
}

// TestFaults has the real program on a terminal and behind an API server, and
// something of that misbehaves: the screen says so, or is right; afterwards it is
// right, nothing has leaked, and the record is whole.
func TestFaults(t *testing.T) {
	testenv.Long(t, 60)
	t.Parallel()
	l := labtest.Start(t, "mdx")
	atRest := openScene(t, l, "fault-none").autopsy()
	for i, f := range apiFaults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := openScene(t, l, fmt.Sprintf("fault-api-%d", i))
			s.survives(atRest, func(s *scene) {
				f.make(s)
				s.scale(2)
				if f.says == "" {
					s.sees("the change, while it lasts", isLive, s.probe(2))
				} else {
					s.sees("that it is not live", f.says)
					if v := s.screen(); strings.Contains(v, isLive) {
						t.Errorf("it says live:\n%s", v)
					}
				}
				if f.mend != nil {
					f.mend(s)
				}
				s.front.behave(nil)
			})
			s.checkTold(strings.HasPrefix(f.says, isStale))
		})
	}
	for i, f := range programFaults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := openScene(t, l, fmt.Sprintf("fault-program-%d", i))
			s.survives(atRest, f.make)
			s.checkTold(false)
		})
	}
	for i, f := range ends {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
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

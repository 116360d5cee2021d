//go:build linux

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
	api     *labtest.API
	name    string // of the namespace
	front   *front // before the API server
	door    *door  // or before the bastion, whose address this is:
	bastion string
}

// openScene waits until all is shown: a deployment that wants 1 pod.
func openScene(t *testing.T, l *labtest.Lab, name string, prepare func(*glass)) *scene {
	t.Helper()
	s := newScene(t, l, name)
	s.front = newFront(t, s.api)
	config := write(t, "lightsout.yaml", "namespaces: ["+name+"]\n")
	s.open(prepare, "--config", config, "--kubeconfig", s.front.kubeconfig())
	return s
}

// open starts the program and waits until it shows everything.
func (s *scene) open(prepare func(*glass), args ...string) {
	s.t.Helper()
	s.glass = openGlass(s.t, prepare, args...)
	s.sees("the cluster", isLive, s.probe(1), `probe-\S+ no node`)
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
	says       string // what is on the screen while it lasts; empty: it is live, and what is shown is right
}{
	{"killed", false, func(s *scene) { s.front.stop() }, func(s *scene) { s.front.start(s.front.cert) }, `STALE \d.*refuses connections`},
	{"slow (2 s an answer)", false, func(s *scene) { s.front.behave(slowly(2 * time.Second)) }, nil, ""},
	{"429 with Retry-After", false, func(s *scene) { s.front.behave(answers(429, "TooManyRequests", "2")) }, nil, `STALE \d.*\(429\)`},
	{"500", false, func(s *scene) { s.front.behave(answers(500, "InternalError", "")) }, nil, `STALE \d.*not ready`},
	{"500 on every watch", false, func(s *scene) { s.front.behave(onWatches(answers(500, "InternalError", ""))) }, nil, `! in part(?s:.*)STALE \w+s and \d more \d+s .*\(500 `},
	{"410 on every watch", false, func(s *scene) { s.front.behave(onWatches(answers(410, "Expired", ""))) }, nil, `! in part(?s:.*)STALE \w+s and \d more \d+s .*history`},
	{"its watch cut each second", false, func(s *scene) {
		s.front.behave(onWatches(s.front.forASecond))
		time.Sleep(5 * time.Second) // some cuts: this is the fault, not a wait
	}, nil, ""},
	{"its certificate changed", false,
		func(s *scene) { s.front.stop(); s.front.start(newCertificate(s.t)) },
		func(s *scene) { s.front.stop(); s.front.start(s.front.cert) }, `STALE \d.*certificate`},
	{"no file descriptors left", false,
		func(s *scene) { s.limit(unix.RLIMIT_NOFILE, 0); s.front.cut() },
		func(s *scene) { s.limit(unix.RLIMIT_NOFILE, unix.RLIM_INFINITY) }, `STALE \d.*too many open files`},
	{"the bastion gone", true, func(s *scene) { s.door.shut() }, func(s *scene) { s.door.open() }, `STALE \d.*refuse`},
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
	atRest := openScene(t, l, "fault-none", nil).autopsy()
	t.Run("the API server and etcd stopped and killed", func(t *testing.T) {
		s := openSceneBehind(t, l, "fault-real", nil)
		s.survives(atRest, func(s *scene) { stoppedForReal(t, l, s) })
	})
	t.Run("the API server's clock 5 minutes off", func(t *testing.T) {
		s := openSceneBehind(t, l, "fault-clock", nil)
		s.survives(atRest, func(s *scene) { serversClockOff(t, l, s) })
	})
	t.Run("5 lightsouts on one cluster", func(t *testing.T) { t.Parallel(); fiveAtOnce(t, l) })
	t.Run("SIGTSTP, a shell, and fg", func(t *testing.T) { t.Parallel(); suspended(t, l) })
	t.Run("name service gone", func(t *testing.T) { t.Parallel(); nameServiceGone(t, l, atRest) })
	t.Run("the disk read-only", func(t *testing.T) { t.Parallel(); readOnlyDisk(t, l) })
	t.Run("the disk slow (1 s a sync)", func(t *testing.T) { t.Parallel(); slowDisk(t, l, atRest) })
	for i, f := range wayFaults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			open := openScene
			if f.bastion {
				open = openSceneBehind
			}
			s := open(t, l, fmt.Sprintf("fault-way-%d", i), nil)
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
				if s.front != nil {
					s.front.behave(nil)
				}
			})
			s.checkTold(strings.HasPrefix(f.says, isStale))
		})
	}
	for i, f := range programFaults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := openScene(t, l, fmt.Sprintf("fault-program-%d", i), f.prepare)
			s.survives(atRest, f.make)
			s.checkTold(false)
		})
	}
	for i, f := range ends {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := openScene(t, l, fmt.Sprintf("fault-end-%d", i), nil)
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

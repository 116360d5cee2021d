package phase

import (
	"context"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"lightsout/cluster"
	"lightsout/internal/labtest"
	"lightsout/internal/testenv"
	"lightsout/internal/view"
	"lightsout/power"
)

// lab is a running lab, watched through its bastion.
type lab struct {
	*testing.T
	*labtest.Lab
	*Tracker
	watcher *cluster.Watcher
}

// openLab starts a lab and watches it.
func openLab(t *testing.T, scenario string) *lab {
	t.Helper()
	l := &lab{T: t, Lab: labtest.Start(t, scenario)}
	access, err := cluster.LoadConfig(cluster.Options{Path: l.Kubeconfig(), Dial: l.Dial()})
	if err != nil {
		l.Fatal(err)
	}
	api, err := cluster.NewClient(access)
	if err != nil {
		l.Fatal(err)
	}
	l.watcher = cluster.NewWatcher(api, cluster.WatchOptions{Namespaces: []string{"default"}})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = l.watcher.Run(ctx) }()
	l.Cleanup(func() { cancel(); <-done })
	return l
}

// until tells the Tracker what happens until ok.
func (l *lab) until(what string, ok func(*cluster.Snapshot) bool) {
	l.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	for time.Now().Before(deadline) {
		s := l.watcher.Snapshot()
		l.Observe(s, time.Now())
		if ok(s) {
			return
		}
		select {
		case <-l.watcher.Changed():
		case <-time.After(200 * time.Millisecond):
		}
	}
	s := l.watcher.Snapshot()
	l.Fatalf("not seen: %s (%+v, %+v)\n%s", what, s.Link, s.Settings, table(l.Table()))
}

func table(rows []view.Phase) string {
	out, err := yaml.Marshal(rows)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// A real control plane does what was forecast: plugs are pulled, and nothing of
// what follows is of our making.
func TestARealControlPlaneKeepsToTheForecast(t *testing.T) {
	testenv.Long(t, 70)
	t.Run("no room elsewhere", func(t *testing.T) {
		t.Parallel()
		l := openLab(t, "mdx")
		l.outage(cluster.Key{Namespace: "default", Name: "llm-jp-31-13b-00001-deployment"}, view.PhaseEvicted, n3, n4)
		for _, p := range l.Table() {
			if p.Name == view.PhaseReplaced && (p.Observed != nil || p.Predicted != nil || p.Note != "no room for 8 pods: Pending until the nodes return") {
				t.Errorf("replaced: %+v", p)
			}
		}
	})
	t.Run("room elsewhere", func(t *testing.T) {
		t.Parallel()
		l := openLab(t, "vagrant")
		l.outage(cluster.Key{Namespace: "default", Name: "nginx-webserver"}, view.PhaseReplaced, "k8s2")
		for _, p := range l.Table() {
			if p.Name == view.PhaseReplaced && (p.Inside == nil || !*p.Inside) {
				t.Errorf("replaced: %s", table([]view.Phase{p}))
			}
		}
	})
}

// outage pulls the plugs of nodes, waits for the last of what is to happen, puts
// them in again, and compares everything with its forecast.
func (l *lab) outage(dep cluster.Key, last string, down ...string) {
	l.Helper()
	l.Tracker = NewTracker(dep)
	l.until("everything, with the kubelets' configuration", func(s *cluster.Snapshot) bool {
		d := s.Deployment(dep)
		if len(s.Nodes()) == 0 || d == nil || d.Available < d.Replicas || len(s.PodsOf(dep)) < d.Replicas {
			return false
		}
		for _, n := range s.Nodes() {
			if n.Kubelet == nil || n.RenewSeen.IsZero() {
				return false
			}
		}
		return s.Node(down[0]).ReadyEndpoints > 0
	})
	s := l.watcher.Snapshot()
	if got := s.Settings.LeaseDuration; got != (cluster.Setting[time.Duration]{Value: 4 * time.Second, Source: cluster.KubeletConfigz}) {
		l.Errorf("the leases' duration is %+v", got)
	}
	l.Zero(time.Now(), s)
	for _, n := range down {
		l.Switched(n, power.ActionOff, time.Now())
		l.Post("/machines/" + n + "/off")
	}
	seen := func(name string, subjects ...string) func(*cluster.Snapshot) bool {
		return func(*cluster.Snapshot) bool {
			for _, s := range subjects {
				if _, ok := l.Observed(name, s); !ok {
					return false
				}
			}
			return true
		}
	}
	l.until("eviction", seen(view.PhaseEvicted, down...))
	if last == view.PhaseReplaced {
		l.until(last, seen(last, dep.String()))
	}
	for _, n := range down {
		l.Switched(n, power.ActionOn, time.Now())
		l.Post("/machines/" + n + "/on")
	}
	l.until("capacity restored", seen(view.PhaseRestored, dep.String()))
	l.Log("\n" + table(l.Table()))
	for _, p := range l.Table() {
		switch p.Name {
		case view.PhaseOff, view.PhaseErrors, view.PhaseReplaced: // nobody looks at machines or sends requests here
		case view.PhaseBooted:
			if p.Observed == nil {
				l.Errorf("%s has not booted", p.Subject)
			}
		default:
			if p.Inside == nil || !*p.Inside {
				l.Errorf("not where it was forecast:\n%s", table([]view.Phase{p}))
			}
		}
	}
}

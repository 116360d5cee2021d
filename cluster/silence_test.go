package cluster

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lightsout/internal/testenv"
)

// TestARenewalMakesNoSnapshot: ages and silence stay true all the same.
func TestARenewalMakesNoSnapshot(t *testing.T) {
	t.Parallel()
	w := &Watcher{client: &Client{cfg: &Config{}, traffic: newTraffic()}, changed: make(chan struct{}, 1), kubelets: newKubelets()}
	s := newState(w)
	s.link.State, s.heartbeatsFrom = LinkLive, t0
	w.client.traffic.complete.set(time.Now())
	(&Node{Name: "a", UID: "a", Ready: TriTrue}).put(s, t0, true)
	(&lease{node: "a", renewed: t0, duration: 40 * time.Second}).put(s, t0.Add(3*time.Second), true)
	s.publish(t0)
	old := w.Snapshot()
	for i := 1; i <= 6; i++ {
		at := t0.Add(time.Duration(10*i) * time.Second)
		(&lease{node: "a", renewed: at, duration: 40 * time.Second}).put(s, at, true)
		s.checkHeartbeats(at)
	}
	if s.dirty {
		t.Error("renewals that change no word make a Snapshot")
	}
	n := old.Node("a")
	if _, seen := n.Heartbeat(); !seen.Equal(t0.Add(time.Minute)) {
		t.Errorf("the heartbeat is of %v", seen.Sub(t0))
	}
	if since, silent := old.Silent(n, t0.Add(65*time.Second)); silent || since != 5*time.Second {
		t.Errorf("silent %v for %v", silent, since)
	}
	if _, silent := old.Silent(n, t0.Add(80*time.Second)); !silent {
		t.Error("silence is not concluded from an old Snapshot")
	}
}

// TestOnlyALiveRenewalIsReceived: a listed one has the time of the node's clock, whatever
// that is set to, and one that arrives as the watch begins may be old.
func TestOnlyALiveRenewalIsReceived(t *testing.T) {
	t.Parallel()
	w := &Watcher{client: &Client{cfg: &Config{}, traffic: newTraffic()}, changed: make(chan struct{}, 1), kubelets: newKubelets()}
	s := newState(w)
	s.link.State, s.heartbeatsFrom = LinkLive, t0
	(&Node{Name: "a", UID: "a", Ready: TriTrue}).put(s, t0, true)
	for i, step := range []struct {
		renewed, seen time.Duration
		listed, want  bool
	}{
		{time.Hour, 0, true, false},
		{time.Hour + time.Second, time.Second, false, false},
		{time.Hour + 11*time.Second, 11 * time.Second, false, true},
		{time.Hour + 21*time.Second, 30 * time.Second, true, true},
	} {
		l := &lease{node: "a", renewed: t0.Add(step.renewed), duration: 40 * time.Second}
		s.setLease(l, t0.Add(step.seen), step.listed)
		if got := s.node("a").HeartbeatReceived(); got != step.want {
			t.Errorf("step %d: received %v", i, got)
		}
	}
	if _, seen := s.node("a").Heartbeat(); !seen.Equal(t0.Add(21 * time.Second)) {
		t.Errorf("the last one is of %v", seen.Sub(t0))
	}
}

// A program that stood still while the node died finds the node's last renewal in the connection
// when it goes on. The node's clock is an hour ahead.
func TestARenewalThatWaitedIsNoNews(t *testing.T) {
	t.Parallel()
	s := newState(&Watcher{client: &Client{cfg: &Config{}, traffic: newTraffic()}, changed: make(chan struct{}, 1), kubelets: newKubelets()})
	now := time.Now()
	at := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
	s.link.State, s.heartbeatsFrom = LinkLive, at(-60)
	(&Node{Name: "a", UID: "a", Ready: TriTrue}).put(s, now, true)
	for _, x := range []struct{ renewed, arrived, sent int }{{0, 0, 0}, {10, 10, 10}, {20, 40, 20}, {50, 50, 50}} {
		if x.arrived == 40 {
			s.sight.Look(NewSnapshot(Contents{}), at(11))
			s.sight.Look(NewSnapshot(Contents{}), at(40))
		}
		s.setLease(&lease{node: "a", renewed: at(x.renewed + 3600), duration: 40 * time.Second}, at(x.arrived), false)
		if _, sent := s.node("a").Heartbeat(); !sent.Equal(at(x.sent)) {
			t.Errorf("renewed at %d, arrived at %d: sent at %v", x.renewed, x.arrived, sent.Sub(now))
		}
	}
	if !s.node("a").HeartbeatLate(at(67)) || s.node("a").HeartbeatLate(at(65)) {
		t.Error("it is late after 16 s")
	}
}

// A heartbeat that is old when the API server first answers may have found no API server: its node is silent
// only if none comes for as long as one may take.
func TestHeartbeatsFindNoAPIServerBeforeItsFirstAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before LinkState
		want   bool
	}{"no answer before": {LinkDisconnected, false}, "an answer at once": {LinkConnecting, true}} {
		s := newState(&Watcher{client: &Client{cfg: &Config{}, traffic: newTraffic()}, changed: make(chan struct{}, 1), kubelets: newKubelets()})
		s.linked(Link{State: c.before}, "")
		s.linked(Link{State: LinkLive}, "")
		now := time.Now()
		s.heartbeatsWatched(now)
		(&Node{Name: "a", UID: "a", Ready: TriTrue}).put(s, now, true)
		s.setLease(&lease{node: "a", renewed: now.Add(-time.Minute), duration: 40 * time.Second}, now, true)
		if got := s.node("a").Overdue; got != c.want {
			t.Errorf("%s: silent at once %v", name, got)
		}
		for _, after := range []time.Duration{15 * time.Second, 17 * time.Second} {
			s.w.client.traffic.complete.set(now.Add(after))
			s.nextCheck = now
			s.checkHeartbeats(now.Add(after))
			if got := s.node("a").Overdue; got != (c.want || after > 16*time.Second) {
				t.Errorf("%s: silent after %v: %v", name, after, got)
			}
		}
	}
}

func TestALeaseThatWasNeverRenewedIsNoHeartbeat(t *testing.T) {
	t.Parallel()
	w := &Watcher{client: &Client{cfg: &Config{}, traffic: newTraffic()}, changed: make(chan struct{}, 1), kubelets: newKubelets()}
	w.client.traffic.complete.set(t0.Add(time.Minute))
	ahead := time.Hour // the server's clock
	w.client.traffic.beyond.Store(&ahead)
	s := newState(w)
	s.link.State, s.heartbeatsFrom = LinkLive, t0
	(&Node{Name: "a", UID: "a", Ready: TriTrue}).put(s, t0, true)
	s.setLease(&lease{node: "a", duration: 40 * time.Second}, t0, true)
	s.nextCheck = t0
	s.checkHeartbeats(t0.Add(time.Minute))
	if n := s.node("a"); n.Overdue {
		t.Error("its node is silent")
	}
}

func TestDataOfAnEndedWatchGrowsOld(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	fill16(f)
	f.forbidden["leases"] = true
	w := watchFake(t, f)
	s := w.until("everything", synced)
	now := time.Now()
	if age, known := s.Age(KindNode, now); !known || age > 8*time.Second {
		t.Errorf("watched nodes are %v old, known %v", age, known)
	}
	if _, known := s.Age(KindLease, now); known {
		t.Error("leases that were never read have an age")
	}
	f.change(func() { f.forbidden["nodes"] = true; f.drops++ })
	s = w.until("nodes are forbidden", func(s *Snapshot) bool { return s.Access[KindNode].Forbidden })
	until := s.Access[KindNode].Until
	// The server goes on answering everything else.
	w.until("later contact", func(*Snapshot) bool { return w.Snapshot().Contact().After(until) })
	s = w.Snapshot()
	// Two clocks differ by nanoseconds, and the larger one counts.
	if age, known := s.Age(KindNode, until.Add(time.Hour)); !known || age.Round(time.Millisecond) != time.Hour {
		t.Errorf("nodes are %v old an hour later, known %v", age, known)
	}
	if age, _ := s.Age(KindPod, s.Contact().Add(time.Second)); age.Round(time.Millisecond) != time.Second {
		t.Errorf("watched pods are %v old", age)
	}
	f.change(func() { f.forbidden["nodes"] = false })
	if s.Link.State != LinkLive {
		t.Errorf("link %+v", s.Link)
	}
}

// TestACredentialPluginThatHangsIsNotLive: its first word expires, its second
// never comes.
func TestACredentialPluginThatHangsIsNotLive(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	fill16(f)
	dir := t.TempDir()
	plugin := filepath.Join(dir, "plugin")
	script := fmt.Sprintf(`#!/bin/sh
if [ -e %[1]s/asked ]; then
	while [ -e %[1]s/asked ]; do sleep 0.1; done # the folder goes with the test
	exit 1
fi
: > %[1]s/asked
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t","expirationTimestamp":"%[2]s"}}'
`, dir, time.Now().Add(4*time.Second).UTC().Format(time.RFC3339))
	testenv.Script(t, plugin, script)
	path := f.kubeconfig()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	exec := fmt.Sprintf("{exec: {apiVersion: client.authentication.k8s.io/v1, command: %s, interactiveMode: Never}}", plugin)
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), "{token: secret-token-value}", exec, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := LoadConfig(Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	w := watchConfig(t, cfg)
	w.until("everything", synced)
	s := w.until("lost", func(s *Snapshot) bool { return s.Link.State == LinkDisconnected })
	if !strings.Contains(s.Link.Err, "credential plugin does not answer") || len(s.Nodes()) != 4 {
		t.Errorf("link %+v, %d nodes", s.Link, len(s.Nodes()))
	}
	if age := s.At.Sub(s.Link.LastContact); age > 10*time.Second {
		t.Errorf("live for %v without a word", age)
	}
}

func TestAClustersIdentityNeedsNoAnswer(t *testing.T) {
	t.Parallel()
	var cfg *Config
	c := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/namespaces/kube-system" {
			t.Errorf("asked %s", r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"1-2-3"}}`)
	}))
	cfg = c.cfg
	guess := cfg.Identity()
	known, err := c.Identity(context.Background())
	if err != nil || known != (Identity{UID: "1-2-3", CA: guess.CA, Server: guess.Server}) || guess.UID != "" || guess.CA == "" {
		t.Errorf("%+v, %+v", known, guess)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if id, err := c.Identity(ctx); err == nil || id != guess {
		t.Errorf("without an answer: %+v, %v", id, err)
	}
	f := newFakeAPI(t)
	a, err := LoadConfig(Options{Path: f.kubeconfig()})
	if err != nil {
		t.Fatal(err)
	}
	b := *a
	b.Server = "https://elsewhere:6443"
	if one, other := a.Identity(), b.Identity(); one.CA != other.CA || one.Server == other.Server || one.CA == guess.CA {
		t.Errorf("one authority behind two addresses: %+v, %+v", one, other)
	}
}

func TestANodeThatRunsTheControlPlaneIsOfIt(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	fill16(f)
	f.put("components", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "etcd-1", Namespace: "kube-system"},
		Spec: corev1.PodSpec{NodeName: "kube-node2", Containers: []corev1.Container{{Name: "etcd"}}}})
	w := watchFake(t, f, "default")
	s := w.until("everything and etcd", func(s *Snapshot) bool { return synced(s) && s.Node("kube-node2").ControlPlane })
	if s.Node("kube-node1").ControlPlane {
		t.Errorf("%+v", s.Node("kube-node1"))
	}
}

func TestAChangeOfADeploymentHasItsNumber(t *testing.T) {
	t.Parallel()
	var all []Transition
	w := &Watcher{client: &Client{cfg: &Config{}, traffic: newTraffic()}, changed: make(chan struct{}, 1), kubelets: newKubelets()}
	w.opts.Sink = func(x Transition) { all = append(all, x) }
	s := newState(w)
	(&Deployment{Key: Key{"d", "web"}, Replicas: 16, Available: 16}).put(s, t0, true)
	(&Deployment{Key: Key{"d", "web"}, Replicas: 16, Available: 12}).put(s, t0, false)
	if len(all) != 1 || all[0].Change != ChangeReplicas || all[0].To != "12/16" || all[0].Available != 12 {
		t.Errorf("%+v", all)
	}
}

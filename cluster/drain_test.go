package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// drainAPI is an API server with one node and its pods.
type drainAPI struct {
	mu            sync.Mutex
	unschedulable bool
	version       int
	pods          []map[string]any
	patches       int
	evictions     []string
	lists         []string // the version that each list of pods was asked for at
	// refuse answers in place of what was asked for when it gives a Status.
	refuse func(method, path string) *metav1.Status
	// onPatch is called with a patch before it is looked at.
	onPatch func()
}

func (a *drainAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	answer := func(code int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(v)
	}
	if a.refuse != nil {
		if s := a.refuse(r.Method, r.URL.Path); s != nil {
			answer(int(s.Code), s)
			return
		}
	}
	node := func() map[string]any {
		return map[string]any{"kind": "Node", "apiVersion": "v1",
			"metadata": map[string]any{"name": "n3", "resourceVersion": string(rune('0' + a.version))},
			"spec":     map[string]any{"unschedulable": a.unschedulable}}
	}
	switch {
	case r.URL.Path == "/api/v1/nodes/n3" && r.Method == http.MethodGet:
		answer(200, node())
	case r.URL.Path == "/api/v1/nodes/n3":
		a.patches++
		if a.onPatch != nil {
			a.onPatch()
			a.onPatch = nil
		}
		var p struct {
			Metadata struct{ ResourceVersion string }
			Spec     struct{ Unschedulable bool }
		}
		_ = json.Unmarshal(body, &p)
		if p.Metadata.ResourceVersion != string(rune('0'+a.version)) {
			answer(409, status(409, metav1.StatusReasonConflict, "the object has been modified"))
			return
		}
		a.unschedulable = p.Spec.Unschedulable
		a.version++
		answer(200, node())
	case r.URL.Path == "/api/v1/pods" && strings.Contains(r.URL.RawQuery, "spec.nodeName"):
		a.lists = append(a.lists, r.URL.Query().Get("resourceVersion"))
		answer(200, map[string]any{"kind": "PodList", "apiVersion": "v1", "metadata": map[string]any{}, "items": a.pods})
	case strings.HasSuffix(r.URL.Path, "/eviction"):
		name := strings.Split(r.URL.Path, "/")[6]
		a.evictions = append(a.evictions, name)
		a.pods = slices.DeleteFunc(a.pods, func(p map[string]any) bool { return p["metadata"].(map[string]any)["name"] == name })
		answer(201, status(201, "", ""))
	default:
		answer(404, status(404, metav1.StatusReasonNotFound, "not found"))
	}
}

func (a *drainAPI) pod(name, ownerKind string, annotations map[string]string) {
	meta := map[string]any{"name": name, "namespace": "default", "uid": "uid-" + name, "annotations": annotations}
	if ownerKind != "" {
		meta["ownerReferences"] = []any{map[string]any{"kind": ownerKind, "name": "owner", "uid": "o", "apiVersion": "apps/v1", "controller": true}}
	}
	a.pods = append(a.pods, map[string]any{"metadata": meta, "spec": map[string]any{"nodeName": "n3"}})
}

// agreed is asked before a cordon, and lets it go on.
func agreed() error { return nil }

func TestOnlyWhatWasNotCordonedIsCordoned(t *testing.T) {
	ctx := context.Background()
	t.Run("and written down before", func(t *testing.T) {
		a := &drainAPI{}
		w := clientOf(t, a)
		before := 0
		for i, want := range []bool{true, false} {
			changed, err := w.Cordon(ctx, "n3", func() error {
				before++
				if a.unschedulable {
					t.Error("it was cordoned before it was written down")
				}
				return nil
			})
			if err != nil || changed != want || before != 1 || !a.unschedulable {
				t.Errorf("time %d: changed %v, %v, written %d times", i+1, changed, err, before)
			}
		}
		if changed, err := w.Uncordon(ctx, "n3"); err != nil || !changed || a.unschedulable {
			t.Errorf("uncordon: %v, %v", changed, err)
		}
		if changed, err := w.Uncordon(ctx, "n3"); err != nil || changed {
			t.Errorf("uncordon again: %v, %v", changed, err)
		}
	})
	t.Run("and not at all when it can't be", func(t *testing.T) {
		a := &drainAPI{}
		full := errors.New("the disk is full")
		if changed, err := clientOf(t, a).Cordon(ctx, "n3", func() error { return full }); changed || !errors.Is(err, full) || a.patches != 0 {
			t.Errorf("%v, %v, %d patches", changed, err, a.patches)
		}
	})
	t.Run("another's cordon is not taken for ours", func(t *testing.T) {
		a := &drainAPI{}
		a.onPatch = func() { a.unschedulable = true; a.version++ }
		if changed, err := clientOf(t, a).Cordon(ctx, "n3", agreed); changed || err != nil {
			t.Errorf("%v, %v", changed, err)
		}
	})
	t.Run("a change of something else is not in the way", func(t *testing.T) {
		a := &drainAPI{}
		a.onPatch = func() { a.version++ }
		if changed, err := clientOf(t, a).Cordon(ctx, "n3", agreed); !changed || err != nil || a.patches != 2 {
			t.Errorf("%v, %v, %d patches", changed, err, a.patches)
		}
	})
	t.Run("what is wrong is one sentence", func(t *testing.T) {
		a := &drainAPI{}
		w := clientOf(t, a)
		if _, err := w.Uncordon(ctx, "n9"); !IsGone(err) || !strings.Contains(err.Error(), "n9 can't be uncordoned") {
			t.Errorf("%v", err)
		}
		a.refuse = func(string, string) *metav1.Status {
			s := status(403, metav1.StatusReasonForbidden, "no")
			return &s
		}
		if _, err := w.Cordon(ctx, "n3", agreed); err == nil || !strings.Contains(err.Error(), "patch on nodes") {
			t.Errorf("%v", err)
		}
	})
}

func TestADrainSaysWhichBudgetHoldsIt(t *testing.T) {
	a := &drainAPI{}
	a.pod("web-1", "ReplicaSet", nil)
	a.pod("web-2", "ReplicaSet", nil)
	a.pod("proxy", "DaemonSet", nil)
	a.pod("static", "Node", map[string]string{"kubernetes.io/config.mirror": "x"})
	a.pod("alone", "", nil)
	var held int
	budget := func(string, path string) *metav1.Status {
		if !strings.Contains(path, "web-2/eviction") || held == 0 {
			return nil
		}
		s := status(429, metav1.StatusReasonTooManyRequests, "Cannot evict pod as it would violate the pod's disruption budget.")
		s.Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: "DisruptionBudget", Message: "The disruption budget web needs 2 healthy pods and has 2 currently"}}}
		held--
		return &s
	}
	a.refuse = budget
	w := clientOf(t, a)

	held = 1 << 30
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	d := newDrain(w, "n3")
	d.pause, d.look = 5*time.Millisecond, 5*time.Millisecond
	var rounds []DrainProgress
	err := d.run(ctx, func(p DrainProgress) {
		if rounds = append(rounds, p); len(rounds) == 3 {
			cancel()
		}
	})
	want := "node n3 is not drained: pod default/web-2 can't be evicted: The disruption budget web needs 2 healthy pods and has 2 currently"
	if err == nil || err.Error() != want || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	last := rounds[len(rounds)-1]
	if last.Gone != 1 || len(last.Held) != 1 || !reflect.DeepEqual(last.Stay, []Key{{Namespace: "default", Name: "proxy"}, {Namespace: "default", Name: "static"}, {Namespace: "default", Name: "alone"}}) {
		t.Errorf("progress %+v", last)
	}

	a.mu.Lock()
	held = 2
	a.mu.Unlock()
	d = newDrain(w, "n3")
	d.pause, d.look = 5*time.Millisecond, 5*time.Millisecond
	if err := d.run(context.Background(), func(DrainProgress) {}); err != nil {
		t.Errorf("when the budget allows it: %v", err)
	}
	if !slices.Equal(a.evictions, []string{"web-1", "web-2"}) {
		t.Errorf("evicted %v", a.evictions)
	}
	if n := len(a.lists); a.lists[n-1] != "" || slices.Index(a.lists, "") != n-1 {
		t.Errorf("all lists but the last are to come from the cache: %q", a.lists)
	}
}

// A drain that the API server forbids names the right that the account lacks.
func TestAForbiddenDrainNamesTheMissingRight(t *testing.T) {
	for suffix, want := range map[string]string{
		"/pods":     "node n3 can't be drained: its pods can't be listed: forbidden; the user needs list on pods",
		"/eviction": "node n3 can't be drained: pod default/web-1 can't be evicted: forbidden; the user needs create on pods/eviction",
	} {
		a := &drainAPI{}
		a.pod("web-1", "ReplicaSet", nil)
		a.refuse = func(_, path string) *metav1.Status {
			if !strings.HasSuffix(path, suffix) {
				return nil
			}
			s := status(403, metav1.StatusReasonForbidden, "no")
			return &s
		}
		if err := clientOf(t, a).Drain(t.Context(), "n3", func(DrainProgress) {}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// refuseTimes has the server answer that many requests to paths with that end by a status. left is
// how many are to come.
func (a *drainAPI) refuseTimes(n int, path string, with metav1.Status) (left *int) {
	a.refuse = func(_, at string) *metav1.Status {
		if !strings.HasSuffix(at, path) || n == 0 {
			return nil
		}
		n--
		return &with
	}
	return &n
}

// drainAll drains n3 with short pauses, and returns the last reason why a pod was held.
func drainAll(t *testing.T, a *drainAPI) (held string, err error) {
	d := newDrain(clientOf(t, a), "n3")
	d.pause, d.look = 5*time.Millisecond, 5*time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err = d.run(ctx, func(p DrainProgress) {
		for _, why := range p.Held {
			held = why
		}
	})
	return held, err
}

// While the API server fails for a moment, a drain waits and goes on.
func TestADrainOutlastsAnAPIServerThatFailsForAMoment(t *testing.T) {
	t.Parallel()
	for what, failure := range map[string]metav1.Status{
		"a failed webhook": status(500, metav1.StatusReasonInternalError, "failed calling webhook"), "a restart": status(503, metav1.StatusReasonServiceUnavailable, "shutting down"),
	} {
		for _, path := range []string{"/eviction", "/api/v1/pods"} {
			a := &drainAPI{unschedulable: true}
			a.pod("web-1", "ReplicaSet", nil)
			left := a.refuseTimes(2, path, failure)
			held, err := drainAll(t, a)
			if err != nil || *left > 0 || len(a.evictions) != 1 {
				t.Errorf("%s, %s: %v; %d failures left, evicted %v", what, path, err, *left, a.evictions)
			}
			if path == "/eviction" && !strings.Contains(held, failure.Message) {
				t.Errorf("%s: held by %q", what, held)
			}
		}
	}
}

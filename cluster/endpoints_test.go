package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// An endpoint counts once, in however many slices it is, and is ready if its pod is.
func TestAnEndpointCountsOnce(t *testing.T) {
	t.Parallel()
	is := func(ready, serving, terminating bool) discoveryv1.EndpointConditions {
		return discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving, Terminating: &terminating}
	}
	pod := func(name, address string, c discoveryv1.EndpointConditions) discoveryv1.Endpoint {
		node := "n"
		return discoveryv1.Endpoint{Addresses: []string{address}, NodeName: &node, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: name, UID: types.UID(name)}, Conditions: c}
	}
	in := func(name string, family discoveryv1.AddressType, e ...discoveryv1.Endpoint) *slice {
		return trimSlice(&discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "d", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}}, AddressType: family, Endpoints: e})
	}
	well, notReady := is(true, true, false), is(false, false, false)
	four := in("4", "IPv4", pod("a", "10.1.0.1", well), pod("b", "10.1.0.2", notReady))
	for name, c := range map[string]struct {
		slices []*slice
		want   Endpoints
		onNode int
	}{
		"two families":                  {[]*slice{four, in("6", "IPv6", pod("a", "fd00::1", well), pod("b", "fd00::2", notReady))}, Endpoints{Ready: 1, Total: 2}, 1},
		"one family is behind":          {[]*slice{four, in("6", "IPv6", pod("c", "fd00::3", well))}, Endpoints{Ready: 2, Total: 3}, 2},
		"a copy":                        {[]*slice{four, in("copy", "IPv4", pod("a", "10.1.0.1", well))}, Endpoints{Ready: 1, Total: 2}, 1},
		"a slice that replaces another": {[]*slice{in("4", "IPv4", pod("b", "10.1.0.2", well)), four}, Endpoints{Ready: 1, Total: 2}, 1},
		"by hand":                       {[]*slice{in("4", "IPv4", discoveryv1.Endpoint{Addresses: []string{"10.9.0.1"}}), in("5", "IPv4", discoveryv1.Endpoint{Addresses: []string{"10.9.0.1"}})}, Endpoints{Ready: 1, Total: 1}, 0},
		"publishNotReadyAddresses":      {[]*slice{in("4", "IPv4", pod("a", "10.1.0.1", is(true, false, false)), pod("b", "10.1.0.2", well))}, Endpoints{Ready: 1, Total: 2}, 1},
		"an old server has no serving":  {[]*slice{in("4", "IPv4", pod("a", "10.1.0.1", discoveryv1.EndpointConditions{}))}, Endpoints{Ready: 1, Total: 1}, 1},
		"it ends":                       {[]*slice{in("4", "IPv4", pod("a", "10.1.0.1", is(false, true, true))), in("6", "IPv6", pod("a", "fd00::1", is(false, true, true)))}, Endpoints{Terminating: 1, Total: 1}, 0},
		"empty":                         {[]*slice{in("4", "IPv4")}, Endpoints{}, 0},
	} {
		s := newState(&Watcher{client: &Client{cfg: &Config{}, traffic: newTraffic()}, kubelets: newKubelets()})
		(&Node{Name: "n", UID: "n", Ready: TriTrue}).put(s, t0, true)
		for _, sl := range c.slices {
			sl.put(s, t0, true)
		}
		c.want.Service = Key{"d", "web"}
		if got := keyed(s.t.endpoints.view, c.want.Service); got == nil || *got != c.want || s.node("n").ReadyEndpoints != c.onNode {
			t.Errorf("%s: %+v, %d on the node, want %+v, %d", name, got, s.node("n").ReadyEndpoints, c.want, c.onNode)
		}
		for _, sl := range c.slices {
			sl.drop(s, t0)
		}
		if got := keyed(s.t.endpoints.view, c.want.Service); got != nil || len(s.services) > 0 || s.node("n").ReadyEndpoints != 0 {
			t.Errorf("%s: %+v and %d on the node are left", name, got, s.node("n").ReadyEndpoints)
		}
	}
}

func TestTheTimelineReportsTheFirstAndTheLastEndpointOfANode(t *testing.T) {
	t.Parallel()
	var told []Transition
	w := &Watcher{opts: WatchOptions{Sink: func(tr Transition) { told = append(told, tr) }}, client: &Client{cfg: &Config{}, traffic: newTraffic()}, kubelets: newKubelets()}
	s := newState(w)
	(&Node{Name: "n", UID: "n", Ready: TriTrue}).put(s, t0, true)
	ready := func(at time.Time, n int, quiet bool) {
		sl := &slice{name: Key{"d", "web-1"}, service: Key{"d", "web"}}
		for i := range 4 {
			sl.endpoints = append(sl.endpoints, endpoint{id: fmt.Sprint(i), node: "n", ready: i < n})
		}
		sl.put(s, at, quiet)
		s.settleEndpoints(at)
	}
	at := func(seconds float64) time.Time { return t0.Add(time.Duration(seconds * float64(time.Second))) }
	want := func(when string, texts ...string) {
		t.Helper()
		var got []string
		for _, tr := range told {
			if tr.Subject.Kind == KindNode && tr.Change == ChangeEndpoints {
				got = append(got, fmt.Sprintf("%s → %s at %g", tr.From, tr.To, tr.SourceTime.Sub(t0).Seconds()))
			}
		}
		told = nil
		if strings.Join(got, ", ") != strings.Join(texts, ", ") {
			t.Errorf("%s: told %q, want %q", when, got, texts)
		}
	}
	ready(at(0), 4, true)
	for i, n := range []int{3, 2, 1, 0} { // one by one, as the control plane does
		ready(at(10+float64(i)/10), n, false)
	}
	none := time.Time{}.Sub(t0).Seconds()
	want("the node is lost", fmt.Sprintf("4 → 0 at %g", none))
	ready(at(60), 1, false)
	ready(at(60.1), 3, false)
	want("while it comes back")
	ready(at(60.2), 4, false)
	want("when it is back", "0 → 4 at 60")
	s.settleEndpoints(at(70))
	want("later")
	ready(at(80), 3, false) // one pod is not well
	ready(at(100), 0, false)
	want("lost again", fmt.Sprintf("3 → 0 at %g", none))
	ready(at(105), 1, false)
	s.settleEndpoints(at(108))
	want("back in part", "0 → 1 at 105")
	ready(at(109), 0, false)
	want("and lost", fmt.Sprintf("1 → 0 at %g", none))
	ready(at(110), 2, false)
	ready(at(110.5), 0, false)
	want("back for a moment", "0 → 2 at 110", fmt.Sprintf("2 → 0 at %g", none))
}

package cluster

import (
	"fmt"
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
	at := func(seconds float64) time.Time { return t0.Add(time.Duration(seconds * float64(time.Second))) }
	for _, x := range []struct {
		at    float64
		ready int // of four endpoints
		want  string
	}{
		{0, 4, ""},
		{10, 3, ""}, {10.1, 1, ""}, {10.2, 0, ""}, // one by one, as the control plane does
		{12.5, 0, "4 → 0 at 10.2"},
		{60, 1, ""}, {60.1, 4, ""},
		{62.5, 4, "0 → 4 at 60"},
		{80, 3, ""}, {82.5, 3, ""}, // one pod is not well
		{100, 0, ""}, {100.5, 2, ""}, {103, 2, ""}, // lost for a moment
		{110, 0, ""}, {113, 0, "2 → 0 at 110"},
	} {
		sl := &slice{name: Key{"d", "web-1"}, service: Key{"d", "web"}}
		for i := range 4 {
			sl.endpoints = append(sl.endpoints, endpoint{id: fmt.Sprint(i), node: "n", ready: i < x.ready})
		}
		sl.put(s, at(x.at), x.at == 0)
		s.settleEndpoints(at(x.at))
		got := ""
		for _, tr := range told {
			if tr.Subject.Kind == KindNode && tr.Change == ChangeEndpoints {
				got += fmt.Sprintf("%s → %s at %g", tr.From, tr.To, tr.SourceTime.Sub(t0).Seconds())
			}
		}
		if told = nil; got != x.want {
			t.Errorf("at %g: %q, want %q", x.at, got, x.want)
		}
	}
}

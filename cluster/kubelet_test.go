package cluster

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const configz = `{"kubeletconfig":{"nodeStatusUpdateFrequency":"2s","nodeLeaseDurationSeconds":4,"shutdownGracePeriod":"1m0s","shutdownGracePeriodCriticalPods":"20s","maxPods":110}}`

func TestKubeletsAreAskedOncePerBoot(t *testing.T) {
	f := newFakeAPI(t)
	fill16(f)
	var asked atomic.Int32
	f.other = func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/proxy/configz") {
			t.Errorf("asked %s", r.URL.Path)
		}
		asked.Add(1)
		fmt.Fprint(w, configz)
	}
	w := watchFake(t, f)
	s := w.until("the kubelets' answers", func(s *Snapshot) bool {
		for _, n := range s.Nodes() {
			if n.Kubelet == nil {
				return false
			}
		}
		return synced(s)
	})
	want := Kubelet{StatusUpdate: 2 * time.Second, Lease: 4 * time.Second, ShutdownGrace: time.Minute, ShutdownGraceCritical: 20 * time.Second}
	if got := *s.Node("kube-node1").Kubelet; got != want {
		t.Errorf("%+v", got)
	}
	if got := s.Settings.ShutdownGrace; got != (Setting[time.Duration]{time.Minute, KubeletConfigz}) {
		t.Errorf("%+v", got)
	}
	if n := asked.Load(); n != 4 {
		t.Errorf("asked %d times", n)
	}
	w.WantKubelets("kube-node1", "kube-node2") // known already
	f.put("nodes", apiNode("kube-node4", "True", func(n *corev1.Node) { n.Status.NodeInfo.BootID = "boot-2" }))
	w.until("the rebooted one is asked again", func(*Snapshot) bool { return asked.Load() == 5 })
	if s := w.Snapshot(); s.Node("kube-node4").Kubelet == nil || s.Settings.KubeletErr != "" {
		t.Errorf("%+v", s.Node("kube-node4"))
	}
}

func TestSettingsStayAssumedWhereKubeletsMayNotBeAsked(t *testing.T) {
	f := newFakeAPI(t)
	fill16(f)
	f.other = func(w http.ResponseWriter, r *http.Request) {
		f.fail(w, 403, metav1.StatusReasonForbidden, "nodes/proxy is forbidden")
	}
	w := watchFake(t, f)
	s := w.until("it is said", func(s *Snapshot) bool { return s.Settings.KubeletErr != "" })
	if s.Settings.ShutdownGrace.Source != Assumed || !strings.Contains(s.Settings.KubeletErr, "forbidden: the user needs get on nodes/proxy") {
		t.Errorf("%+v", s.Settings)
	}
}

func TestKubeletsThatDifferAreSummedUp(t *testing.T) {
	a := Kubelet{StatusUpdate: 10 * time.Second, Lease: 40 * time.Second}
	b := a
	b.ShutdownGrace = time.Minute
	s := kubeletSettings(map[string]Kubelet{"n1": a, "n2": b, "n3": b})
	if s.ShutdownGrace.Value != time.Minute || s.ShutdownGrace.Source != "kubelet configz (differs by node)" || s.LeaseDuration.Source != KubeletConfigz {
		t.Errorf("%+v", s)
	}
	if s := kubeletSettings(nil); s.LeaseDuration.Source != "" {
		t.Errorf("nobody told anything: %+v", s)
	}
}

func FuzzConfigz(f *testing.F) {
	for _, seed := range []string{configz, `{}`, `{"kubeletconfig":{}}`, `{"kubeletconfig":{"shutdownGracePeriod":"-1s"}}`,
		`{"kubeletconfig":{"nodeLeaseDurationSeconds":99999999999}}`, `{"kubeletconfig":{"nodeStatusUpdateFrequency":"soon"}}`, `[`, `<html>`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		k, err := parseConfigz(body)
		const most = (1 << 20) * time.Second
		for _, d := range []time.Duration{k.StatusUpdate, k.Lease, k.ShutdownGrace, k.ShutdownGraceCritical} {
			if d < 0 || d > most || err != nil && d != 0 {
				t.Errorf("%v, %v", k, err)
			}
		}
	})
}

func TestAboveFiftyNodesTheKubeletsOfTheWantedOnesAreAsked(t *testing.T) {
	f := newFakeAPI(t)
	for i := range kubeletsAsked + 10 {
		f.put("nodes", apiNode(fmt.Sprintf("node-%02d", i), "True"))
	}
	f.other = func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, configz) }
	w := watchFake(t, f)
	told := func(s *Snapshot) (n int) {
		for _, x := range s.Nodes() {
			if x.Kubelet != nil {
				n++
			}
		}
		return n
	}
	s := w.until("the first ones' answers", func(s *Snapshot) bool { return told(s) == kubeletsAsked })
	var left string
	for _, n := range s.Nodes() {
		if n.Kubelet == nil {
			left = n.Name
		}
	}
	w.WantKubelets(left)
	w.until("the wanted one's answer", func(s *Snapshot) bool { return s.Node(left).Kubelet != nil })
	if n := told(w.Snapshot()); n != kubeletsAsked+1 {
		t.Errorf("%d kubelets were asked", n)
	}
}

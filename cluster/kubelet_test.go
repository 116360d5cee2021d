package cluster

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
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

func FuzzConfigz(f *testing.F) {
	for _, seed := range []string{configz, `{}`, `{"kubeletconfig":{}}`, `{"kubeletconfig":{"shutdownGracePeriod":"-1s"}}`,
		`{"kubeletconfig":{"nodeLeaseDurationSeconds":99999999999}}`, `{"kubeletconfig":{"nodeStatusUpdateFrequency":"soon"}}`, `[`, `<html>`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		k, err := parseConfigz(body)
		for _, d := range []time.Duration{k.StatusUpdate, k.Lease, k.ShutdownGrace, k.ShutdownGraceCritical} {
			if d < 0 || err != nil && d != 0 {
				t.Errorf("%v, %v", k, err)
			}
		}
	})
}

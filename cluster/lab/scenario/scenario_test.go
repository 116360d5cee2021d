package scenario

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestUnknownScenarioOrPace(t *testing.T) {
	if _, err := Get("moon", Fast); err == nil || !strings.Contains(err.Error(), `"moon"`) || !strings.Contains(err.Error(), "mdx, mixed, vagrant") {
		t.Errorf("got %v", err)
	}
	if _, err := Get("mdx", "warp"); err == nil || !strings.Contains(err.Error(), `"warp"`) {
		t.Errorf("got %v", err)
	}
}

func TestEveryScenarioIsWhole(t *testing.T) {
	for _, name := range Names() {
		for _, pace := range []Pace{Real, Fast} {
			s, err := Get(name, pace)
			if err != nil {
				t.Fatal(err)
			}
			if !s.Machines[0].ControlPlane || !strings.HasPrefix(s.APIServer, s.Machines[0].IP+":") {
				t.Errorf("%s: the API server %s is not on the first machine %+v", name, s.APIServer, s.Machines[0])
			}
			found := false
			for _, o := range s.Objects {
				d, ok := o.(*appsv1.Deployment)
				u, custom := o.(*unstructured.Unstructured) // the first revision
				found = found || ok && d.Namespace+"/"+d.Name == s.Load.Deployment ||
					custom && u.GetKind() == "Service" && u.GetNamespace()+"/"+u.GetName()+"-00001-deployment" == s.Load.Deployment
			}
			if !found {
				t.Errorf("%s: the load's deployment %s is not created", name, s.Load.Deployment)
			}
		}
	}
}

func TestExactlyFourModelPodsFitAWorker(t *testing.T) {
	s, err := Get("mdx", Fast)
	if err != nil {
		t.Fatal(err)
	}
	requests := mdxUserContainer().Resources.Requests
	const queueProxy = 25 // milli-CPUs, Knative's default
	cpu, memory := requests.Cpu().MilliValue()+queueProxy, requests.Memory().Value()
	for _, m := range s.Machines[1:] {
		if fit := min(int64(m.CPUs)*1000/cpu, int64(m.MemoryGiB)<<30/memory); fit != 4 {
			t.Errorf("%d pods fit %s", fit, m.Name)
		}
	}
}

func TestKeysDifferFromLabToLab(t *testing.T) {
	a, _ := Get("mdx", Fast)
	b, _ := Get("mdx", Fast)
	if a.Load.APIKey == "" || a.Load.APIKey == b.Load.APIKey {
		t.Errorf("keys of %d and %d bytes, equal: %v", len(a.Load.APIKey), len(b.Load.APIKey), a.Load.APIKey == b.Load.APIKey)
	}
	for _, o := range a.Objects {
		if s, ok := o.(*corev1.Secret); ok && s.Name == mdxSecret && s.StringData["api-key"] != a.Load.APIKey {
			t.Error("the secret has another key than the load")
		}
	}
}

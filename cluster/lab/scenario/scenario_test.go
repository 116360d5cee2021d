package scenario

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestUnknownScenarioOrPace(t *testing.T) {
	if _, err := Get("moon", Fast); err == nil || !strings.Contains(err.Error(), `"moon"`) || !strings.Contains(err.Error(), "mdx, vagrant") {
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
				if d, ok := o.(*appsv1.Deployment); ok && d.Namespace+"/"+d.Name == s.Load.Deployment {
					found = true
				}
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
	for _, o := range s.Objects {
		d, ok := o.(*appsv1.Deployment)
		if !ok || d.Namespace != "default" {
			continue
		}
		var cpu, memory int64
		for _, c := range d.Spec.Template.Spec.Containers {
			cpu += c.Resources.Requests.Cpu().MilliValue()
			memory += c.Resources.Requests.Memory().Value()
		}
		for _, m := range s.Machines[1:] {
			if fit := min(int64(m.CPUs)*1000/cpu, int64(m.MemoryGiB)<<30/memory); fit != 4 {
				t.Errorf("%d pods fit %s", fit, m.Name)
			}
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
		if s, ok := o.(*corev1.Secret); ok && s.StringData["api-key"] != a.Load.APIKey {
			t.Error("the secret has another key than the load")
		}
	}
}

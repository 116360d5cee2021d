package e2e

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/internal/labtest"
	"lightsout/internal/record"
	"lightsout/internal/testenv"
	"lightsout/loadgen"
)

const knativeServices = "/apis/serving.knative.dev/v1/namespaces/default/services"

// object is a part of a Kubernetes object.
type object = map[string]any

// knative is a lab with the test's own Knative service, besides the article's.
type knative struct {
	t    *testing.T
	lab  *labtest.Lab
	api  *labtest.API
	name string
	dir  string // the record of its trial
	// tokens is the length of an answer, at 150 ms a token; 0: as in the lab's config.
	tokens int
}

// serve creates the service with these annotations for its revisions, and waits until
// Knative reports it as ready.
func serve(t *testing.T, l *labtest.Lab, name string, annotations object) *knative {
	k := &knative{t: t, lab: l, api: l.API(), name: name}
	annotations["features.knative.dev/http-full-duplex"] = "Enabled"
	k.api.Do("POST", knativeServices, object{
		"apiVersion": "serving.knative.dev/v1", "kind": "Service", "metadata": object{"name": name, "namespace": "default"},
		"spec": object{"template": object{
			"metadata": object{"annotations": annotations},
			"spec": object{
				"containerConcurrency": 1, "timeoutSeconds": 120, "responseStartTimeoutSeconds": 120,
				"containers": []object{{
					"image": "llama.cpp:server", "ports": []object{{"containerPort": 8080}},
					"readinessProbe": object{"httpGet": object{"path": "/health"}},
				}},
			},
		}},
	}, nil)
	k.await("the service is ready", func() bool { return k.ready() == name+"-00001" })
	return k
}

// ready returns the ready revision, which gets the requests; empty if there is none.
func (k *knative) ready() string {
	if all := k.traffic(); len(all) == 1 {
		return all[0]
	}
	return ""
}

// traffic returns the revisions that get requests; nil while the service is not ready.
func (k *knative) traffic() (revisions []string) {
	var s struct {
		Status struct {
			Conditions []struct{ Type, Status string }
			Traffic    []struct {
				RevisionName string
				Percent      int
			}
		}
	}
	if k.api.Try("GET", knativeServices+"/"+k.name, nil, &s) != nil {
		return nil
	}
	for _, c := range s.Status.Conditions {
		if c.Type == "Ready" && c.Status != "True" {
			return nil
		}
	}
	for _, t := range s.Status.Traffic {
		revisions = append(revisions, t.RevisionName)
	}
	return revisions
}

// pods returns the number of available pods of a revision; -1: unknown.
func (k *knative) pods(revision string) int {
	var d struct {
		Status struct{ Replicas, AvailableReplicas int }
	}
	if k.api.Try("GET", "/apis/apps/v1/namespaces/default/deployments/"+revision+"-deployment", nil, &d) != nil {
		return -1
	}
	return d.Status.AvailableReplicas
}

func (k *knative) await(what string, done func() bool) {
	k.t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !done(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			k.t.Fatalf("3 minutes passed without this condition: %s", what)
		}
	}
}

// trial runs steps against the service, and then a short outage, which makes a trial of
// them. It calls while once the first request was sent.
func (k *knative) trial(steps string, while func()) (*record.Record, *record.Summary) {
	k.t.Helper()
	return k.plan(steps+outage, while)
}

// outage are the steps of a short outage.
const outage = "  - off: [kube-node4]\n  - wait: detected\n  - on: [kube-node4]\n  - wait: ready\n"

// plan runs the steps of a whole trial.
func (k *knative) plan(steps string, while func()) (*record.Record, *record.Summary) {
	k.t.Helper()
	cmd, lines := k.begin(steps)
	if while != nil {
		while()
	}
	for range lines {
	}
	if err := cmd.Wait(); err != nil {
		k.t.Logf("the trial: %v", err) // the caller judges which requests may fail
	}
	r, err := record.Open(k.dir)
	if err != nil {
		k.t.Fatal(err)
	}
	s := readSummary(k.t, k.dir)
	if !s.Ledger.Balanced {
		k.t.Errorf("the ledger is not balanced: %+v", s.Ledger)
	}
	return r, s
}

// begin starts the steps of a whole trial, and returns when the first request was sent.
func (k *knative) begin(steps string) (*exec.Cmd, <-chan string) {
	k.t.Helper()
	k.dir = filepath.Join(k.t.TempDir(), "record")
	config := k.lab.ConfigWith(func(c map[string]any) {
		c["state"] = k.t.TempDir()
		load := c["load"].(map[string]any)
		load["host"], load["deployment"] = k.name+".default.example.com", "default/"+k.name+"-00001-deployment"
		if k.tokens > 0 {
			load["max_tokens"] = k.tokens
		}
	})
	plan := write(k.t, "plan.yaml", "name: knative\nsteps:\n"+steps)
	cmd, lines := start(k.t, args(k.lab, config, "trial", "run", plan, "--yes", "--record", k.dir)...)
	waitLine(k.t, lines, "load", "started")
	return cmd, lines
}

// endings counts the classes in which the requests of a record ended.
func endings(t *testing.T, r *record.Record) map[loadgen.Class]int {
	t.Helper()
	out := map[loadgen.Class]int{}
	if _, err := record.EachRequest(os.DirFS(r.Dir), func(_ int, q *loadgen.Record) error { out[q.Class]++; return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

// gauges returns the gauges of a record at times with requests in flight.
func gauges(r *record.Record) (out []loadgen.Gauge) {
	for _, s := range r.Samples {
		if s.Load != nil && s.Load.Run != nil && s.Load.Run.Gauge.Outstanding > 0 {
			out = append(out, s.Load.Run.Gauge)
		}
	}
	return out
}

// How Knative treats requests while something other than the plain experiment happens, and
// how lightsout shows that.
func TestHowKnativeTreatsRequests(t *testing.T) {
	testenv.Long(t, 80)
	t.Parallel()
	l := labtest.Lease(t, "mdx")

	t.Run("a burst starts pods, and the autoscaler adds more", func(t *testing.T) {
		k := serve(t, l, "small", object{"autoscaling.knative.dev/min-scale": "0", "autoscaling.knative.dev/max-scale": "4"})
		k.await("it scales to zero", func() bool { return k.pods("small-00001") == 0 })
		r, s := k.trial("  - load: {burst: 8}\n", nil)
		if s.Ledger.OK != 8 {
			t.Errorf("%+v", s.Ledger)
		}
		all := gauges(r)
		if !slices.ContainsFunc(all, func(g loadgen.Gauge) bool { return g.Limited && g.Capacity == 0 && g.Served == 0 && g.Queued == 8 }) {
			t.Errorf("never 0 pods, 0 served, 8 queued: %+v", first(all))
		}
		if !slices.ContainsFunc(all, func(g loadgen.Gauge) bool { return g.Basis == loadgen.BasisMeasured && g.Served > 1 && g.Served <= 4 }) {
			t.Errorf("never 2 to 4 served, measured: %+v", first(all))
		}
	})

	t.Run("nodes die under 16 requests", func(t *testing.T) {
		k := &knative{t: t, lab: l, api: l.API(), name: "llm-jp-31-13b", tokens: 130}
		isWhole(t, l)
		r, s := k.plan(`
  - load: {burst: 16, background: true, timeout: 2m}
    name: under way
  - pause: 3s
  - off: {nodes: [kube-node2, kube-node3], how: plug}
  - wait: detected
  - wait: endpoints out
  - pause: 3s
  - on: [kube-node2, kube-node3]
  - wait: restored
  - load: {burst: 1, timeout: 60s}
    name: afterwards
`, nil)
		// Knative's activator waits for the 8 until their machines, which boot, refuse to go on.
		if got, want := endings(t, r), (map[loadgen.Class]int{loadgen.ClassOK: 9, loadgen.ClassTruncated: 8}); !maps.Equal(got, want) || s.Ledger.OK != 9 || s.Ledger.Failed != 8 {
			t.Errorf("%v, wanted %v; %+v", got, want, s.Ledger)
		}
		all := gauges(r)
		if !slices.ContainsFunc(all, func(g loadgen.Gauge) bool {
			return g.Basis == loadgen.BasisMeasured && g.Served == 8 && g.OnDead == 8 && g.Capacity == 8 && g.Queued == 0
		}) {
			t.Errorf("never 8 served and 8 on dead nodes, measured: %+v", first(all))
		}
	})
}

// first returns the beginning of a list.
func first[T any](all []T) []T { return all[:min(len(all), 6)] }

// isWhole waits until the lab's deployment has all its pods again, and its nodes take pods.
func isWhole(t *testing.T, l *labtest.Lab) {
	t.Helper()
	api := l.API()
	until(t, "the lab is whole", func() bool {
		var d struct {
			Status struct{ AvailableReplicas int }
		}
		var nodes struct {
			Items []struct {
				Metadata struct{ Annotations map[string]string }
				Spec     struct{ Taints []struct{ Key string } }
			}
		}
		err := errors.Join(api.Try("GET", "/apis/apps/v1/namespaces/default/deployments/llm-jp-31-13b-00001-deployment", nil, &d), api.Try("GET", "/api/v1/nodes", nil, &nodes))
		for _, n := range nodes.Items {
			for _, taint := range n.Spec.Taints {
				if strings.HasPrefix(taint.Key, "node.kubernetes.io/") {
					return false
				}
			}
			if n.Metadata.Annotations["lightsout.dev/switched-off"] != "" {
				return false
			}
		}
		return err == nil && d.Status.AvailableReplicas == 16
	})
}

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
		return ""
	}
	for _, c := range s.Status.Conditions {
		if c.Type == "Ready" && c.Status == "True" && len(s.Status.Traffic) == 1 {
			return s.Status.Traffic[0].RevisionName
		}
	}
	return ""
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

// direct reports whether requests to a revision reach its pods without an activator.
func (k *knative) direct(revision string) bool {
	var slices struct {
		Items []struct {
			Endpoints []struct{ Addresses []string }
		}
	}
	var pods struct {
		Items []struct{ Status struct{ PodIP string } }
	}
	err := errors.Join(
		k.api.Try("GET", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3D"+revision, nil, &slices),
		k.api.Try("GET", "/api/v1/namespaces/default/pods?labelSelector=serving.knative.dev%2Frevision%3D"+revision, nil, &pods))
	if err != nil || len(slices.Items) != 1 || len(slices.Items[0].Endpoints) != 1 || len(pods.Items) != 1 {
		return false
	}
	return slices.Items[0].Endpoints[0].Addresses[0] == pods.Items[0].Status.PodIP
}

func (k *knative) await(what string, done func() bool) {
	k.t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !done(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			k.t.Fatalf("3 minutes passed without this condition: %s", what)
		}
	}
}

// trial runs steps against the service, with the other parts of a plan. It calls while
// once the first request was sent.
func (k *knative) trial(steps string, while func()) (*record.Record, *record.Summary) {
	k.t.Helper()
	dir := filepath.Join(k.t.TempDir(), "record")
	config := k.lab.ConfigWith(func(c map[string]any) {
		c["state"] = k.t.TempDir()
		load := c["load"].(map[string]any)
		load["host"], load["deployment"] = k.name+".default.example.com", "default/"+k.name+"-00001-deployment"
		if k.tokens > 0 {
			load["max_tokens"] = k.tokens
		}
	})
	plan := write(k.t, "plan.yaml", "name: knative\nsteps:\n"+steps+"  - off: [kube-node4]\n  - wait: detected\n  - on: [kube-node4]\n  - wait: ready\n")
	cmd, lines := start(k.t, args(k.lab, config, "trial", "run", plan, "--yes", "-o", dir)...)
	waitLine(k.t, lines, "load", "started")
	if while != nil {
		while()
	}
	for range lines {
	}
	if err := cmd.Wait(); err != nil {
		k.t.Logf("the trial: %v", err) // the caller judges which requests may fail
	}
	r, err := record.Open(dir)
	if err != nil {
		k.t.Fatal(err)
	}
	s := readSummary(k.t, dir)
	if !s.Ledger.Balanced {
		k.t.Errorf("the ledger is not balanced: %+v", s.Ledger)
	}
	return r, s
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

// How Knative treats requests without an outage, and how lightsout shows that.
func TestKnativeWithoutAnOutage(t *testing.T) {
	testenv.Long(t, 150)
	t.Parallel()
	l := labtest.Start(t, "mdx")

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

	t.Run("another revision takes over under load", func(t *testing.T) {
		k := serve(t, l, "next", object{"autoscaling.knative.dev/min-scale": "2", "autoscaling.knative.dev/max-scale": "2"})
		k.await("its pods are available", func() bool { return k.pods("next-00001") == 2 })
		r, s := k.trial("  - load: {hold: 2, for: 40s}\n", func() {
			k.api.Do("PATCH", knativeServices+"/next", object{"spec": object{"template": object{"metadata": object{"annotations": object{"changed": "yes"}}}}}, nil)
			k.await("the next revision gets the requests", func() bool { return k.ready() == "next-00002" })
			k.await("the first revision has no pod", func() bool { return k.pods("next-00001") <= 0 })
		})
		if s.Ledger.OK != s.Ledger.Scheduled {
			t.Errorf("%+v", s.Ledger)
		}
		all := gauges(r)
		if last := all[len(all)-1]; last.Served == 0 || last.Capacity != 2 {
			t.Errorf("by the next revision: %+v", last)
		}
	})

	t.Run("a full queue refuses", func(t *testing.T) {
		// Without an activator: one slot, and ten requests that wait.
		k := serve(t, l, "full", object{"autoscaling.knative.dev/min-scale": "1", "autoscaling.knative.dev/max-scale": "1", "autoscaling.knative.dev/target-burst-capacity": "0"})
		k.await("requests go to the pod", func() bool { return k.direct("full-00001") })
		k.tokens = 4
		_, s := k.trial("  - load: {burst: 15}\n", nil)
		if l := s.Load[0]; l.OK != 11 || l.FailedByClass[loadgen.Class503] != 4 {
			t.Errorf("%+v", l.Counts)
		}
	})

	t.Run("an activator dies under load", func(t *testing.T) {
		k := &knative{t: t, lab: l, api: l.API(), name: "llm-jp-31-13b"}
		r, s := k.trial("  - load: {burst: 16}\n  - pause: 10s\n  - load: {burst: 4}\n", func() {
			var pods struct {
				Items []struct{ Metadata struct{ Name string } }
			}
			k.api.Do("GET", "/api/v1/namespaces/knative-serving/pods?labelSelector=app%3Dactivator", nil, &pods)
			k.api.Do("DELETE", "/api/v1/namespaces/knative-serving/pods/"+pods.Items[0].Metadata.Name+"?gracePeriodSeconds=0", nil, nil)
		})
		if s.Ledger.OK < 4 || s.Ledger.OK+s.Ledger.Failed != 20 {
			t.Errorf("%+v", s.Ledger)
		}
		if len(gauges(r)) == 0 {
			t.Error("the screen showed nothing")
		}
		if _, err := record.EachRequest(os.DirFS(r.Dir), func(_ int, q *loadgen.Record) error {
			if q.Class.Failed() && q.Class != loadgen.ClassTruncated && q.Class != loadgen.Class502 && q.Class != loadgen.Class503 && q.Class != loadgen.ClassReset {
				return fmt.Errorf("%s is %s: %s", q.ID, q.Class, q.Error)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
}

// first returns the beginning of a list.
func first[T any](all []T) []T { return all[:min(len(all), 6)] }

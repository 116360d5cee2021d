package loadgen

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
)

const activatorText = `# HELP kn_revision_request_active Requests that are being served.
# TYPE kn_revision_request_active gauge
kn_revision_request_active{k8s_namespace_name="default",kn_revision_name="llm-00001",other="a\"b\\c\nd}"} 5
kn_revision_request_active{k8s_namespace_name="default",kn_revision_name="llm-00001"} 3 1700000000000
kn_revision_request_active{k8s_namespace_name="default",kn_revision_name="llm-00002"} 100
kn_revision_request_queued{kn_revision_name="llm-00001", k8s_namespace_name="default",} 4.0
something_else 7
`

func TestDecodeMetrics(t *testing.T) {
	t.Parallel()
	activator := ActivatorMetrics("default", []string{"llm-00001"})
	llama, vllm := LlamaMetrics(8080), VLLMMetrics(8000)
	for _, c := range []struct {
		name           string
		body           string
		m              *Metrics
		served, queued float64
		bad            bool
	}{
		{"activator", activatorText, &activator, 8, 4, false},
		{"llama.cpp", "llamacpp:requests_processing 1\nllamacpp:requests_deferred 3", &llama, 1, 3, false},
		{"vLLM", "vllm:num_requests_running{model_name=\"m\",engine=\"0\"} 2.0\nvllm:num_requests_running{model_name=\"m\",engine=\"1\"} 1.0\nvllm:num_requests_waiting{model_name=\"m\"} 0", &vllm, 3, 0, false},
		{"one gauge is enough when one is wanted", "a 2", &Metrics{Served: "a"}, 2, 0, false},
		{"what is not there is not 0", "llamacpp:requests_processing 1\n", &llama, 0, 0, true},
		{"another revision's is not ours", `kn_revision_request_active{kn_revision_name="x"} 1`, &activator, 0, 0, true},
		{"empty", "", &llama, 0, 0, true},
		{"a page", "<html>not found</html>", &llama, 0, 0, true},
		{"not a number", "a NaN", &Metrics{Served: "a"}, 0, 0, true},
		{"negative", "a -1", &Metrics{Served: "a"}, 0, 0, true},
		{"cut", `a{b="c`, &Metrics{Served: "a"}, 0, 0, true},
	} {
		r, err := decodeMetrics([]byte(c.body), c.m)
		if (err != nil) != c.bad || err == nil && (r.served != c.served || r.queued != c.queued) {
			t.Errorf("%s: %+v, %v", c.name, r, err)
		}
	}
}

// withActivator returns the options for a revision behind an activator that reports so many
// requests as queued.
func (v *revision) withActivator(queued func() (int, error)) Options {
	o := v.options()
	o.Sources = func() []Source {
		return []Source{{Namespace: "knative-serving", Pod: "activator-0", Metrics: ActivatorMetrics("default", []string{"llm-00001"})}}
	}
	fetch := o.Fetch
	o.Fetch = func(ctx context.Context, namespace, pod string, port int32, path string) ([]byte, error) {
		if pod != "activator-0" {
			return fetch(ctx, namespace, pod, port, path)
		}
		n, err := queued()
		if err != nil {
			return nil, err
		}
		const labels = `{k8s_namespace_name="default",kn_revision_name="llm-00001"}`
		return fmt.Appendf(nil, "kn_revision_request_active%s %d\nkn_revision_request_queued%s %d\n", labels, v.busy(), labels, n), nil
	}
	return o
}

// The activator's own numbers stand beside the ledger's: if it does not answer, the gauge shows
// none; if it holds requests of others, the gauge is an estimate.
func TestTheActivatorReportsItsRequests(t *testing.T) {
	t.Parallel()
	v := serveRevision(t, 8)
	var silent atomic.Bool
	var extra atomic.Int64
	o := v.withActivator(func() (queued int, err error) {
		if silent.Load() {
			return 0, errors.New("no answer")
		}
		return 12 - v.busy() + int(extra.Load()), nil
	})
	g := start(t, o)
	mustStart(t, g, Spec{Shape: Burst, N: 12})
	gaugeIs(t, g, BasisMeasured, 8, 4, 0, 0)
	told := func() Report {
		if l := g.Run().Gauge.Reported; len(l) == 1 {
			return l[0]
		}
		return Report{}
	}
	waitFor(t, "the activator's 8 and 4", func() bool {
		x := told()
		return x.Source == "activator" && x.Asked == 1 && x.Answered == 1 && *x.Served == 8 && *x.Queued == 4
	})
	if text := g.Run().Gauge.Disagreement; text != "" {
		t.Errorf("they agree, but: %s", text)
	}
	silent.Store(true)
	waitFor(t, "no answer", func() bool { x := told(); return x.Asked == 1 && x.Answered == 0 && x.Served == nil && x.Queued == nil })
	gaugeIs(t, g, BasisMeasured, 8, 4, 0, 0)
	silent.Store(false)
	extra.Store(6)
	waitFor(t, "a word on the difference", func() bool {
		return strings.Contains(g.Run().Gauge.Disagreement, "the servers hold 6 requests of others")
	})
	gaugeIs(t, g, BasisEstimated, 8, 4, 0, 0)
	extra.Store(0)
	waitFor(t, "agreement", func() bool { return g.Run().Gauge.Disagreement == "" })
}

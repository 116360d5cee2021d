package loadgen

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Metrics are the names of a server's metrics in Prometheus's text format.
type Metrics struct {
	// Name is the displayed name of the source, for example "activator".
	Name string
	// Port and Path are where they are; an empty Path is "metrics".
	Port int32
	Path string
	// Served and Queued are the names of gauges: requests that are being worked
	// on, and that wait. Empty: it does not tell.
	Served, Queued string
	// Labels are those by which a sample counts: it must have each of them, with one of
	// the values. The samples that count are summed up.
	Labels map[string][]string

	// load reads the number of requests from another format; nil: there is none.
	load func(body []byte) (float64, error)
}

// LlamaMetrics are those of a llama.cpp server that is started with --metrics
// (tools/server/README.md).
func LlamaMetrics(port int32) Metrics {
	return Metrics{Name: "llama.cpp", Port: port, Served: "llamacpp:requests_processing", Queued: "llamacpp:requests_deferred"}
}

// VLLMMetrics are those of a vLLM server (docs.vllm.ai, production metrics).
func VLLMMetrics(port int32) Metrics {
	return Metrics{Name: "vLLM", Port: port, Served: "vllm:num_requests_running", Queued: "vllm:num_requests_waiting"}
}

// ActivatorMetrics are the metrics of Knative's activator, from 1.22 on, for some revisions of a
// namespace. It has them only if config-observability sets metrics-protocol to prometheus, and
// counts a revision from the revision's first request on.
func ActivatorMetrics(namespace string, revisions []string) Metrics {
	return Metrics{
		Name: "activator", Port: 9090, Served: "kn_revision_request_active", Queued: "kn_revision_request_queued",
		Labels: map[string][]string{"k8s_namespace_name": {namespace}, "kn_revision_name": revisions},
	}
}

// mostRequests is more than any server holds; a larger value is not a gauge of
// requests.
const mostRequests = 1e6

// numberOfRequests returns an error if a server's number can't be one of requests.
func numberOfRequests(v float64) error {
	if v >= 0 && v <= mostRequests {
		return nil
	}
	return fmt.Errorf("%g is not a number of requests", v)
}

var errAbsent = errors.New("is not among the metrics")

// decodeMetrics reads the gauges of m. A required gauge that is missing is an error: it
// is unknown, and not 0.
func decodeMetrics(body []byte, m *Metrics) (r reading, err error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(io.MultiReader(bytes.NewReader(body), strings.NewReader("\n")))
	if err != nil {
		return reading{}, err
	}
	r.served, err = m.sum(families[m.Served], m.Served)
	if err == nil {
		r.queued, err = m.sum(families[m.Queued], m.Queued)
	}
	return r, err
}

// sum adds up the samples with the labels. An empty name has no samples.
func (m *Metrics) sum(family *dto.MetricFamily, name string) (sum float64, err error) {
	if name == "" {
		return 0, nil
	}
	seen := false
	for _, s := range family.GetMetric() {
		found := 0
		for _, l := range s.GetLabel() {
			if slices.Contains(m.Labels[l.GetName()], l.GetValue()) {
				found++
			}
		}
		if found < len(m.Labels) {
			continue
		}
		v := s.GetGauge().GetValue() + s.GetUntyped().GetValue() + s.GetCounter().GetValue()
		if err := numberOfRequests(v); err != nil {
			return 0, err
		}
		sum, seen = sum+v, true
	}
	if !seen {
		return 0, fmt.Errorf("%q %w", clean(name, 80), errAbsent)
	}
	return sum, nil
}

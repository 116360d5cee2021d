package loadgen

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Metrics are what a server tells of its requests in Prometheus's text format.
type Metrics struct {
	// Name is what is shown as the source, e.g. "activator".
	Name string
	// Port and Path are where they are; an empty Path is "metrics".
	Port int32
	Path string
	// Served and Queued are the names of gauges: requests that are being worked
	// on, and that wait. Empty: it does not tell.
	Served, Queued string
	// Labels must all be among a sample's labels for it to count; what counts
	// is summed up.
	Labels map[string]string

	// load reads how many requests a server works on where it tells them in
	// another format; nil: it does not.
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

// ActivatorMetrics are those of Knative's activator for one revision. There
// are such since Knative 1.22, and only when config-observability has
// metrics-protocol prometheus.
func ActivatorMetrics(namespace, revision string) Metrics {
	return Metrics{
		Name: "activator", Port: 9090, Served: "kn_revision_request_active", Queued: "kn_revision_request_queued",
		Labels: map[string]string{"k8s_namespace_name": namespace, "kn_revision_name": revision},
	}
}

// mostRequests is more than any server holds; what tells more is no gauge of
// requests.
const mostRequests = 1e6

// decodeMetrics reads the two gauges of m. A gauge that is wanted and is not
// there is an error: it is not known, and not 0.
func decodeMetrics(body []byte, m *Metrics) (served, queued float64, err error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(io.MultiReader(bytes.NewReader(body), strings.NewReader("\n")))
	if err == nil {
		served, err = m.sum(families[m.Served], m.Served)
	}
	if err == nil {
		queued, err = m.sum(families[m.Queued], m.Queued)
	}
	return served, queued, err
}

// sum adds up the samples that have the labels. No name is no samples.
func (m *Metrics) sum(family *dto.MetricFamily, name string) (sum float64, err error) {
	if name == "" {
		return 0, nil
	}
	seen := false
	for _, s := range family.GetMetric() {
		found := 0
		for _, l := range s.GetLabel() {
			if want, ok := m.Labels[l.GetName()]; ok && want == l.GetValue() {
				found++
			}
		}
		if found < len(m.Labels) {
			continue
		}
		v := s.GetGauge().GetValue() + s.GetUntyped().GetValue() + s.GetCounter().GetValue()
		if math.IsNaN(v) || v < 0 || v > mostRequests {
			return 0, fmt.Errorf("%s is %g, which is no number of requests", clean(name, 80), v)
		}
		sum, seen = sum+v, true
	}
	if !seen {
		return 0, fmt.Errorf("%q is not among the metrics", clean(name, 80))
	}
	return sum, nil
}

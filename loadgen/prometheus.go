package loadgen

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
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

var errBadMetric = errors.New("not Prometheus's text format")

// decodeMetrics reads the two gauges of m. A gauge that is wanted and is not
// there is an error: it is not known, and not 0.
func decodeMetrics(body []byte, m *Metrics) (served, queued float64, err error) {
	var servedSeen, queuedSeen bool
	for len(body) > 0 {
		line := body
		if i := bytes.IndexByte(body, '\n'); i >= 0 {
			line, body = body[:i], body[i+1:]
		} else {
			body = nil
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		i := bytes.IndexAny(line, "{ \t")
		if i < 0 {
			return 0, 0, errBadMetric
		}
		name := string(line[:i])
		if name == "" || name != m.Served && name != m.Queued {
			continue
		}
		v, counts, err := parseSample(line[i:], m.Labels)
		if err != nil {
			return 0, 0, err
		}
		if !counts {
			continue
		}
		if math.IsNaN(v) || v < 0 || v > mostRequests {
			return 0, 0, fmt.Errorf("%s is %g, which is no number of requests", clean(name, 80), v)
		}
		if name == m.Served {
			served, servedSeen = served+v, true
		}
		if name == m.Queued {
			queued, queuedSeen = queued+v, true
		}
	}
	if m.Served != "" && !servedSeen || m.Queued != "" && !queuedSeen {
		return 0, 0, fmt.Errorf("%q or %q is not among the metrics", clean(m.Served, 80), clean(m.Queued, 80))
	}
	return served, queued, nil
}

// parseSample reads the labels and the value of a sample, and whether it has
// all the labels that are wanted.
func parseSample(s []byte, want map[string]string) (v float64, counts bool, err error) {
	found := 0
	if s[0] == '{' {
		s = s[1:]
		for {
			s = bytes.TrimLeft(s, " \t,")
			if len(s) == 0 {
				return 0, false, errBadMetric
			}
			if s[0] == '}' {
				s = s[1:]
				break
			}
			eq := bytes.IndexByte(s, '=')
			if eq < 0 {
				return 0, false, errBadMetric
			}
			name := bytes.Trim(s[:eq], " \t\"")
			value, rest, ok := parseLabelValue(bytes.TrimLeft(s[eq+1:], " \t"))
			if !ok {
				return 0, false, errBadMetric
			}
			s = rest
			if w, wanted := want[string(name)]; wanted && w == value {
				found++
			}
		}
	}
	// A time stamp may follow the value.
	fields := bytes.Fields(s)
	if len(fields) < 1 || len(fields) > 2 {
		return 0, false, errBadMetric
	}
	if v, err = strconv.ParseFloat(string(fields[0]), 64); err != nil {
		return 0, false, errBadMetric
	}
	return v, found == len(want), nil
}

// parseLabelValue reads a quoted string with the escapes \\, \" and \n.
func parseLabelValue(s []byte) (value string, rest []byte, ok bool) {
	if len(s) == 0 || s[0] != '"' {
		return "", nil, false
	}
	var out []byte
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return string(out), s[i+1:], true
		case '\\':
			if i++; i == len(s) {
				return "", nil, false
			}
			if s[i] == 'n' {
				out = append(out, '\n')
			} else {
				out = append(out, s[i])
			}
		default:
			out = append(out, s[i])
		}
	}
	return "", nil, false
}

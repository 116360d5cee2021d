package loadgen

import (
	"errors"
	"testing"
)

// activator122 is what the activator's request handler of Knative 1.22 (serving v0.49.0) exported
// with 20 requests for the 16 slots of a revision, and the same for two more revisions.
const activator122 = `# HELP kn_revision_request_active Number of requests currently being proxied by the activator
# TYPE kn_revision_request_active gauge
kn_revision_request_active{k8s_namespace_name="default",kn_revision_name="llm-00001",otel_scope_name="knative.dev/serving/pkg/activator",otel_scope_schema_url="",otel_scope_version=""} 16
kn_revision_request_active{k8s_namespace_name="default",kn_revision_name="llm-00002",otel_scope_name="knative.dev/serving/pkg/activator",otel_scope_schema_url="",otel_scope_version=""} 1
kn_revision_request_active{k8s_namespace_name="elsewhere",kn_revision_name="llm-00001",otel_scope_name="knative.dev/serving/pkg/activator",otel_scope_schema_url="",otel_scope_version=""} 7
# HELP kn_revision_request_queued Number of requests currently queued in the activator waiting for capacity
# TYPE kn_revision_request_queued gauge
kn_revision_request_queued{k8s_namespace_name="default",kn_revision_name="llm-00001",otel_scope_name="knative.dev/serving/pkg/activator",otel_scope_schema_url="",otel_scope_version=""} 4
kn_revision_request_queued{k8s_namespace_name="default",kn_revision_name="llm-00002",otel_scope_name="knative.dev/serving/pkg/activator",otel_scope_schema_url="",otel_scope_version=""} 0
target_info{service_name="unknown_service:activator",telemetry_sdk_language="go",telemetry_sdk_name="opentelemetry",telemetry_sdk_version="1.43.0"} 1
`

func TestTheActivatorIsRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		revisions  []string
		want       reading
		absent     bool
	}{
		{"one revision", activator122, []string{"llm-00001"}, reading{served: 16, queued: 4}, false},
		{"during a rollout", activator122, []string{"llm-00001", "llm-00002"}, reading{served: 17, queued: 4}, false},
		{"nothing sent yet", activator122, []string{"llm-00003"}, reading{}, true},
		{"an older activator", "activator_request_concurrency{revision_name=\"llm-00001\"} 20\n", []string{"llm-00001"}, reading{}, true},
	} {
		m := ActivatorMetrics("default", c.revisions)
		r, err := decodeMetrics([]byte(c.body), &m)
		if r != c.want || errors.Is(err, errAbsent) != c.absent || err != nil && !c.absent {
			t.Errorf("%s: %+v, %v", c.name, r, err)
		}
	}
}

// An activator that has never answered is not shown as silent: it may not have metrics.
func TestAnActivatorWithoutMetricsIsNotSilent(t *testing.T) {
	t.Parallel()
	v := serveRevision(t, 2)
	g := start(t, v.withActivator(func() (int, error) { return 0, errors.New("no answer") }))
	mustStart(t, g, Spec{Shape: Burst, N: 2})
	gaugeIs(t, g, BasisMeasured, 2, 0, 0, 0)
	if told := g.Run().Gauge.Reported; len(told) > 0 {
		t.Errorf("%+v", told)
	}
	close(v.finish)
	wait(t, g)
}

package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"lightsout/internal/labtest"
	"lightsout/internal/testenv"
)

// TestWorkloadsOnTheScreen watches a stateful set while the node of one of its pods
// loses its power, and comes back. An account without the right sees the reason.
func TestWorkloadsOnTheScreen(t *testing.T) {
	testenv.Long(t, 60)
	t.Parallel()
	l := labtest.Lease(t, "vagrant")
	labels := map[string]any{"app": "db"}
	l.API().Do(http.MethodPost, "/apis/apps/v1/namespaces/default/statefulsets", map[string]any{
		"metadata": map[string]any{"name": "db"},
		"spec": map[string]any{"replicas": 2, "serviceName": "db", "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{
				"containers": []any{map[string]any{"name": "nginx", "image": "nginx:1.29"}},
				"topologySpreadConstraints": []any{map[string]any{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname",
					"whenUnsatisfiable": "DoNotSchedule", "labelSelector": map[string]any{"matchLabels": labels}}},
			}}},
	}, nil)
	l.API().Do(http.MethodPost, "/apis/batch/v1/namespaces/default/jobs", map[string]any{
		"metadata": map[string]any{"name": "import"},
		"spec": map[string]any{"backoffLimit": 4, "template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never", "nodeSelector": map[string]any{"kubernetes.io/hostname": "k8s2"},
			"containers": []any{map[string]any{"name": "nginx", "image": "nginx:1.29"}},
		}}},
	}, nil)
	screen := func(config string, more ...string) *terminal {
		command := labtest.Program(t, "lightsout") + " " + strings.Join(append(args(l, config), more...), " ")
		return openTerminal(t, 120, 36, nil, command+"; echo exit $?; exec sleep 600")
	}
	config := func() string {
		return l.ConfigWith(func(c map[string]any) { c["state"] = t.TempDir() })
	}
	x := screen(config())
	x.waitFor("the cluster", time.Minute, `3/3 ready`, `6/6\s+Running`)
	x.keys("W") // once: it leads back, too
	x.waitFor("the workloads", time.Minute, `import\s+job\s+0/1\s+Running\s+its pod counts as failed: 0 of 4`, `db\s+statefulset\s+2/2\s+Running\s+its pod hangs until the node is back`,
		`nginx-webserver\s+service\s+6/6\s+Serving`)
	l.Post("/machines/k8s2/off")
	x.waitFor("what hangs", time.Minute, `db\s+statefulset\s+1/2\s+Partly\s+db-[01] hangs until k8s2 is back`, `nginx-webserver\s+service\s+3/\d\s+Partly`)
	x.waitFor("the job, whose evicted pod counts", time.Minute, `import\s+job\s+0/1\s+Running\s+its pod counts as failed: 1 of 4`)
	x.press("g", `▌○ db`)
	x.keys("d")
	x.waitFor("the rule", time.Minute, `StatefulSet default/db`, `out-of-service`, `Terminating`)
	x.keys("Escape")
	x.waitFor("the pane again", time.Minute, `7 Workloads`)
	l.Post("/machines/k8s2/on")
	x.waitFor("both again", time.Minute, `db\s+statefulset\s+2/2\s+Running`)

	seeing := applyRoles(t, l, "seeing", "lightsout-view")
	x = screen(config(), "--kubeconfig", seeing)
	x.waitFor("the cluster", time.Minute, `3/3 ready`, `6/6\s+Running`)
	x.keys("W") // once: it leads back, too
	x.waitFor("what is forbidden", time.Minute, `nginx-webserver\s+service\s+6/6`, `StatefulSets: forbidden: this account may not list statefulsets`)
}

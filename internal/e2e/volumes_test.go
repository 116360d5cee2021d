package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lightsout/internal/labtest"
	"lightsout/internal/testenv"
)

// TestAReplacementWaitsForTheVolumeOfALostNode has a deployment whose volume one node at a
// time can attach: survey and question say that its replacement waits, the real
// attach/detach controller makes it wait, the return of the node and the taint that the
// question names end that, and the report says why it took so long.
func TestAReplacementWaitsForTheVolumeOfALostNode(t *testing.T) {
	testenv.Long(t, 120)
	t.Parallel()
	l := labtest.Lease(t, "vagrant")
	config := l.ConfigWith(func(c map[string]any) { c["state"] = t.TempDir() })
	const claims, pods = "/api/v1/namespaces/default/persistentvolumeclaims", "/api/v1/namespaces/default/pods?labelSelector=app%3Dnotes"
	once, size := []string{"ReadWriteOnce"}, object{"storage": "1Gi"}
	named := func(name string) object { return object{"name": name} }
	labels := object{"app": "notes"}
	for path, o := range map[string]object{
		"/apis/storage.k8s.io/v1/csidrivers": {"metadata": named("csi.example.internal"), "spec": object{"attachRequired": true}},
		"/api/v1/persistentvolumes": {"metadata": named("pv-notes"), "spec": object{"capacity": size, "accessModes": once, "storageClassName": "block",
			"csi": object{"driver": "csi.example.internal", "volumeHandle": "vol-notes"}, "claimRef": object{"namespace": "default", "name": "notes"}}},
		claims: {"metadata": named("notes"), "spec": object{"accessModes": once, "storageClassName": "block", "volumeName": "pv-notes", "resources": object{"requests": size}}},
		"/apis/apps/v1/namespaces/default/deployments": {"metadata": named("notes"), "spec": object{"replicas": 1, "selector": object{"matchLabels": labels},
			"template": object{"metadata": object{"labels": labels}, "spec": object{"containers": []object{{"name": "nginx", "image": "nginx:1.29"}},
				"volumes": []object{{"name": "data", "persistentVolumeClaim": object{"claimName": "notes"}}}}}}},
	} {
		l.API().Do(http.MethodPost, path, o, nil)
	}
	// states are the phases of the deployment's pods, by node.
	states := func() map[string]string {
		var list struct {
			Items []struct {
				Metadata struct{ DeletionTimestamp string }
				Spec     struct{ NodeName string }
				Status   struct{ Phase string }
			}
		}
		l.API().Do(http.MethodGet, pods, nil, &list)
		out := map[string]string{}
		for _, p := range list.Items {
			if out[p.Spec.NodeName] = p.Status.Phase; p.Metadata.DeletionTimestamp != "" {
				out[p.Spec.NodeName] = "Terminating"
			}
		}
		return out
	}
	node, other := "k8s2", "k8s3"
	until(t, "the pod runs", func() bool {
		if states()[other] == "Running" {
			node, other = other, node
		}
		return states()[node] == "Running"
	})
	out, errs, code := run(t, nil, args(l, config, "survey")...)
	if want := "default/notes: 0 of 1 left, 1 waits for its volume: volume pv-notes stays attached to " + node; code != 0 || !strings.Contains(out, want) {
		t.Errorf("exit %d, no %q in\n%s%s", code, want, out, errs)
	}
	dir := filepath.Join(t.TempDir(), "trial")
	plan := fmt.Sprintf("name: volume\nsteps:\n  - off: [%[1]s]\n  - wait: {for: evicted, within: 2m}\n  - pause: 10s\n  - on: [%[1]s]\n  - wait: {for: ready, within: 3m}\n", node)
	out, errs, code = run(t, nil, args(l, config, "trial", "run", write(t, "volume.yaml", plan), "--yes", "--record", dir)...)
	report, err := os.ReadFile(filepath.Join(dir, "report.md"))
	if want := `Multi-Attach error for volume "pv-notes"`; code != 0 || err != nil || !strings.Contains(string(report), want) {
		t.Errorf("exit %d, %v, no %q in\n%s%s%s", code, err, want, report, out, errs)
	}
	until(t, "the replacement runs once the node is back", func() bool { s := states(); return len(s) == 1 && s[other] == "Running" })
	node, other = other, node
	out, errs, code = run(t, nil, args(l, config, "power", "off", node, "--yes")...)
	if want := "default/notes: 1 replacement waits in ContainerCreating: volume pv-notes stays attached to " + node; code != 0 || !strings.Contains(out, want) {
		t.Errorf("exit %d, no %q in\n%s%s", code, want, out, errs)
	}
	until(t, "the attach/detach controller refuses the volume", func() bool {
		var list struct {
			Items []struct{ Reason, Message string }
		}
		l.API().Do(http.MethodGet, "/api/v1/namespaces/default/events?fieldSelector=reason%3DFailedAttachVolume", nil, &list)
		return len(list.Items) > 1 && strings.HasPrefix(list.Items[1].Message, `Multi-Attach error for volume "pv-notes"`)
	})
	if now := states(); now[node] != "Terminating" || now[other] != "Pending" {
		t.Errorf("the pods: %v", now)
	}
	l.API().Do(http.MethodPatch, "/api/v1/nodes/"+node, object{"spec": object{"taints": []object{{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}}}}, nil)
	until(t, "the replacement runs", func() bool { return states()[other] == "Running" })
	l.API().Do(http.MethodPatch, "/api/v1/nodes/"+node, object{"spec": object{"taints": nil}}, nil)
}

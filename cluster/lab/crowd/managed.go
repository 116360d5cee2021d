package crowd

import (
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// listKeys are the lists whose elements the API server identifies by these fields; it
// treats every other list as one value
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy).
var listKeys = map[string][]string{
	"addresses": {"type"}, "conditions": {"type"}, "containers": {"name"}, "env": {"name"}, "ownerReferences": {"uid"}, "podIPs": {"ip"},
	"ports": {"containerPort", "protocol"}, "volumeMounts": {"mountPath"}, "volumes": {"name"},
}

// unmanaged are the fields that no manager owns.
var unmanaged = map[string]bool{"name": true, "namespace": true, "uid": true, "creationTimestamp": true, "generation": true, "managedFields": true}

// managed returns an object's managedFields as the API server stores them: reporter
// owns the status, writer owns all other fields. They make up as much as half of the
// object.
func managed(o runtime.Object, writer, reporter string, at metav1.Time) []metav1.ManagedFieldsEntry {
	all, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		panic(err) // every object here has a Kubernetes type
	}
	version, _ := all["apiVersion"].(string)
	status := all["status"]
	for _, k := range []string{"status", "kind", "apiVersion"} {
		delete(all, k)
	}
	for k := range unmanaged {
		delete(all["metadata"].(map[string]any), k)
	}
	return []metav1.ManagedFieldsEntry{
		entry(writer, "", version, at, all),
		entry(reporter, "status", version, at, map[string]any{"status": status}),
	}
}

func entry(manager, subresource, version string, at metav1.Time, of map[string]any) metav1.ManagedFieldsEntry {
	raw, err := json.Marshal(fieldSet("", of))
	if err != nil {
		panic(err) // the values are strings
	}
	return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, Operation: metav1.ManagedFieldsOperationUpdate,
		APIVersion: version, Time: &at, FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: raw}}
}

// fieldSet returns the set of fields in a value with this name.
func fieldSet(name string, v any) map[string]any {
	out := map[string]any{}
	switch v := v.(type) {
	case map[string]any:
		for k, one := range v {
			out["f:"+k] = fieldSet(k, one)
		}
		if name != "" && name != "metadata" && name != "spec" && name != "status" && name != "template" {
			out["."] = map[string]any{}
		}
	case []any:
		if listKeys[name] == nil {
			break
		}
		for _, one := range v {
			out[elementKey(listKeys[name], one.(map[string]any))] = fieldSet("element", one)
		}
		if name != "containers" {
			out["."] = map[string]any{}
		}
	}
	return out
}

func elementKey(fields []string, of map[string]any) string {
	var parts []string
	for _, f := range fields {
		name, _ := json.Marshal(f)
		value, _ := json.Marshal(of[f])
		parts = append(parts, string(name)+":"+string(value))
	}
	return "k:{" + strings.Join(parts, ",") + "}"
}

package cluster

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// clientOf is a Client of the server.
func clientOf(t *testing.T, h http.Handler) *Client {
	t.Helper()
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	cfg, err := LoadConfig(Options{Path: writeKubeconfig(t, s.URL, "insecure-skip-tls-verify: true")})
	if err != nil {
		t.Fatal(err)
	}
	i, err := NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Close)
	return i
}

func TestRightsAreAskedForAsTheyAreGranted(t *testing.T) {
	var asked Right
	i := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var q authorizationv1.SelfSubjectAccessReview
		if err := runtime.DecodeInto(codecs.UniversalDeserializer(), body, &q); err != nil {
			t.Error(err)
			return
		}
		a := q.Spec.ResourceAttributes
		asked = Right{a.Group, a.Resource, a.Subresource, a.Verb, a.Namespace, a.Name}
		w.Header().Set("Content-Type", "application/json")
		switch asked.Resource {
		case "broken":
			_, _ = w.Write([]byte("{"))
		case "error":
			w.WriteHeader(500)
			_ = json.NewEncoder(w).Encode(status(500, metav1.StatusReasonInternalError, "\x1b[31mbroken"))
		default:
			_ = json.NewEncoder(w).Encode(map[string]any{"status": map[string]bool{"allowed": asked.Verb == "list"}})
		}
	}))
	for r, want := range map[Right]bool{
		{Resource: "nodes", Verb: "list"}:                                         true,
		{Group: "apps", Resource: "deployments", Verb: "patch", Namespace: "llm"}: false,
		{Resource: "pods", Subresource: "eviction", Verb: "create"}:               false,
	} {
		ok, err := i.May(context.Background(), r)
		if err != nil || ok != want {
			t.Errorf("%s: %v, %v", r, ok, err)
		}
		if asked != r {
			t.Errorf("%s was asked as %+v", r, asked)
		}
	}
	for _, resource := range []string{"broken", "error"} {
		if ok, err := i.May(context.Background(), Right{Resource: resource, Verb: "list"}); err == nil || ok || strings.ContainsAny(err.Error(), "\x1b\n") || !strings.Contains(err.Error(), "may list "+resource) {
			t.Errorf("%s: %v, %v", resource, ok, err)
		}
	}
}

package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lightsout/internal/view"
)

// oneNamespace is a kubeconfig with the namespace team, of an account that may list the
// objects of that namespace and no others.
func oneNamespace(t *testing.T) string {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/version":
			fmt.Fprint(w, `{"gitVersion":"v1.36.3"}`)
		case strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
			fmt.Fprint(w, `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":true}}`)
		case r.URL.Query().Has("watch"):
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case strings.HasSuffix(r.URL.Path, "/namespaces/team/pods"):
			fmt.Fprint(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"web-1","namespace":"team","uid":"u","resourceVersion":"1"}}]}`)
		default:
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
		}
	}))
	t.Cleanup(func() { api.CloseClientConnections(); api.Close() })
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: one, clusters: [{name: c, cluster: {server: "%s"}}], users: [{name: u, user: {token: t}}],
contexts: [{name: one, context: {cluster: c, user: u, namespace: team}}]}`, api.URL)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// An account of one namespace gets that of its context, also where nobody can be asked.
func TestAnAccountOfOneNamespaceSeesIt(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("XDG_STATE_HOME", dir)
	kubeconfig := oneNamespace(t)
	for args, want := range map[string]string{
		"check":                 "deployments.apps in team",
		"--once":                "Pods: 0 of 1 ready",
		"check --namespace abc": "deployments.apps in abc",
	} {
		out, _ := say(t, append(strings.Fields(args), "--kubeconfig", kubeconfig)...)
		if !strings.Contains(out, want) {
			t.Errorf("%s: no %q in\n%s", args, want, out)
		}
	}
}

// Another context shows all namespaces if the one before did; other namespaces keep the context.
func TestAnotherScopeKeepsAllNamespaces(t *testing.T) {
	all := options{}
	all.AllNamespaces = true
	shop := all.at(view.Scope{Namespaces: []string{"shop"}})
	for name, c := range map[string]struct {
		from options
		to   view.Scope
		all  bool
	}{
		"all, another context":  {all, view.Scope{Context: "b"}, true},
		"some, another context": {shop, view.Scope{Context: "b"}, false},
		"some, then all":        {shop, view.Scope{}, true},
	} {
		if o := c.from.at(c.to); o.AllNamespaces != c.all || o.Context != c.to.Context || o.Namespaces != nil {
			t.Errorf("%s: %+v", name, o.Flags)
		}
	}
}

package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lightsout/internal/config"
)

// namesServer starts an API server with two nodes and two deployments, and returns a
// config file for it with additional text.
func namesServer(t *testing.T, more string) (file string) {
	t.Helper()
	answer := func(kind, items string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"kind":"` + kind + `","apiVersion":"` + map[bool]string{true: "v1", false: "apps/v1"}[kind == "NodeList"] + `","metadata":{},"items":[` + items + `]}`))
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/api/v1/nodes", answer("NodeList", `{"metadata":{"name":"k8s1"}},{"metadata":{"name":"k8s2"}}`))
	mux.HandleFunc("/version", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"gitVersion":"v1.36.3"}`)) })
	nginx := `{"metadata":{"name":"nginx-webserver","namespace":"default"}}`
	mux.HandleFunc("/apis/apps/v1/namespaces/default/deployments", answer("DeploymentList", nginx))
	mux.HandleFunc("/apis/apps/v1/namespaces/shop/deployments", answer("DeploymentList", ``))
	mux.HandleFunc("/apis/apps/v1/deployments", answer("DeploymentList", nginx+`,{"metadata":{"name":"db","namespace":"shop"}}`))
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	kubeconfig, file := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "lightsout.yaml")
	for path, text := range map[string]string{
		kubeconfig: `{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":"` + srv.URL + `"}}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{}}]}`,
		file:       "kubeconfig: " + kubeconfig + "\nstate: " + dir + "\n" + more,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

func TestCheckFindsUnknownNames(t *testing.T) {
	for more, want := range map[string][]string{
		"load: {deployment: default/nginx}\n":      {`load.deployment: the cluster has no deployment "default/nginx"`, "default/nginx-webserver"},
		"load: {deployment: shop/bd}\n":            {`the cluster has no deployment "shop/bd"; did you mean "shop/db"?`},
		"production_contexts: [prdo]\n":            {`production_contexts names "prdo"`},
		"context: lab\n":                           {`has no context "lab"; choose another with --context (there are: c)`},
		"power: {nodes: {k8s3: {machine: vm3}}}\n": {`power.nodes names it: the cluster has no node "k8s3"; did you mean`},
		"guards: {protect: [k8s3]}\n":              {`guards.protect names it: the cluster has no node "k8s3"; did you mean`},
	} {
		file := namesServer(t, more)
		c, err := newCheckup(options{Flags: config.Flags{File: file}}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		c.run(t.Context())
		c.close()
		var found []string
		for _, r := range c.rows {
			found = append(found, r.Detail)
		}
		for _, w := range want {
			if text := strings.Join(found, "\n"); !strings.Contains(text, w) {
				t.Errorf("%s: check:\n%s", more, text)
			}
		}
	}
}

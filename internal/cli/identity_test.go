package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"lightsout/cluster"
	"lightsout/internal/config"
	"lightsout/power"
)

// Somebody may grant a right, or provide a credential, while the program runs.
func TestLightsoutAsksForTheClustersIdentityUntilItIsKnown(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if asked.Add(1) == 1 {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
			return
		}
		fmt.Fprint(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"1-2-3"}}`)
	}))
	defer server.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: %q}}]\nusers: [{name: u, user: {}}]\n", server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	access, err := apiAccess(&config.Config{Kubeconfig: kubeconfig}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &app{asked: make(chan struct{}), journal: power.OpenJournal(t.TempDir(), clusterOf(access), "")}
	defer a.journal.Close()
	if a.api, err = cluster.NewClient(access); err != nil {
		t.Fatal(err)
	}
	defer a.api.Close()
	a.identify(t.Context())
	if c := a.journal.Cluster(); c.UID != "1-2-3" || c.Server == "" || asked.Load() != 2 {
		t.Errorf("%+v, asked %d times", c, asked.Load())
	}
	select {
	case <-a.asked:
	default:
		t.Error("asked stays open after the first answer")
	}
}

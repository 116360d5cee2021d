package cluster

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const twoContexts = `apiVersion: v1
kind: Config
contexts:
- {name: one, context: {cluster: c1}}
- {name: two, context: {cluster: missing}}
- {name: three, context: {cluster: c1, user: nobody}}
- {name: four, context: {cluster: nowhere}}
- {name: five, context: {cluster: odd}}
clusters:
- {name: c1, cluster: {server: "https://10.0.0.10:6443"}}
- {name: nowhere, cluster: {}}
- {name: odd, cluster: {server: "10.0.0.10"}}
`

func TestEachErrorOfLoadingNamesTheNextStep(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	good := write(t, twoContexts)
	broken := write(t, "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster: {server: [}\n")
	notOurs := write(t, "apiVersion: v1\nkind: Pod\n")
	for name, tc := range map[string]struct {
		o    Options
		want []string
	}{
		"no file":             {Options{Path: "/no/such/file"}, []string{"/no/such/file does not exist", "--kubeconfig"}},
		"broken":              {Options{Path: broken}, []string{broken, "line 4", "correct"}},
		"another kind":        {Options{Path: notOurs}, []string{notOurs, "correct"}},
		"no current context":  {Options{Path: good}, []string{"no current context", "--context", "five, four, one, three, two"}},
		"unknown context":     {Options{Path: good, Context: "six"}, []string{`no context "six"`, "five, four, one, three, two"}},
		"missing cluster":     {Options{Path: good, Context: "two"}, []string{`context "two" names cluster "missing"`}},
		"missing user":        {Options{Path: good, Context: "three"}, []string{`names user "nobody"`}},
		"cluster without URL": {Options{Path: good, Context: "four"}, []string{`cluster "nowhere", which has no server address`}},
		"not a URL":           {Options{Path: good, Context: "five"}, []string{`cluster "odd"`, "https://host:6443"}},
		"none at all":         {Options{}, []string{"no kubeconfig found", ".kube/config", "KUBECONFIG", "lightsout demo"}},
	} {
		_, err := LoadConfig(tc.o)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, want := range tc.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q lacks %q", name, err, want)
			}
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: more than one line: %q", name, err)
		}
	}
}

func TestKubeconfigFilesAreMergedAsKubectlDoes(t *testing.T) {
	first := write(t, "apiVersion: v1\nkind: Config\ncurrent-context: one\n")
	second := write(t, twoContexts)
	t.Setenv("KUBECONFIG", strings.Join([]string{first, "/no/such/file", second}, string(filepath.ListSeparator)))
	c, err := LoadConfig(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Context != "one" || c.Cluster != "c1" || c.Server != "https://10.0.0.10:6443" || c.Namespace != "default" {
		t.Errorf("%+v", c)
	}
}

func TestConnectionsGoThroughTheDialerAndNeverThroughAProxy(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	f := newFakeAPI(t)
	// The kubeconfig's address exists only behind the dialer.
	path := f.kubeconfig()
	text, _ := os.ReadFile(path)
	host := strings.TrimPrefix(f.URL, "https://")
	path = write(t, strings.Replace(string(text), f.URL, "https://example.com:6443", 1))
	asked := make(chan string, 100)
	cfg, err := LoadConfig(Options{Path: path, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		asked <- address
		return (&net.Dialer{}).DialContext(ctx, network, host)
	}})
	if err != nil {
		t.Fatal(err)
	}
	w := watchConfig(t, cfg)
	w.until("live", func(s *Snapshot) bool { return s.Link.State == LinkLive })
	if got := <-asked; got != "example.com:6443" {
		t.Errorf("dialled %q", got)
	}
	if p, err := cfg.rest.Proxy(&http.Request{}); p != nil || err != nil {
		t.Errorf("proxy %v, %v", p, err)
	}
}

// Without a bastion a proxy is the kubeconfig's, as for kubectl.
func TestTheKubeconfigsProxyIsUsed(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	host := strings.TrimPrefix(f.URL, "https://")
	asked := make(chan string, 100)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.Host
		there, err := net.Dial("tcp", host)
		if err != nil {
			t.Error(err)
			return
		}
		defer there.Close()
		w.WriteHeader(http.StatusOK)
		here, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer here.Close()
		go io.Copy(there, here)
		io.Copy(here, there)
	}))
	t.Cleanup(proxy.Close)
	text, _ := os.ReadFile(f.kubeconfig())
	// Only the proxy knows where the server's name leads.
	server := "https://example.com:6443"
	cfg, err := LoadConfig(Options{Path: write(t, strings.Replace(string(text), f.URL, server+"\n    proxy-url: "+proxy.URL, 1))})
	if err != nil {
		t.Fatal(err)
	}
	w := watchConfig(t, cfg)
	w.until("live", func(s *Snapshot) bool { return s.Link.State == LinkLive })
	if got := <-asked; got != "CONNECT example.com:6443" {
		t.Errorf("the proxy was asked %q", got)
	}
}

// An account that sees one namespace works in that of its context, as with kubectl.
func TestAnAccountOfOneNamespaceGetsThatOfItsContext(t *testing.T) {
	t.Parallel()
	for _, forbidden := range []bool{false, true} {
		f := newFakeAPI(t)
		f.forbidden["pods"] = forbidden
		text, _ := os.ReadFile(f.kubeconfig())
		cfg, err := LoadConfig(Options{Path: write(t, strings.Replace(string(text), "context: {", "context: {namespace: team, ", 1))})
		if err != nil {
			t.Fatal(err)
		}
		api, err := NewClient(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer api.Close()
		if got := api.OnlyNamespace(t.Context()); (got == "team") != forbidden || (got == "") == forbidden {
			t.Errorf("forbidden %v: %q", forbidden, got)
		}
	}
}

func FuzzLoadConfig(f *testing.F) {
	f.Add(twoContexts, "one")
	f.Add("", "")
	f.Add("apiVersion: v1\nkind: Config\ncontexts: [{name: \"\x1b[31m\", context: {}}]", "x")
	f.Fuzz(func(t *testing.T, text, name string) {
		c, err := LoadConfig(Options{Path: write(t, text), Context: name})
		if err == nil && (c.rest == nil || c.Server == "") {
			t.Fatalf("no error and no server: %+v", c)
		}
	})
}

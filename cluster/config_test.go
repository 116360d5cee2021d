package cluster

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
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
		"another kind":        {Options{Path: notOurs}, []string{notOurs, "is broken"}},
		"no current context":  {Options{Path: good}, []string{"no current context", "--context", "five, four, one, three, two"}},
		"unknown context":     {Options{Path: good, Context: "six"}, []string{`no context "six"`, "five, four, one, three, two"}},
		"missing cluster":     {Options{Path: good, Context: "two"}, []string{`context "two" names cluster "missing"`}},
		"missing user":        {Options{Path: good, Context: "three"}, []string{`names user "nobody"`}},
		"cluster without URL": {Options{Path: good, Context: "four"}, []string{`cluster "nowhere"`, "no server address"}},
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

// A SOCKS5 proxy resolves the server's name and carries the connection.
func TestASOCKSProxyIsUsed(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	asked := make(chan string, 100)
	proxy := socksProxy(t, strings.TrimPrefix(f.URL, "https://"), asked)
	text, _ := os.ReadFile(f.kubeconfig())
	cfg, err := LoadConfig(Options{Path: write(t, strings.Replace(string(text), f.URL, "https://example.com:6443\n    proxy-url: socks5://"+proxy, 1))})
	if err != nil {
		t.Fatal(err)
	}
	w := watchConfig(t, cfg)
	w.until("live", func(s *Snapshot) bool { return s.Link.State == LinkLive })
	if got := <-asked; got != "example.com:6443" {
		t.Errorf("the proxy was asked for %q", got)
	}
}

// socksProxy answers SOCKS5 (RFC 1928) without authentication, and leads everybody to target.
func socksProxy(t *testing.T, target string, asked chan<- string) (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	read := func(c net.Conn, n int) []byte {
		b := make([]byte, n)
		if _, err := io.ReadFull(c, b); err != nil {
			return make([]byte, n)
		}
		return b
	}
	serve := func(here net.Conn) {
		defer here.Close()
		read(here, int(read(here, 2)[1])) // the methods that the client offers
		here.Write([]byte{5, 0})
		head := read(here, 5) // version, command, 0, type of the address, length of the name
		name, port := read(here, int(head[4])), read(here, 2)
		if head[3] != 3 {
			return
		}
		asked <- fmt.Sprintf("%s:%d", name, int(port[0])<<8|int(port[1]))
		there, err := net.Dial("tcp", target)
		if err != nil {
			return
		}
		defer there.Close()
		here.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		go io.Copy(there, here)
		io.Copy(here, there)
	}
	go func() {
		for {
			here, err := l.Accept()
			if err != nil {
				return
			}
			go serve(here)
		}
	}()
	return l.Addr().String()
}

// HTTPS_PROXY and NO_PROXY hold for the program as for kubectl; net/http reads them once, so
// a program of its own does.
func TestTheEnvironmentsProxyIsUsedUnlessNoProxyNamesTheServer(t *testing.T) {
	t.Parallel()
	direct := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(direct.Close)
	server := strings.Replace(direct.URL, "127.0.0.1", "0.0.0.0", 1) // this host, and no loopback address, which never has a proxy
	for noProxy, want := range map[string]int{"": 1, "example.net,.internal": 1, "0.0.0.0": 0, "10.0.0.0/8,0.0.0.0/8": 0} {
		asked := make(chan string, 100)
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked <- r.Method + " " + r.Host
			w.WriteHeader(http.StatusBadGateway)
		}))
		defer proxy.Close()
		cmd := exec.Command(os.Args[0], askArg, write(t, strings.ReplaceAll(twoContexts, "https://10.0.0.10:6443", server)))
		cmd.Env = append(os.Environ(), "HTTPS_PROXY="+proxy.URL, "NO_PROXY="+noProxy, "no_proxy=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if len(asked) != want {
			t.Errorf("NO_PROXY=%q: the proxy was asked %d times", noProxy, len(asked))
		}
	}
}

// askArg makes this binary ask the API server of a kubeconfig once.
const askArg = "ask-once"

func askOnce(path string) int {
	cfg, err := LoadConfig(Options{Path: path, Context: "one"})
	if err != nil {
		return 1
	}
	api, err := NewClient(cfg)
	if err != nil {
		return 1
	}
	defer api.Close()
	_, _ = api.Identity(context.Background())
	return 0
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

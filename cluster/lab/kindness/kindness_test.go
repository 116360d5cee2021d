// Package kindness counts what watching costs an API server.
package kindness

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Environment of BenchmarkKindness: the kubeconfig of a server that has nodes and
// pods, the paths of lightsout and of kubectl, how long each phase lasts (long enough
// for all that is listed to come), and how long after another a lightsout is started.
const (
	serverEnv    = "LIGHTSOUT_KUBECONFIG"
	lightsoutEnv = "LIGHTSOUT"
	kubectlEnv   = "KUBECTL"
	spanEnv      = "LIGHTSOUT_SPAN"
	apartEnv     = "LIGHTSOUT_APART"
)

// duration is that of an environment's variable, or the usual one.
func duration(b *testing.B, env string, usual time.Duration) time.Duration {
	v := os.Getenv(env)
	if v == "" {
		return usual
	}
	d, err := time.ParseDuration(v)
	if err != nil || d <= 0 {
		b.Fatalf("%s: %q is no duration", env, v)
	}
	return d
}

// counter is a proxy before an API server that counts what goes through it.
type counter struct {
	*httptest.Server
	requests, bytes atomic.Int64
	gone            atomic.Bool
}

func newCounter(b *testing.B, config *rest.Config) *counter {
	to, err := url.Parse(config.Host)
	if err != nil {
		b.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		b.Fatal(err)
	}
	c := &counter{}
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport:      transport,
		FlushInterval:  -1,
		ModifyResponse: func(r *http.Response) error { r.Body = &counted{r.Body, &c.bytes}; return nil },
		ErrorHandler:   func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.requests.Add(1)
		if c.gone.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	b.Cleanup(func() { c.CloseClientConnections(); c.Close() })
	return c
}

// counted counts the bytes of an answer.
type counted struct {
	io.ReadCloser
	n *atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// watched are the kinds that all of them watch.
var watched = []struct{ group, resource, namespace string }{
	{"", "nodes", ""}, {"", "pods", ""}, {"apps", "deployments", ""},
	{"discovery.k8s.io", "endpointslices", ""}, {"coordination.k8s.io", "leases", "kube-node-lease"}, {"", "events", ""},
}

// BenchmarkKindness counts the requests and the bytes that one and twenty
// lightsouts, kubectl get -w and client-go's informers of the same kinds cost an
// API server: at the start, at rest, and after all connections were cut and the
// server was gone for 3 s. It prints a table; b.N does not repeat it.
func BenchmarkKindness(b *testing.B) {
	config, span := serverConfig(b), duration(b, spanEnv, 20*time.Second)
	perMinute := time.Minute.Seconds() / span.Seconds()
	fmt.Println("| | start: requests, MB | a minute at rest: requests, KB | after a reconnect: requests, MB |\n|---|---|---|---|")
	for _, c := range []struct {
		name  string
		start func(b *testing.B, ctx context.Context, wg *sync.WaitGroup, server string)
	}{
		{"lightsout", lightsouts(1)}, {"20 lightsouts", lightsouts(20)}, {"kubectl get -w, 7 of them", kubectls}, {"client-go informers (protobuf)", informersOf},
	} {
		b.Run(c.name, func(b *testing.B) {
			proxy := newCounter(b, config)
			ctx, stop := context.WithCancel(b.Context())
			var wg sync.WaitGroup
			defer func() { stop(); wg.Wait() }()
			phase := func(d time.Duration) (requests int64, bytes float64) {
				r, n := proxy.requests.Load(), proxy.bytes.Load()
				time.Sleep(d)
				return proxy.requests.Load() - r, float64(proxy.bytes.Load() - n)
			}
			c.start(b, ctx, &wg, proxy.URL)
			phase(span)
			startRequests, startBytes := proxy.requests.Load(), float64(proxy.bytes.Load())
			restRequests, restBytes := phase(span)
			proxy.gone.Store(true)
			proxy.CloseClientConnections()
			time.Sleep(3 * time.Second)
			proxy.gone.Store(false)
			requests, bytes := phase(span)
			fmt.Printf("| %s | %d, %.1f | %.0f, %.0f | %d, %.1f |\n", c.name, startRequests, startBytes/1e6, float64(restRequests)*perMinute, restBytes/1e3*perMinute, requests, bytes/1e6)
			b.ReportMetric(0, "ns/op")
		})
	}
}

// serverConfig leads to the server that is asked.
func serverConfig(b *testing.B) *rest.Config {
	path := os.Getenv(serverEnv)
	if path == "" {
		b.Skip("set " + serverEnv + " to the kubeconfig of a server with nodes and pods")
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		b.Fatal(err)
	}
	return config
}

// kubeconfig leads to a proxy.
func kubeconfig(b *testing.B, server string) string {
	path := filepath.Join(b.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: test, clusters: [{name: test, cluster: {server: "%s"}}],
users: [{name: test, user: {}}], contexts: [{name: test, context: {cluster: test, user: test}}]}`, server)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

// command finds a program by an environment's variable, or by its name.
func command(ctx context.Context, b *testing.B, env, name string, args ...string) *exec.Cmd {
	if path := os.Getenv(env); path != "" {
		name = path
	}
	if _, err := exec.LookPath(name); err != nil {
		b.Skip("set " + env + " to the path of the program")
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

func lightsouts(n int) func(*testing.B, context.Context, *sync.WaitGroup, string) {
	return func(b *testing.B, ctx context.Context, wg *sync.WaitGroup, server string) {
		apart := duration(b, apartEnv, time.Nanosecond)
		for range n {
			time.Sleep(apart)
			runQuietly(b, wg, command(ctx, b, lightsoutEnv, "lightsout", "--kubeconfig", kubeconfig(b, server), "--state", b.TempDir()))
		}
	}
}

func kubectls(b *testing.B, ctx context.Context, wg *sync.WaitGroup, server string) {
	for _, k := range watched {
		args := []string{"--kubeconfig", kubeconfig(b, server), "--cache-dir", b.TempDir(), "get", strings.TrimSuffix(k.resource+"."+k.group, "."), "-w", "-A"}
		if k.namespace != "" {
			args = append(args[:len(args)-1], "-n", k.namespace)
		}
		runQuietly(b, wg, command(ctx, b, kubectlEnv, "kubectl", args...))
	}
}

// runQuietly runs a command until its context ends.
func runQuietly(b *testing.B, wg *sync.WaitGroup, cmd *exec.Cmd) {
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	wg.Go(func() { _ = cmd.Wait() })
}

func informersOf(b *testing.B, ctx context.Context, wg *sync.WaitGroup, server string) {
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf}})
	if err != nil {
		b.Fatal(err)
	}
	f := informers.NewSharedInformerFactory(client, 0)
	for _, k := range watched {
		in := f
		if k.namespace != "" {
			in = informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(k.namespace))
		}
		g, err := in.ForResource(schema.GroupVersionResource{Group: k.group, Version: "v1", Resource: k.resource})
		if err != nil {
			b.Fatal(err)
		}
		wg.Go(func() { g.Informer().Run(ctx.Done()) })
	}
}

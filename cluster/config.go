package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"
)

// Dialer opens one network connection; it must be safe for concurrent use and
// return when ctx ends.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)

// Options choose a cluster.
type Options struct {
	// Path of a kubeconfig, as kubectl's --kubeconfig; empty: the files that
	// KUBECONFIG lists, else ~/.kube/config, else the pod's own account when
	// running inside a cluster.
	Path string
	// Context of the kubeconfig; empty: its current one.
	Context string
	// Dial opens the connections to the API server, for instance through a
	// bastion; nil: directly.
	Dial Dialer
}

// Config describes the way to one cluster.
type Config struct {
	// Context, Cluster and User are the kubeconfig's names; Server is the API
	// server's URL, Namespace the context's own ("default" if it has none).
	Context, Cluster, User, Server, Namespace string
	// Proxy is the URL of the proxy before the API server, without a password; empty if there is none.
	Proxy string

	rest   *rest.Config
	plugin *plugin // nil without one
}

// LoadConfig reads the kubeconfig as kubectl does: files listed in KUBECONFIG are
// merged, missing ones of them skipped; certificates, tokens and exec plugins work;
// see Client.LogIn for plugins that ask. LoadConfig sends nothing.
// Every error is one sentence that names the file or context, and the next step.
func LoadConfig(o Options) (*Config, error) {
	raw, where, err := loadKubeconfig(o.Path)
	if err != nil {
		return nil, err
	}
	if raw == nil {
		return inCluster(o)
	}
	c, err := resolve(raw, where, o)
	if err != nil {
		return nil, err
	}
	return c.prepare(o), nil
}

// loadKubeconfig returns the merged kubeconfig and the names of its files; nil without
// an error if there is none but the program runs in a pod.
func loadKubeconfig(path string) (*clientcmdapi.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.Warner = func(error) {}
	rules.ExplicitPath = path
	raw, err := rules.Load()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", fmt.Errorf("kubeconfig %s does not exist; check --kubeconfig, or kubeconfig in the config file", path)
	case err != nil:
		return nil, "", fmt.Errorf("the kubeconfig can't be used: %s; correct it, or choose another file with --kubeconfig", flat(err))
	}
	paths := rules.GetLoadingPrecedence()
	found := slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		_, err := os.Stat(path)
		return err != nil
	})
	if len(found) > 0 {
		return raw, strings.Join(found, ", "), nil
	}
	if _, err := rest.InClusterConfig(); err == nil {
		return nil, "", nil
	}
	return nil, "", &NoKubeconfigError{fmt.Sprintf("no kubeconfig found (looked for %s); set KUBECONFIG or pass --kubeconfig (\"lightsout demo\" needs none)", strings.Join(paths, ", "))}
}

// NoKubeconfigError reports that none of the files that KUBECONFIG lists exists, or that there is no
// ~/.kube/config.
type NoKubeconfigError struct{ text string }

func (e *NoKubeconfigError) Error() string { return e.text }

// NoContextError reports a context that the kubeconfig lacks.
type NoContextError struct{ Kubeconfig, Context, there string }

func (e *NoContextError) Error() string {
	return fmt.Sprintf("kubeconfig %s has no context %q; choose another with --context (%s)", e.Kubeconfig, e.Context, e.there)
}

// resolve finds the context, its cluster and its user, as client-go does.
func resolve(raw *clientcmdapi.Config, where string, o Options) (*Config, error) {
	name := cmp.Or(o.Context, raw.CurrentContext)
	there := "the kubeconfig has no contexts"
	if len(raw.Contexts) > 0 {
		there = "there are: " + harmless(strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", "))
	}
	if name == "" {
		return nil, fmt.Errorf("kubeconfig %s has no current context; choose one with --context (%s)", where, there)
	}
	ctx := raw.Contexts[name]
	if ctx == nil {
		return nil, &NoContextError{Kubeconfig: where, Context: name, there: there}
	}
	cluster := raw.Clusters[ctx.Cluster]
	if cluster == nil || cluster.Server == "" {
		return nil, fmt.Errorf("context %q names cluster %q, which has no server address in kubeconfig %s; add one or choose another context", name, ctx.Cluster, where)
	}
	if ctx.AuthInfo != "" && raw.AuthInfos[ctx.AuthInfo] == nil {
		return nil, fmt.Errorf("context %q names user %q, which kubeconfig %s does not have; add it or choose another context", name, ctx.AuthInfo, where)
	}
	u, err := url.Parse(cluster.Server)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return nil, fmt.Errorf("cluster %q of kubeconfig %s has no valid server address (%q); it must look like https://host:6443", ctx.Cluster, where, cluster.Server)
	}
	rc, err := clientcmd.NewNonInteractiveClientConfig(*raw, name, &clientcmd.ConfigOverrides{}, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("context %q of kubeconfig %s cannot be used: %s; correct it", name, where, flat(err))
	}
	return &Config{
		Context: harmless(name), Cluster: harmless(ctx.Cluster), User: harmless(ctx.AuthInfo),
		Server: harmless(u.Scheme + "://" + u.Host + u.Path), Namespace: cmp.Or(nameOf(ctx.Namespace), "default"),
		rest: rc,
	}, nil
}

func inCluster(o Options) (*Config, error) {
	rc, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("the pod's service account cannot be used: %s", flat(err))
	}
	if o.Context != "" {
		return nil, fmt.Errorf("no kubeconfig found, so there is no context %q; pass --kubeconfig", o.Context)
	}
	c := &Config{Context: "in-cluster", Cluster: "in-cluster", Server: rc.Host, Namespace: "default", rest: rc}
	return c.prepare(o), nil
}

// prepare sets lightsout's own fields of the rest.Config.
func (c *Config) prepare(o Options) *Config {
	rc := c.rest
	if o.Dial != nil {
		// The bastion is the way to the API server; a proxy would be asked from there.
		rc.Dial = o.Dial
		rc.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	}
	c.Proxy = proxyFor(rc)
	rc.ContentType = "application/vnd.kubernetes.protobuf"
	rc.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	rc.QPS, rc.Burst = -1, -1 // the server's own fairness limits us
	rc.WarningHandler = rest.NoWarnings{}
	rc.UserAgent = "lightsout"
	if rc.ExecProvider != nil {
		c.plugin = newPlugin(rc.ExecProvider)
	}
	return c
}

// proxyFor is the proxy that client-go will use: proxy-url, else the environment's.
func proxyFor(rc *rest.Config) string {
	find := rc.Proxy
	if find == nil {
		find = http.ProxyFromEnvironment
	}
	server, err := url.Parse(rc.Host)
	if err != nil {
		return ""
	}
	proxy, err := find(&http.Request{URL: server})
	if proxy == nil || err != nil {
		return ""
	}
	return harmless(proxy.Scheme + "://" + proxy.Host)
}

// SetLog sends everything that client-go would write to standard error to l,
// and nowhere when l is nil. It is for the whole process: call it once, before
// the first Watcher is made.
func SetLog(l *slog.Logger) {
	klog.SetSlogLogger(cmp.Or(l, slog.New(slog.DiscardHandler)))
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
}

// flat is an error's text on one harmless line.
func flat(err error) string { return harmless(err.Error()) }

// Contexts lists the names of the contexts of the kubeconfig at path, which is
// looked for as LoadConfig does: sorted, none where it can't be read.
func Contexts(path string) []string {
	raw, _, err := loadKubeconfig(path)
	if err != nil || raw == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(raw.Contexts))
}

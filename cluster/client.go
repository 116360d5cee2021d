package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
)

// The API groups that lightsout reads. A scheme with only these groups keeps about
// fifty others out of the program.
var (
	scheme         = runtime.NewScheme()
	codecs         = serializer.NewCodecFactory(scheme)
	parameterCodec = runtime.NewParameterCodec(scheme)
)

func init() {
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme, coordinationv1.AddToScheme, discoveryv1.AddToScheme, policyv1.AddToScheme, storagev1.AddToScheme,
		authorizationv1.AddToScheme, addKnative,
	} {
		utilruntime.Must(add(scheme))
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
}

// callTimeout bounds a call whose context has no deadline.
const callTimeout = 10 * time.Second

// Client makes single calls to the API server; a Watcher follows through it.
// Each call is sent once, ends with its context (after 10 s where that has no
// deadline), whatever hangs on the way, and gives errors of one sentence. Safe
// for use by several goroutines.
type Client struct {
	lines [lineCount]*rest.RESTClient

	cfg     *Config
	traffic *traffic

	mu  sync.Mutex
	uid string // UID of the cluster that answered first; empty until then
	// learned are the kinds that List has found, beside resources.
	learned map[Kind]resource
}

// NewClient makes a Client; it sends nothing. The error reports unusable credentials in
// the kubeconfig.
func NewClient(cfg *Config) (*Client, error) {
	askIdleConnections()
	c := &Client{cfg: cfg, traffic: newTraffic(), learned: map[Kind]resource{}}
	for l := range lineCount {
		rc := rest.CopyConfig(cfg.rest)
		rc.Dial = c.traffic.dialer(l, rc.Dial)
		rc.Wrap(func(rt http.RoundTripper) http.RoundTripper {
			return c.traffic.wrap(l, rt)
		})
		hc, err := rest.HTTPClientFor(rc)
		if err != nil {
			return nil, fmt.Errorf("the credentials of context %q cannot be used: %s; correct the kubeconfig", cfg.Context, flat(err))
		}
		if cfg.plugin != nil {
			hc.Transport = cfg.plugin.wrap(hc.Transport)
		}
		hc.Transport = endsWithContext(hc.Transport)
		rc.GroupVersion, rc.APIPath, rc.NegotiatedSerializer = &corev1.SchemeGroupVersion, "/api", codecs.WithoutConversion()
		c.lines[l], err = rest.RESTClientForConfigAndClient(rc, hc)
		if err != nil {
			return nil, fmt.Errorf("context %q of the kubeconfig cannot be used: %s", cfg.Context, flat(err))
		}
	}
	return c, nil
}

// get starts a request, which is sent once.
func (c *Client) get() *rest.Request { return c.lines[mainLine].Get().MaxRetries(0) }

// askIdleConnections makes HTTP/2 send a PING on an idle connection and close the
// connection when no answer arrives within the time after which lightsout gives up on a
// server: one connection may be dead while another works. client-go takes these times
// from the environment only, and its default is 45 s.
var askIdleConnections = sync.OnceFunc(func() {
	for name, after := range map[string]time.Duration{"HTTP2_READ_IDLE_TIMEOUT_SECONDS": idleMax, "HTTP2_PING_TIMEOUT_SECONDS": probeTimeout} {
		if os.Getenv(name) == "" {
			_ = os.Setenv(name, strconv.Itoa(int(after.Seconds())))
		}
	}
})

// Close ends every connection, also those that are being read from, and opens
// no more.
func (c *Client) Close() { c.traffic.close() }

// bounded gives ctx a deadline if it has none.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, callTimeout)
}

// because describes why a call failed; the context's cause counts too.
func (c *Client) because(ctx context.Context, err error) string {
	return describe(errors.Join(err, ctx.Err()), c.cfg)
}

// errCredentials: the time ran out while a credential plugin was being waited for.
var errCredentials = errors.New("the credential plugin does not answer")

// endsWithContext gives a request up when its context ends, even while a
// credential plugin hangs, which client-go waits for without looking at the
// context. The goroutine that waits goes when the plugin does.
func endsWithContext(rt http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		wait := &credentialWait{release: func() {}}
		r = r.WithContext(context.WithValue(r.Context(), credentialKey{}, wait))
		type result struct {
			resp *http.Response
			err  error
		}
		done := make(chan result, 1)
		go func() {
			resp, err := rt.RoundTrip(r)
			done <- result{resp, err}
		}()
		select {
		case x := <-done:
			return x.resp, x.err
		case <-r.Context().Done():
		}
		go func() {
			if x := <-done; x.err == nil {
				x.resp.Body.Close()
			}
		}()
		if !wait.over.Load() {
			return nil, errors.Join(errCredentials, r.Context().Err())
		}
		return nil, r.Context().Err()
	})
}

// credentialKey is the context key of a request's *credentialWait.
type credentialKey struct{}

// credentialWait is a request's wait for its credentials.
type credentialWait struct {
	over    atomic.Bool
	release func() // the next request may get its credentials
}

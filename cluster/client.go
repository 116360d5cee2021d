package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
)

// The four API groups that are read. A scheme of their own keeps the other
// fifty out of the program.
var (
	scheme         = runtime.NewScheme()
	codecs         = serializer.NewCodecFactory(scheme)
	parameterCodec = runtime.NewParameterCodec(scheme)
)

func init() {
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, coordinationv1.AddToScheme, discoveryv1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
}

// proxyBodyMax bounds what PodProxyGet reads.
const proxyBodyMax = 8 << 20

// client is one connection to the API server, shared by all groups.
type client struct {
	core, apps, coordination, discovery *rest.RESTClient
	pulse                               *pulse
	server                              string
	http                                *http.Client
}

// newClient builds the clients; nothing is sent. Every connection is kept by
// the pulse, and every byte received is noted there.
func newClient(cfg *Config) (*client, error) {
	c := &client{pulse: newPulse(), server: cfg.Server}
	rc := rest.CopyConfig(cfg.rest)
	rc.Dial = c.pulse.dialer(rc.Dial)
	rc.Wrap(c.pulse.wrap)
	hc, err := rest.HTTPClientFor(rc)
	if err != nil {
		return nil, fmt.Errorf("the credentials of context %q cannot be used: %s; correct the kubeconfig", cfg.Context, flat(err))
	}
	c.http = hc
	for _, g := range []struct {
		to   **rest.RESTClient
		gv   schema.GroupVersion
		path string
	}{
		{&c.core, corev1.SchemeGroupVersion, "/api"},
		{&c.apps, appsv1.SchemeGroupVersion, "/apis"},
		{&c.coordination, coordinationv1.SchemeGroupVersion, "/apis"},
		{&c.discovery, discoveryv1.SchemeGroupVersion, "/apis"},
	} {
		gc := rest.CopyConfig(rc)
		gc.GroupVersion, gc.APIPath = &g.gv, g.path
		gc.NegotiatedSerializer = codecs.WithoutConversion()
		*g.to, err = rest.RESTClientForConfigAndClient(gc, hc)
		if err != nil {
			return nil, fmt.Errorf("context %q of the kubeconfig cannot be used: %s", cfg.Context, flat(err))
		}
	}
	return c, nil
}

// close ends every connection, also those that a watch is still reading from,
// and opens no more.
func (c *client) close() {
	c.http.CloseIdleConnections()
	c.pulse.close()
}

// PodProxyGet asks a pod for path on port through the API server's pods/proxy
// and gives the body of its answer, at most 8 MiB. It is sent once, and ends
// with ctx; without a deadline it is given 10 s. The error is one sentence;
// errors.Is finds context.DeadlineExceeded in it. It works until Run has ended.
func (w *Watcher) PodProxyGet(ctx context.Context, namespace, pod string, port int, path string) ([]byte, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
	}
	what := fmt.Sprintf("pod %s/%s port %d", harmless(namespace), harmless(pod), port)
	path, query, _ := strings.Cut(path, "?")
	req := w.client.core.Get().MaxRetries(0).
		Namespace(namespace).Resource("pods").Name(pod+":"+strconv.Itoa(port)).
		SubResource("proxy").Suffix(path).
		SetHeader("Accept", "*/*")
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be asked: the query %q is not valid", what, harmless(query))
	}
	for name, all := range values {
		for _, v := range all {
			req.Param(name, v)
		}
	}
	body, err := req.Stream(ctx)
	if err != nil {
		return nil, proxyError(what, w.client.server, err)
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, proxyBodyMax+1))
	if err != nil {
		return nil, proxyError(what, w.client.server, err)
	}
	if len(data) > proxyBodyMax {
		return nil, fmt.Errorf("%s answers more than %d MiB; ask for less", what, proxyBodyMax>>20)
	}
	return data, nil
}

func proxyError(what, server string, err error) error {
	switch {
	case apierrors.IsForbidden(err):
		return sentence(fmt.Sprintf("%s cannot be asked: forbidden; the user needs get on pods/proxy", what), err)
	case apierrors.IsNotFound(err):
		return sentence(fmt.Sprintf("%s cannot be asked: there is no such pod or path", what), err)
	case errors.Is(err, context.DeadlineExceeded):
		return sentence(what+" did not answer in time", err)
	}
	return sentence(fmt.Sprintf("%s cannot be asked: %s", what, describe(err, server)), err)
}

// RolloutRestart makes a deployment replace its pods, as kubectl rollout restart
// does, by an annotation on its pod template. It ends with ctx; without a
// deadline it is given 10 s. A paused deployment is refused.
func (w *Watcher) RolloutRestart(ctx context.Context, dep Key) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
	}
	what := fmt.Sprintf("deployment %s", harmless(dep.String()))
	fail := func(err error) error {
		switch {
		case apierrors.IsNotFound(err):
			return sentence(what+" cannot be restarted: there is none of this name", err)
		case apierrors.IsForbidden(err):
			return sentence(what+" cannot be restarted: forbidden; the user needs get and patch on deployments", err)
		}
		return sentence(fmt.Sprintf("%s cannot be restarted: %s", what, describe(err, w.client.server)), err)
	}
	var d appsv1.Deployment
	err := w.client.apps.Get().MaxRetries(0).Namespace(dep.Namespace).Resource("deployments").Name(dep.Name).Do(ctx).Into(&d)
	if err != nil {
		return fail(err)
	}
	if d.Spec.Paused {
		return fmt.Errorf("%s is paused and cannot be restarted; resume it first", what)
	}
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`,
		time.Now().Format(time.RFC3339))
	err = w.client.apps.Patch(types.StrategicMergePatchType).MaxRetries(0).
		Namespace(dep.Namespace).Resource("deployments").Name(dep.Name).
		VersionedParams(&metav1.PatchOptions{FieldManager: "lightsout"}, parameterCodec).
		Body([]byte(patch)).Do(ctx).Error()
	if err != nil {
		return fail(err)
	}
	return nil
}

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	"lightsout/internal/text"
)

const (
	// proxyBodyMax bounds what PodProxyGet reads, configzMax a kubelet's answer, jsonMax one to fetch.
	proxyBodyMax = 8 << 20
	configzMax   = 1 << 20
	jsonMax      = 16 << 20
)

// Right is something that a user may or may not do, in the terms of RBAC.
type Right struct {
	// Group is the API group, empty for the core one.
	Group, Resource, Subresource, Verb string
	// Namespace is empty for all namespaces, and for kinds without one; Name is empty
	// for all objects.
	Namespace, Name string
}

// String gives the right in kubectl's words: "patch deployments.apps".
func (r Right) String() string {
	s := r.Verb + " " + schema.GroupResource{Group: r.Group, Resource: r.Resource}.String()
	if r.Subresource != "" {
		s += "/" + r.Subresource
	}
	if r.Name != "" {
		s += " " + r.Name
	}
	return s
}

// Version gives the server's gitVersion, "v1.36.3".
func (c *Client) Version(ctx context.Context) (string, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	body, err := c.get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return "", sentence(c.because(ctx, err), err)
	}
	var v version.Info
	if json.Unmarshal(body, &v) != nil || v.GitVersion == "" {
		return "", fmt.Errorf("the API server at %s does not report its version; check the server address", hostOf(c.cfg.Server))
	}
	return harmless(v.GitVersion), nil
}

// May asks whether the user has a right (SelfSubjectAccessReview), which every
// user may ask. An error means that there was no answer.
func (c *Client) May(ctx context.Context, r Right) (bool, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	review := authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: r.Namespace, Verb: r.Verb, Group: r.Group, Resource: r.Resource, Subresource: r.Subresource, Name: r.Name,
		}},
	}
	err := c.lines[mainLine].Post().MaxRetries(0).AbsPath("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews").Body(&review).Do(ctx).Into(&review)
	if err != nil {
		return false, sentence("cannot tell whether the user may "+r.String()+": "+c.because(ctx, err), err)
	}
	return review.Status.Allowed, nil
}

// Nodes lists the nodes once, as they are now. Renewed is when the kubelet last reported its status.
func (c *Client) Nodes(ctx context.Context) ([]*Node, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	var list corev1.NodeList
	if err := c.get().Resource("nodes").Do(ctx).Into(&list); err != nil {
		return nil, sentence("the nodes can't be listed: "+c.why(ctx, err, "list on nodes", ""), err)
	}
	out := make([]*Node, 0, len(list.Items))
	for i := range list.Items {
		n := trimNode(&list.Items[i])
		n.Renewed = statusReported(&list.Items[i])
		out = append(out, n)
	}
	return out, nil
}

// statusReported returns when the kubelet last reported the status of its node, by the node's clock; zero
// if unknown. A kubelet reports an unchanged status every 5 minutes (nodeStatusReportFrequency), and
// nobody else touches that time.
func statusReported(n *corev1.Node) time.Time {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return moment(c.LastHeartbeatTime.Time)
		}
	}
	return time.Time{}
}

// Namespaces lists the names of all namespaces, sorted.
func (c *Client) Namespaces(ctx context.Context) ([]string, error) {
	return c.names(ctx, resources[KindNamespace], "")
}

// OnlyNamespace returns the namespace of the kubeconfig's context if the account may not
// list the pods of all namespaces; empty if it may, or if the server does not answer within 5 s.
func (c *Client) OnlyNamespace(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := c.get().Resource("pods").Param("limit", "1").Do(ctx).Error(); apierrors.IsForbidden(err) {
		return c.cfg.Namespace
	}
	return ""
}

// Deployments lists the names (namespace/name) of a namespace's deployments, or with an
// empty one of all, sorted.
func (c *Client) Deployments(ctx context.Context, namespace string) ([]string, error) {
	return c.names(ctx, resources[KindDeployment], namespace)
}

// names lists what the objects of a resource are called, sorted.
func (c *Client) names(ctx context.Context, r resource, namespace string) ([]string, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	var list metav1.PartialObjectMetadataList
	if err := fetch(ctx, r.of(c.get(), namespace), asNames, &list); err != nil {
		return nil, sentence("the "+r.plural+" can't be listed: "+c.why(ctx, err, "list on "+r.plural, ""), err)
	}
	out := text.Each(list.Items, func(o metav1.PartialObjectMetadata) string { return Key{nameOf(o.Namespace), nameOf(o.Name)}.String() })
	slices.Sort(out)
	return out, nil
}

// CanBeNamespace reports whether a namespace can have the name: an RFC 1123 label.
func CanBeNamespace(name string) bool { return len(validation.IsDNS1123Label(name)) == 0 }

// Kubelet asks a node's kubelet for its configuration, by nodes/proxy.
func (c *Client) Kubelet(ctx context.Context, node string) (Kubelet, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	what := "the configuration of the kubelet on " + harmless(node) + " can't be read: "
	body, err := read(ctx, c.get().Resource("nodes").Name(node).SubResource("proxy").Suffix("configz").
		SetHeader("Accept", "application/json"), configzMax)
	switch {
	case apierrors.IsForbidden(err):
		return Kubelet{}, sentence(what+"forbidden; the user needs get on nodes/proxy", err)
	case err != nil && ctx.Err() != nil:
		return Kubelet{}, sentence(what+"it does not answer", errors.Join(err, ctx.Err()))
	case err != nil:
		return Kubelet{}, sentence(what+"the API server can't reach it", err)
	}
	k, err := parseConfigz(body)
	if err != nil {
		return Kubelet{}, sentence(what+err.Error(), err)
	}
	return k, nil
}

// read gives the body of an answer, and no more than one byte above most of it.
func read(ctx context.Context, r *rest.Request, most int64) ([]byte, error) {
	body, err := r.Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(io.LimitReader(body, most+1))
}

// fetch reads an answer of that media type, which is JSON.
func fetch(ctx context.Context, r *rest.Request, accept string, into any) error {
	body, err := read(ctx, r.SetHeader("Accept", accept), jsonMax)
	if err == nil && json.Unmarshal(body, into) != nil {
		return &reported{text: fmt.Sprintf("lightsout cannot parse the answer, or it is longer than %d MiB", jsonMax>>20)}
	}
	return err
}

// PodProxyGet asks a pod for path on port through the API server's pods/proxy
// and gives the body of its answer, at most 8 MiB. errors.Is finds
// context.DeadlineExceeded in its error.
func (c *Client) PodProxyGet(ctx context.Context, namespace, pod string, port int, path string) ([]byte, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	what := fmt.Sprintf("pod %s/%s port %d", harmless(namespace), harmless(pod), port)
	uri := fmt.Sprintf("/api/v1/namespaces/%s/pods/%s:%d/proxy/%s", namespace, pod, port, strings.TrimPrefix(path, "/"))
	data, err := read(ctx, c.get().RequestURI(uri).SetHeader("Accept", "*/*"), proxyBodyMax)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, sentence(what+" did not answer in time", err)
	case err != nil:
		return nil, sentence(what+" cannot be asked: "+c.why(ctx, err, "get on pods/proxy", "there is no such pod or path"), err)
	case len(data) > proxyBodyMax:
		return nil, fmt.Errorf("the answer of %s is larger than %d MiB; request less", what, proxyBodyMax>>20)
	}
	return data, nil
}

// RolloutRestart makes a deployment replace its pods, as kubectl rollout restart
// does, by an annotation on its pod template. A paused deployment is refused.
func (c *Client) RolloutRestart(ctx context.Context, dep Key) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	what, deployments := "deployment "+harmless(dep.String()), resources[KindDeployment]
	var d appsv1.Deployment
	err := c.sameCluster(ctx, mainLine)
	if err == nil {
		err = deployments.of(c.get(), dep.Namespace).Name(dep.Name).Do(ctx).Into(&d)
	}
	if err == nil && d.Spec.Paused {
		return fmt.Errorf("%s is paused and cannot be restarted; resume it first", what)
	}
	if err == nil {
		patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`,
			time.Now().Format(time.RFC3339))
		err = deployments.of(c.lines[mainLine].Patch(types.StrategicMergePatchType), dep.Namespace).Name(dep.Name).
			VersionedParams(&metav1.PatchOptions{FieldManager: fieldManager}, parameterCodec).
			Body([]byte(patch)).Do(ctx).Error()
	}
	if err != nil {
		return sentence(what+" cannot be restarted: "+c.why(ctx, err, "get and patch on deployments", "it does not exist"), err)
	}
	return nil
}

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Right is something that a user may or may not do, in the terms of RBAC.
type Right struct {
	// Group is the API group, empty for the core one.
	Group, Resource, Subresource, Verb string
	// Namespace is empty for all namespaces, and for what has none.
	Namespace string
}

// String gives the right in kubectl's words: "patch deployments.apps".
func (r Right) String() string {
	s := r.Verb + " " + r.Resource
	if r.Group != "" {
		s += "." + r.Group
	}
	if r.Subresource != "" {
		s += "/" + r.Subresource
	}
	return s
}

// Inspector asks the API server single questions and watches nothing. It
// changes nothing in the cluster. It is safe for use by several goroutines.
type Inspector struct {
	client *client
	server string
}

// questionTimeout bounds one question of an Inspector.
const questionTimeout = 10 * time.Second

// NewInspector makes an Inspector; nothing is sent. The error says that the
// credentials in the kubeconfig can't be used.
func NewInspector(cfg *Config) (*Inspector, error) {
	c, err := newClient(cfg)
	if err != nil {
		return nil, err
	}
	return &Inspector{client: c, server: cfg.Server}, nil
}

// Close ends its connections.
func (i *Inspector) Close() { i.client.close() }

// Version gives the server's gitVersion, "v1.36.3". The error is one sentence.
func (i *Inspector) Version(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, questionTimeout)
	defer cancel()
	body, err := i.client.core.Get().MaxRetries(0).AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return "", sentence(describe(errors.Join(err, ctx.Err()), i.server), err)
	}
	var v struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := json.Unmarshal(body, &v); err != nil || v.GitVersion == "" {
		return "", fmt.Errorf("the API server at %s does not tell its version; is it one?", hostOf(i.server))
	}
	return harmless(v.GitVersion), nil
}

// May asks whether the user has a right (SelfSubjectAccessReview), which every
// user may ask. An error means that there was no answer.
func (i *Inspector) May(ctx context.Context, r Right) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, questionTimeout)
	defer cancel()
	question, err := json.Marshal(map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": map[string]string{
			"namespace": r.Namespace, "verb": r.Verb, "group": r.Group, "resource": r.Resource, "subresource": r.Subresource,
		}},
	})
	if err != nil {
		return false, err
	}
	body, err := i.client.core.Post().MaxRetries(0).AbsPath("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews").
		SetHeader("Content-Type", "application/json").SetHeader("Accept", "application/json").
		Body(question).Do(ctx).Raw()
	if err != nil {
		return false, sentence("it can't be told whether the user may "+r.String()+": "+describe(errors.Join(err, ctx.Err()), i.server), err)
	}
	var answer struct {
		Status struct {
			Allowed bool `json:"allowed"`
		} `json:"status"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return false, fmt.Errorf("it can't be told whether the user may %s: the answer is not understood", r)
	}
	return answer.Status.Allowed, nil
}

// Nodes lists the nodes once, as they are now.
func (i *Inspector) Nodes(ctx context.Context) ([]*Node, error) {
	ctx, cancel := context.WithTimeout(ctx, questionTimeout)
	defer cancel()
	var list corev1.NodeList
	if err := i.client.core.Get().MaxRetries(0).Resource("nodes").Do(ctx).Into(&list); err != nil {
		if apierrors.IsForbidden(err) {
			return nil, sentence(deniedSentence(KindNode, ""), err)
		}
		return nil, sentence("the nodes can't be listed: "+describe(errors.Join(err, ctx.Err()), i.server), err)
	}
	out := make([]*Node, 0, len(list.Items))
	for k := range list.Items {
		if n, ok := trimNode(&list.Items[k]).(*Node); ok {
			out = append(out, n)
		}
	}
	return out, nil
}

// Kubelet asks a node's kubelet for its configuration, by nodes/proxy.
func (i *Inspector) Kubelet(ctx context.Context, node string) (Kubelet, error) {
	ctx, cancel := context.WithTimeout(ctx, questionTimeout)
	defer cancel()
	what := "the configuration of the kubelet on " + harmless(node) + " can't be read: "
	body, err := i.client.core.Get().MaxRetries(0).Resource("nodes").Name(node).SubResource("proxy").Suffix("configz").
		SetHeader("Accept", "application/json").Do(ctx).Raw()
	switch {
	case apierrors.IsForbidden(err):
		return Kubelet{}, sentence(what+"forbidden; the user needs get on nodes/proxy", err)
	case err != nil && ctx.Err() != nil:
		return Kubelet{}, sentence(what+"it does not answer", err)
	case err != nil:
		return Kubelet{}, sentence(what+"the API server can't reach it", err)
	}
	k, err := parseConfigz(body)
	if err != nil {
		return Kubelet{}, sentence(what+err.Error(), err)
	}
	return k, nil
}

package cluster

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Namespaces lists the names of all namespaces, sorted.
func (c *Client) Namespaces(ctx context.Context) ([]string, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	var list corev1.NamespaceList
	if err := c.core.Get().MaxRetries(0).Resource("namespaces").Do(ctx).Into(&list); err != nil {
		if apierrors.IsForbidden(err) {
			return nil, sentence("the namespaces can't be listed: forbidden; the user needs list on namespaces", err)
		}
		return nil, sentence("the namespaces can't be listed: "+c.because(ctx, err), err)
	}
	var out []string
	for i := range list.Items {
		out = append(out, harmless(list.Items[i].Name))
	}
	slices.Sort(out)
	return out, nil
}

package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	selectors "k8s.io/apimachinery/pkg/labels"
)

// Service is a Kubernetes service whose selector fits an object's pods.
type Service struct {
	Key
	Type string
	// Ports are as "http 80/TCP, 443/TCP on node port 30443".
	Ports string
}

// servicesOf reads the services that select the pods of an object; none if it has no
// pods. why is the reason, in one sentence, why they are unknown.
func (c *Client) servicesOf(ctx context.Context, kind Kind, o *described) (found []Service, why string) {
	own := o.Spec.Template.Labels
	if kind == KindPod {
		own = o.Labels
	}
	if len(own) == 0 {
		return nil, ""
	}
	raw, err := c.listed(ctx, resource{apiVersion: "v1", plural: "services"}, o.Namespace, "")
	if err != nil {
		return nil, harmless(c.why(ctx, err, "list on services", ""))
	}
	for _, item := range raw {
		var s corev1.Service
		if json.Unmarshal(item, &s) != nil || len(s.Spec.Selector) == 0 || !selectors.SelectorFromSet(s.Spec.Selector).Matches(selectors.Set(own)) {
			continue
		}
		v := Service{Key: Key{o.Namespace, nameOf(s.Name)}, Type: harmless(cmp.Or(string(s.Spec.Type), "ClusterIP"))}
		if s.Spec.ClusterIP == corev1.ClusterIPNone {
			v.Type = "headless"
		}
		var ports []string
		for _, p := range s.Spec.Ports {
			text := strings.TrimSpace(fmt.Sprintf("%s %d/%s", p.Name, p.Port, cmp.Or(p.Protocol, corev1.ProtocolTCP)))
			if p.NodePort > 0 {
				text += fmt.Sprintf(" on node port %d", p.NodePort)
			}
			ports = append(ports, harmless(text))
		}
		v.Ports = strings.Join(ports, ", ")
		found = append(found, v)
	}
	slices.SortFunc(found, func(a, b Service) int { return cmp.Compare(a.Name, b.Name) })
	return found, ""
}

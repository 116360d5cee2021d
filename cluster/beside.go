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

// usageOf reads the CPU and memory that a node or a pod uses, as metrics-server
// measured it; empty for other kinds. why is the reason, in one sentence, why it is
// unknown.
func (c *Client) usageOf(ctx context.Context, r resource, o *described) (usage, why string) {
	path := "/apis/metrics.k8s.io/v1beta1"
	switch {
	case r.kind == "Pod":
		path += "/namespaces/" + o.Namespace
	case r.kind != "Node":
		return "", ""
	}
	body, err := read(ctx, asJSON(c.get().AbsPath(path, r.plural, o.Name)), describeMax)
	var m struct {
		Usage      corev1.ResourceList
		Containers []struct{ Usage corev1.ResourceList }
	}
	switch {
	case err != nil:
		return "", harmless(c.why(ctx, err, "get on "+r.plural+" of metrics.k8s.io", "the cluster has no metrics-server, or no measurement yet"))
	case json.Unmarshal(body, &m) != nil:
		return "", "lightsout cannot parse the answer"
	}
	cpu, memory := m.Usage.Cpu().DeepCopy(), m.Usage.Memory().DeepCopy()
	for _, k := range m.Containers {
		cpu.Add(*k.Usage.Cpu())
		memory.Add(*k.Usage.Memory())
	}
	return fmt.Sprintf("%.2f CPU, %.2f GiB", float64(cpu.MilliValue())/1000, float64(memory.Value())/(1<<30)), ""
}

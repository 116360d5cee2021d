package machine

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// environment resolves a container's variables: plain values, the pod's own
// fields, and keys of Secrets, which are read from the API. Other sources are
// an error.
func (k *kubelet) environment(ctx context.Context, pod *corev1.Pod, c *corev1.Container, ip string) (map[string]string, error) {
	env := map[string]string{}
	for _, v := range c.Env {
		switch from := v.ValueFrom; {
		case from == nil:
			env[v.Name] = v.Value
		case from.FieldRef != nil:
			value, ok := map[string]string{
				"metadata.name":      pod.Name,
				"metadata.namespace": pod.Namespace,
				"metadata.uid":       string(pod.UID),
				"spec.nodeName":      pod.Spec.NodeName,
				"status.podIP":       ip,
				"status.hostIP":      k.m.cfg.IP,
			}[from.FieldRef.FieldPath]
			if !ok {
				return nil, fmt.Errorf("variable %s of container %s: the lab does not know the field %q", v.Name, c.Name, from.FieldRef.FieldPath)
			}
			env[v.Name] = value
		case from.SecretKeyRef != nil:
			ref := from.SecretKeyRef
			secret, err := k.client.CoreV1().Secrets(pod.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
			if err != nil {
				return nil, fmt.Errorf("variable %s of container %s: %w", v.Name, c.Name, err)
			}
			value, ok := secret.Data[ref.Key]
			if !ok {
				return nil, fmt.Errorf("variable %s of container %s: secret %s has no key %q", v.Name, c.Name, ref.Name, ref.Key)
			}
			env[v.Name] = string(value)
		default:
			return nil, fmt.Errorf("variable %s of container %s comes from a source that the lab does not know", v.Name, c.Name)
		}
	}
	return env, nil
}

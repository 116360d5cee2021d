package machine

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// nodeEvent tells of the node.
func (k *kubelet) nodeEvent(kind, reason, message string) {
	k.event(corev1.ObjectReference{
		Kind: "Node", Name: k.m.cfg.Name, UID: types.UID(k.m.cfg.Name), // the kubelet has never known the real one
	}, kind, reason, message)
}

// podEvent tells of a pod, or of one of its containers.
func (k *kubelet) podEvent(pod *corev1.Pod, container, kind, reason, message string) {
	ref := corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod",
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
	}
	if container != "" {
		ref.FieldPath = "spec.containers{" + container + "}"
	}
	k.event(ref, kind, reason, message)
}

// event puts an event in line; when the line is full it is dropped, as the
// kubelet's are.
func (k *kubelet) event(of corev1.ObjectReference, kind, reason, message string) {
	now := metav1.Now()
	e := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Name:      fmt.Sprintf("%s.%x", of.Name, now.UnixNano()),
			Namespace: cmp.Or(of.Namespace, metav1.NamespaceDefault),
		},
		InvolvedObject:      of,
		Type:                kind,
		Reason:              reason,
		Message:             message,
		Source:              corev1.EventSource{Component: "kubelet", Host: k.m.cfg.Name},
		ReportingController: "kubelet",
		ReportingInstance:   k.m.cfg.Name,
		FirstTimestamp:      now,
		LastTimestamp:       now,
		Count:               1,
	}
	select {
	case k.events <- e:
	default:
		k.m.log.Debug("an event was dropped", "reason", reason, "object", of.Name)
	}
}

// sendEvents sends them, one after the other, each with a few attempts.
func (k *kubelet) sendEvents(ctx context.Context) {
	for {
		select {
		case e := <-k.events:
			attempt, cancel := context.WithTimeout(ctx, 30*time.Second)
			retry(attempt, time.Second, 10*time.Second, func() error {
				_, err := k.client.CoreV1().Events(e.Namespace).Create(attempt, e, metav1.CreateOptions{})
				if _, refused := err.(errors.APIStatus); refused {
					return nil // by the server: asking again would not help
				}
				return err
			})
			cancel()
		case <-ctx.Done():
			return
		}
	}
}

package machine

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lightsout/cluster/lab/workload"
)

// The annotations of a static pod's mirror (pkg/kubelet/types/pod_update.go).
const (
	annotationMirror = corev1.MirrorPodAnnotationKey
	annotationHash   = "kubernetes.io/config.hash"
	annotationSeen   = "kubernetes.io/config.seen"
	annotationSource = "kubernetes.io/config.source"
)

// mirrorPeriod is how often missing mirrors are looked for.
const mirrorPeriod = 30 * time.Second

func isMirror(pod *corev1.Pod) bool {
	_, ok := pod.Annotations[annotationMirror]
	return ok
}

// mirror keeps a mirror of every static pod in the API.
func (k *kubelet) mirror(ctx context.Context) {
	for len(k.m.cfg.StaticPods) > 0 {
		for _, s := range k.m.cfg.StaticPods {
			retry(ctx, 200*time.Millisecond, 5*time.Second, func() error {
				_, err := k.client.CoreV1().Pods(metav1.NamespaceSystem).Create(ctx, k.mirrorOf(s), metav1.CreateOptions{})
				if errors.IsAlreadyExists(err) {
					return nil
				}
				return err
			})
		}
		if !workload.Pause(ctx, mirrorPeriod) {
			return
		}
	}
}

func (k *kubelet) mirrorOf(s StaticPod) *corev1.Pod {
	hash := fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, s, k.m.cfg.Name)))[:32]
	k.mu.Lock()
	uid := k.nodeUID
	k.mu.Unlock()
	controller := true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:      s.Name + "-" + k.m.cfg.Name,
			Namespace: metav1.NamespaceSystem,
			Labels:    map[string]string{"component": s.Name, "tier": "control-plane"},
			Annotations: map[string]string{
				annotationMirror: hash,
				annotationHash:   hash,
				annotationSeen:   time.Now().UTC().Format(time.RFC3339Nano),
				annotationSource: "file",
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "Node", Name: k.m.cfg.Name, UID: uid, Controller: &controller,
			}},
		},
		Spec: corev1.PodSpec{
			NodeName:    k.m.cfg.Name,
			HostNetwork: true,
			Containers:  []corev1.Container{{Name: s.Name, Image: s.Image, Command: s.Command}},
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}},
		},
	}
}

package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// controllerAttaches is the annotation of a node whose volumes the control plane attaches.
const controllerAttaches = "volumes.kubernetes.io/controller-managed-attach-detach"

// attachPoll is how often the kubelet looks whether a volume is attached
// (podAttachAndMountRetryInterval).
const attachPoll = 300 * time.Millisecond

// attachable names the volumes of a pod that a CSI driver must attach to its node, as in a
// node's status.
func (k *kubelet) attachable(ctx context.Context, pod *corev1.Pod) (out []corev1.UniqueVolumeName, err error) {
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		claim, err := k.client.CoreV1().PersistentVolumeClaims(pod.Namespace).Get(ctx, v.PersistentVolumeClaim.ClaimName, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		pv, err := k.client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		csi := pv.Spec.CSI
		if csi == nil {
			continue
		}
		driver, err := k.client.StorageV1().CSIDrivers().Get(ctx, csi.Driver, metav1.GetOptions{})
		if err != nil && !errors.IsNotFound(err) {
			return nil, err
		}
		if err != nil || driver.Spec.AttachRequired == nil || *driver.Spec.AttachRequired {
			out = append(out, corev1.UniqueVolumeName(fmt.Sprintf("kubernetes.io/csi/%s^%s", csi.Driver, csi.VolumeHandle)))
		}
	}
	return out, nil
}

// inUse returns the volumes of all pods, sorted.
func (k *kubelet) inUse() []corev1.UniqueVolumeName {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Compact(slices.Sorted(func(yield func(corev1.UniqueVolumeName) bool) {
		for list := range maps.Values(k.volumes) {
			for _, v := range list {
				if !yield(v) {
					return
				}
			}
		}
	}))
}

// use reports that a pod uses these volumes; none when it has unmounted them.
func (k *kubelet) use(ctx context.Context, pod *corev1.Pod, volumes []corev1.UniqueVolumeName) error {
	k.mu.Lock()
	same := slices.Equal(k.volumes[pod.UID], volumes)
	k.volumes[pod.UID] = volumes
	if len(volumes) == 0 {
		delete(k.volumes, pod.UID)
	}
	k.mu.Unlock()
	if same {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"volumesInUse": k.inUse()}})
	if err == nil {
		_, err = k.client.CoreV1().Nodes().PatchStatus(ctx, k.m.cfg.Name, patch)
	}
	return err
}

// attached reports whether all volumes of the pod are attached to the node.
func (k *kubelet) attached(ctx context.Context, pod *corev1.Pod) (bool, error) {
	volumes, err := k.attachable(ctx, pod)
	if err != nil || len(volumes) == 0 {
		return err == nil, err
	}
	if err := k.use(ctx, pod, volumes); err != nil {
		return false, err
	}
	node, err := k.client.CoreV1().Nodes().Get(ctx, k.m.cfg.Name, metav1.GetOptions{ResourceVersion: "0"})
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(volumes, func(v corev1.UniqueVolumeName) bool {
		return !slices.ContainsFunc(node.Status.VolumesAttached, func(a corev1.AttachedVolume) bool { return a.Name == v })
	}), nil
}

// attach waits until the pod's volumes are attached.
func (w *worker) attach(ctx context.Context) outcome {
	for {
		pod, _ := w.current()
		all, err := w.k.attached(ctx, pod)
		if all {
			return elapsed
		}
		if err != nil && ctx.Err() == nil {
			w.k.m.log.Debug("a pod's volumes are not known", "pod", pod.Name, "err", err)
		}
		if why := await(ctx, w, time.After(attachPoll)); why != elapsed {
			return why
		}
	}
}

// detach reports that the pod uses no volumes any more.
func (w *worker) detach(ctx context.Context) {
	pod, _ := w.current()
	if err := w.k.use(ctx, pod, nil); err != nil && ctx.Err() == nil {
		w.k.m.log.Error("the volumes in use can't be reported", "pod", pod.Name, "err", err)
	}
}

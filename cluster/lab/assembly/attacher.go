package assembly

import (
	"context"

	"github.com/go-logr/logr"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// attachVolumes does the part of every CSI driver's external attacher until ctx ends: it
// reports each VolumeAttachment of the attach/detach controller as attached. It has nothing
// to do for a detach, because it sets no finalizer.
func (l *Lab) attachVolumes(ctx context.Context, client kubernetes.Interface) error {
	attach := func(obj any) {
		a, ok := obj.(*storagev1.VolumeAttachment)
		if !ok || a.Status.Attached || a.DeletionTimestamp != nil {
			return
		}
		a = a.DeepCopy()
		a.Status.Attached = true
		if _, err := client.StorageV1().VolumeAttachments().UpdateStatus(ctx, a, metav1.UpdateOptions{}); err != nil && ctx.Err() == nil {
			l.log.Error("a volume is not attached", "volume", a.Spec.Source.PersistentVolumeName, "node", a.Spec.NodeName, "err", err)
		}
	}
	informer := informers.NewSharedInformerFactory(client, 0).Storage().V1().VolumeAttachments().Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: attach, UpdateFunc: func(_, obj any) { attach(obj) }}); err != nil {
		return err
	}
	l.wg.Go(func() { informer.RunWithContext(klog.NewContext(ctx, logr.Discard())) })
	return nil
}

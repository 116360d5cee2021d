package machine

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/apimachinery/lease"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// renewLease holds the node's lease until ctx ends, by the code of a real
// kubelet: it renews every quarter of the duration, up to 4 % later.
func (k *kubelet) renewLease(ctx context.Context) {
	duration, name := k.m.cfg.Timing.Lease, k.m.cfg.Name
	owned := func(l *coordinationv1.Lease) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		l.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: name, UID: k.nodeUID}}
		return nil
	}
	lease.NewController(clock.RealClock{}, k.heartbeats, name, int32(duration/time.Second), nil, duration/4,
		name, corev1.NamespaceNodeLease, owned).Run(klog.NewContext(ctx, logr.Discard()))
}

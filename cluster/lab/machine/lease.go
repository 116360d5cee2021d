package machine

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"lightsout/cluster/lab/workload"
)

// A lease is renewed every quarter of its duration, up to 4 % later
// (pkg/kubelet/kubelet.go; component-helpers' lease controller).
const (
	renewFraction = 0.25
	renewJitter   = 0.04
)

// renewLease holds the node's lease until ctx ends.
func (k *kubelet) renewLease(ctx context.Context) {
	leases := k.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	period := time.Duration(float64(k.m.cfg.Timing.Lease) * renewFraction)
	var have *coordinationv1.Lease
	for {
		retry(ctx, 200*time.Millisecond, 7*time.Second, func() error {
			// Each attempt has an end of its own: a silent API server must
			// not hold up the next one.
			once, cancel := context.WithTimeout(ctx, max(period, time.Second))
			defer cancel()
			var err error
			if have == nil {
				have, err = leases.Get(once, k.m.cfg.Name, metav1.GetOptions{})
				if errors.IsNotFound(err) {
					have, err = leases.Create(once, k.lease(nil), metav1.CreateOptions{})
					return err
				}
				if err != nil {
					have = nil
					return err
				}
			}
			next, err := leases.Update(once, k.lease(have), metav1.UpdateOptions{})
			have = next
			if err != nil {
				have = nil
			}
			return err
		})
		if !workload.Pause(ctx, wait.Jitter(period, renewJitter)) {
			return
		}
	}
}

// lease is the lease with the present time; old is the one to replace.
func (k *kubelet) lease(old *coordinationv1.Lease) *coordinationv1.Lease {
	var l *coordinationv1.Lease
	if old != nil {
		l = old.DeepCopy()
	} else {
		l = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Name:      k.m.cfg.Name,
			Namespace: corev1.NamespaceNodeLease,
		}}
	}
	k.mu.Lock()
	uid := k.nodeUID
	k.mu.Unlock()
	l.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: k.m.cfg.Name, UID: uid}}
	seconds := int32(k.m.cfg.Timing.Lease / time.Second)
	now := metav1.NowMicro()
	l.Spec.HolderIdentity = &k.m.cfg.Name
	l.Spec.LeaseDurationSeconds = &seconds
	l.Spec.RenewTime = &now
	return l
}

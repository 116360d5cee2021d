package crowd

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// beaters is how many kubelets there are to renew all Leases.
const beaters = 16

// Beat renews every node's Lease each 10 seconds, spread evenly, until ctx ends.
// It returns an error only when it can't begin; a renewal that fails is tried
// again with the next one, as a kubelet does it.
func Beat(ctx context.Context, config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.ContentType = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	leases := client.CoordinationV1().Leases(leaseNamespace)
	list, err := leases.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the nodes' leases: %w", err)
	}
	due := make(chan *coordinationv1.Lease)
	for range beaters {
		go func() {
			for l := range due {
				now := metav1.NowMicro()
				l.Spec.RenewTime = &now
				if renewed, err := leases.Update(ctx, l, metav1.UpdateOptions{}); err == nil {
					*l = *renewed
				} else if fresh, err := leases.Get(ctx, l.Name, metav1.GetOptions{}); err == nil {
					*l = *fresh
				}
			}
		}()
	}
	go func() {
		defer close(due)
		ticker := time.NewTicker(renewEvery / time.Duration(max(1, len(list.Items))))
		defer ticker.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			select {
			case <-ctx.Done():
				return
			case due <- &list.Items[i%len(list.Items)]:
			}
		}
	}()
	return nil
}

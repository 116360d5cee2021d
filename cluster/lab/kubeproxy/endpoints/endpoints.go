// Package endpoints is what the API says of services and of who is behind
// them: one watch, shared by the lab's kube-proxies, gateway and activator.
//
// Here lives the reading of Services and EndpointSlices. What is done with
// them is decided by those who read; nothing here writes to the API.
package endpoints

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

// Endpoint is one address behind a service's port.
type Endpoint struct {
	// IP and Port are where it listens.
	IP   string
	Port int32
	// Ready, Serving and Terminating are the EndpointSlice's conditions.
	Ready, Serving, Terminating bool
}

// View is a live view of services and endpoint slices. While the API server
// does not answer it keeps what it knew. It is safe for use by several
// goroutines at once.
type View struct {
	services corelisters.ServiceLister
	slices   discoverylisters.EndpointSliceLister

	mu      sync.Mutex
	changed chan struct{}
}

// Start watches the API until ctx ends. It returns when the first lists have
// arrived, or with an error when ctx ends before.
func Start(ctx context.Context, client kubernetes.Interface) (*View, error) {
	factory := informers.NewSharedInformerFactory(client, 0)
	services := factory.Core().V1().Services()
	slices := factory.Discovery().V1().EndpointSlices()
	v := &View{services: services.Lister(), slices: slices.Lister(), changed: make(chan struct{})}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { v.notify() },
		UpdateFunc: func(any, any) { v.notify() },
		DeleteFunc: func(any) { v.notify() },
	}
	for _, i := range []cache.SharedIndexInformer{services.Informer(), slices.Informer()} {
		if _, err := i.AddEventHandler(handler); err != nil {
			return nil, fmt.Errorf("services and endpoint slices can't be watched: %w", err)
		}
	}
	factory.StartWithContext(klog.NewContext(ctx, logr.Discard()))
	for kind, ok := range factory.WaitForCacheSync(ctx.Done()) {
		if !ok {
			return nil, fmt.Errorf("the first list of %s did not arrive: %w", kind, context.Cause(ctx))
		}
	}
	context.AfterFunc(ctx, factory.Shutdown)
	return v, nil
}

func (v *View) notify() {
	v.mu.Lock()
	defer v.mu.Unlock()
	close(v.changed)
	v.changed = make(chan struct{})
}

// Changed returns a channel that is closed at the next change of anything.
func (v *View) Changed() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.changed
}

// Services returns all services, in no order. They must not be changed.
func (v *View) Services() []*corev1.Service {
	all, err := v.services.List(labels.Everything())
	if err != nil { // a cache's lister has none
		return nil
	}
	return all
}

// Of returns the endpoints behind one port of a service, sorted by address.
// The port is named as in the service; a service with one port may leave it
// without a name.
func (v *View) Of(namespace, service, port string) []Endpoint {
	mine := labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service})
	all, err := v.slices.EndpointSlices(namespace).List(mine)
	if err != nil {
		return nil
	}
	var out []Endpoint
	for _, s := range all {
		for _, p := range s.Ports {
			if p.Port == nil || ptr.Deref(p.Name, "") != port || ptr.Deref(p.Protocol, corev1.ProtocolTCP) != corev1.ProtocolTCP {
				continue
			}
			for _, e := range s.Endpoints {
				if len(e.Addresses) == 0 {
					continue
				}
				ready := ptr.Deref(e.Conditions.Ready, true)
				out = append(out, Endpoint{
					IP:          e.Addresses[0],
					Port:        *p.Port,
					Ready:       ready,
					Serving:     ptr.Deref(e.Conditions.Serving, ready),
					Terminating: ptr.Deref(e.Conditions.Terminating, false),
				})
			}
		}
	}
	slices.SortFunc(out, func(a, b Endpoint) int { return cmp.Or(cmp.Compare(a.IP, b.IP), cmp.Compare(a.Port, b.Port)) })
	return out
}

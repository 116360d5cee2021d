package machine

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"lightsout/cluster/lab/workload"
)

// kubelet is the kubelet of one life of a machine.
type kubelet struct {
	m          *Machine
	life       *life
	client     kubernetes.Interface
	heartbeats kubernetes.Interface // for the lease alone
	disconnect func()
	events     chan *corev1.Event
	network    chan struct{} // closed when pods can have networks of their own

	mu      sync.Mutex
	nodeUID types.UID
	workers map[types.UID]*worker
	volumes map[types.UID][]corev1.UniqueVolumeName // in use, by pod
}

func newKubelet(l *life) (*kubelet, error) {
	k := &kubelet{
		m:       l.m,
		life:    l,
		events:  make(chan *corev1.Event, 256),
		network: make(chan struct{}),
		workers: map[types.UID]*worker{},
		volumes: map[types.UID][]corev1.UniqueVolumeName{},
	}
	return k, k.connect()
}

// run is the kubelet. It returns when ctx has ended and nothing of it runs.
func (k *kubelet) run(ctx context.Context) {
	defer k.disconnect()
	var parts sync.WaitGroup
	defer parts.Wait()
	parts.Go(func() { k.sendEvents(ctx) })
	if server, err := k.serve(); err != nil {
		k.m.log.Error("the kubelet's own port can't be opened", "err", err)
	} else {
		k.life.started(server)
	}
	k.nodeEvent(corev1.EventTypeNormal, "Starting", "Starting kubelet.")
	if !k.register(ctx) {
		return
	}
	parts.Go(func() { k.renewLease(ctx) })
	parts.Go(func() { k.keepNodeStatus(ctx) })
	parts.Go(func() { k.mirror(ctx) })
	parts.Go(func() { k.watchPods(ctx) })
	<-ctx.Done()
}

// watchPods follows the pods that are bound to the node, each with a worker of
// its own.
func (k *kubelet) watchPods(ctx context.Context) {
	var workers sync.WaitGroup
	defer workers.Wait()
	mine := fields.OneTermEqualSelector("spec.nodeName", k.m.cfg.Name)
	source := cache.NewListWatchFromClient(k.client.CoreV1().RESTClient(), "pods", metav1.NamespaceAll, mine)
	informer := cache.NewSharedInformer(source, &corev1.Pod{}, 0)
	seen := func(obj any) {
		if pod, ok := obj.(*corev1.Pod); ok {
			k.worker(ctx, &workers, pod)
		}
	}
	informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    seen,
		UpdateFunc: func(_, obj any) { seen(obj) },
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			if pod, ok := obj.(*corev1.Pod); ok {
				k.removed(pod)
			}
		},
	})
	informer.RunWithContext(klog.NewContext(ctx, logr.Discard())) // it says that watches end with the power
}

// worker hands a pod's newest object to its worker, which is started if there
// is none.
func (k *kubelet) worker(ctx context.Context, running *sync.WaitGroup, pod *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if w := k.workers[pod.UID]; w != nil {
		w.update(pod)
		return
	}
	if ctx.Err() != nil || ended(pod) && pod.DeletionTimestamp == nil {
		return
	}
	w := newWorker(k, pod)
	k.workers[pod.UID] = w
	running.Go(func() {
		w.run(ctx)
		k.mu.Lock()
		delete(k.workers, pod.UID)
		k.mu.Unlock()
	})
}

// removed tells a pod's worker that its object is no more.
func (k *kubelet) removed(pod *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if w := k.workers[pod.UID]; w != nil {
		w.remove()
	}
}

// program finds what a container runs; a static pod's is no business of the
// lab's network.
func (k *kubelet) program(pod *corev1.Pod, c *corev1.Container) (workload.Program, bool) {
	if isMirror(pod) {
		return workload.Idle, true
	}
	return k.m.cfg.Images.Find(c.Image)
}

// retry calls f until it succeeds, with a growing pause up to limit; it
// reports whether it did before ctx ended.
func retry(ctx context.Context, first, limit time.Duration, f func() error) bool {
	for wait := first; ; wait = min(2*wait, limit) {
		if ctx.Err() != nil {
			return false
		}
		if f() == nil {
			return true
		}
		if !workload.Pause(ctx, wait) {
			return false
		}
	}
}

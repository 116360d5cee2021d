package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// worker runs one pod, from the moment it is bound to the node to its end.
type worker struct {
	k    *kubelet
	wake chan struct{} // holds one token when there is news in pod or gone

	mu   sync.Mutex
	pod  *corev1.Pod // newest
	gone bool        // the object was deleted

	// Below: owned by run.
	rt     runtime
	probes chan probed
	fix    *time.Timer // runs while the API's status is known to differ
}

func newWorker(k *kubelet, pod *corev1.Pod) *worker {
	return &worker{k: k, pod: pod, wake: make(chan struct{}, 1), probes: make(chan probed)}
}

// update gives the worker a newer object of its pod.
func (w *worker) update(pod *corev1.Pod) {
	w.mu.Lock()
	w.pod = pod
	w.mu.Unlock()
	w.signal()
}

// remove tells the worker that the object is gone.
func (w *worker) remove() {
	w.mu.Lock()
	w.gone = true
	w.mu.Unlock()
	w.signal()
}

func (w *worker) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *worker) current() (pod *corev1.Pod, gone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pod, w.gone
}

// outcome is why a wait has ended.
type outcome int

const (
	elapsed  outcome = iota // what was waited for has come
	deleting                // the pod has a deletionTimestamp
	removed                 // its object is gone
	stopped                 // the kubelet is being stopped, or power is lost
)

// run runs the pod. When the kubelet stops it returns and leaves containers as
// they are.
func (w *worker) run(ctx context.Context) {
	w.fix = time.NewTimer(time.Hour)
	w.fix.Stop()
	defer w.fix.Stop()
	pod, _ := w.current()
	w.rt = adopt(w.k.m.cfg.IP, pod)

	probing, cancel := context.WithCancel(ctx)
	var probers sync.WaitGroup
	defer probers.Wait()
	defer cancel()

	why := elapsed
	if pod.DeletionTimestamp != nil {
		why = deleting
	} else {
		w.report(ctx)
		if !pod.Spec.HostNetwork {
			why = await(ctx, w, w.k.network)
		}
		if why == elapsed {
			why = w.attach(ctx)
		}
		if why == elapsed {
			why = await(ctx, w, time.After(w.k.m.cfg.Timing.ContainerStart))
		}
	}
	for why == elapsed {
		err := w.start(ctx)
		w.report(ctx)
		if err != nil {
			w.k.m.log.Debug("a pod does not start", "pod", pod.Name, "err", err)
			why = await(ctx, w, time.After(startRetry))
			continue
		}
		for i := range w.rt.containers {
			if c := &w.rt.containers[i]; c.spec.ReadinessProbe != nil {
				p := w.prober(i)
				probers.Go(func() { p.run(probing, w.probes) })
			}
		}
		why = await(ctx, w, (<-chan struct{})(nil))
	}
	switch why {
	case deleting, removed:
		w.end(ctx)
	case stopped:
	}
}

// startRetry is the pause before a pod that could not be started is tried again.
const startRetry = 5 * time.Second

// await keeps the pod's status right until over, which may be nil, has come,
// the pod is to go, or the kubelet stops.
func await[T any](ctx context.Context, w *worker, over <-chan T) outcome {
	for {
		select {
		case <-ctx.Done():
			return stopped
		case <-over:
			return elapsed
		case <-w.wake:
			pod, gone := w.current()
			switch {
			case gone:
				return removed
			case pod.DeletionTimestamp != nil:
				return deleting
			}
			w.compare(pod)
		case p := <-w.probes:
			w.apply(ctx, p)
		case <-w.fix.C:
			w.report(ctx)
		}
	}
}

func (w *worker) apply(ctx context.Context, p probed) {
	if c := &w.rt.containers[p.container]; c.ready != p.ready {
		c.ready = p.ready
		w.report(ctx)
	}
}

// compare starts the timer of a correction if the API's status is not the
// worker's: the kubelet reconciles every ten seconds (status_manager.go), and
// so puts right what the control plane wrote while the node was silent.
func (w *worker) compare(pod *corev1.Pod) {
	if !equality.Semantic.DeepEqual(w.rt.status(pod), pod.Status) {
		w.fix.Reset(w.k.m.cfg.Timing.PodSync)
	}
}

// report writes the status to the API, if it differs. A failure is tried again
// after a while.
func (w *worker) report(ctx context.Context) {
	if err := w.post(ctx); err != nil && ctx.Err() == nil {
		pod, _ := w.current()
		w.k.m.log.Debug("a pod's status can't be written", "pod", pod.Name, "err", err)
		w.fix.Reset(w.k.m.cfg.Timing.PodSync)
	}
}

func (w *worker) post(ctx context.Context) error {
	known, _ := w.current()
	pods := w.k.client.CoreV1().Pods(known.Namespace)
	pod, err := pods.Get(ctx, known.Name, metav1.GetOptions{})
	if errors.IsNotFound(err) || err == nil && pod.UID != known.UID {
		return nil
	}
	if err != nil {
		return err
	}
	want := w.rt.status(pod)
	if equality.Semantic.DeepEqual(want, pod.Status) {
		return nil
	}
	patch, err := statusPatch(pod, want)
	if err != nil {
		return err
	}
	_, err = pods.Patch(ctx, pod.Name, "application/strategic-merge-patch+json", patch, metav1.PatchOptions{}, "status")
	if errors.IsNotFound(err) {
		return nil
	}
	return err
}

// statusPatch is the patch from a pod's status to want, only for the pod with
// this UID.
func statusPatch(pod *corev1.Pod, want corev1.PodStatus) ([]byte, error) {
	encode := func(s corev1.PodStatus) []byte {
		data, _ := json.Marshal(corev1.Pod{Status: s}) // has no types that fail
		return data
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(encode(pod.Status), encode(want), corev1.Pod{})
	if err != nil {
		return nil, fmt.Errorf("the status of pod %s can't be compared: %w", pod.Name, err)
	}
	var fields map[string]any
	if err := json.Unmarshal(patch, &fields); err != nil {
		return nil, fmt.Errorf("the status of pod %s can't be compared: %w", pod.Name, err)
	}
	fields["metadata"] = map[string]any{"uid": pod.UID}
	return json.Marshal(fields)
}

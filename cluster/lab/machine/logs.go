package machine

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/core/install" // what a query of logs means
	"k8s.io/utils/ptr"

	"lightsout/cluster/lab/workload"
)

// mostLogs is how many containers' logs a machine keeps, those of deleted pods that
// were not there when it booted among them.
const mostLogs = 512

// logs are the logs of a machine's containers, of the newest instance of each and of
// the one before. The zero logs are empty.
type logs struct {
	mu  sync.Mutex
	all []*containerLogs // the oldest first
}

// containerLogs are the logs of one container; a nil one has not been written.
type containerLogs struct {
	pod              types.UID
	container        string
	newest, previous *workload.Log
}

// begin starts the log of a new instance of a container.
func (l *logs) begin(pod types.UID, container string) *workload.Log {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.all, func(c *containerLogs) bool { return c.pod == pod && c.container == container })
	if i < 0 {
		l.all = append(l.all, &containerLogs{pod: pod, container: container})
		l.all = l.all[max(0, len(l.all)-mostLogs):]
		i = len(l.all) - 1
	}
	c := l.all[i]
	if c.newest != nil {
		c.newest.End()
	}
	c.newest, c.previous = &workload.Log{}, c.newest
	return c.newest
}

// find returns a container's log; nil if there is none.
func (l *logs) find(pod types.UID, container string, previous bool) *workload.Log {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.all {
		if c.pod != pod || c.container != container {
			continue
		}
		if previous {
			return c.previous
		}
		return c.newest
	}
	return nil
}

// end ends the logs of a pod whose containers have ended.
func (l *logs) end(pod types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.all {
		if c.pod == pod && c.newest != nil {
			c.newest.End()
		}
	}
}

// drop removes the logs of a pod that is no more.
func (l *logs) drop(pod types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = slices.DeleteFunc(l.all, func(c *containerLogs) bool { return c.pod == pod })
}

// copyLog writes the part of a log that q wants to w until its end, or until done if it is
// to be followed.
func copyLog(q corev1.PodLogOptions, w io.Writer, flush func() error, log *workload.Log, done <-chan struct{}) {
	since := ptr.Deref(q.SinceTime, metav1.Time{}).Time
	if q.SinceSeconds != nil {
		since = time.Now().Add(-time.Duration(*q.SinceSeconds) * time.Second)
	}
	limit := ptr.Deref(q.LimitBytes, math.MaxInt64)
	lines, next, more := log.From(0)
	lines = slices.DeleteFunc(lines, func(l workload.Line) bool { return l.At.Before(since) })
	if q.TailLines != nil {
		lines = lines[max(0, len(lines)-int(*q.TailLines)):]
	}
	for {
		for _, l := range lines {
			text := l.Text + "\n"
			if q.Timestamps {
				text = l.At.UTC().Format("2006-01-02T15:04:05.000000000Z07:00") + " " + text
			}
			text = text[:min(int64(len(text)), limit)]
			limit -= int64(len(text))
			if _, err := io.WriteString(w, text); err != nil || limit == 0 {
				return
			}
		}
		if flush() != nil || !q.Follow || more == nil {
			return
		}
		select {
		case <-more:
		case <-done:
			return
		}
		lines, next, more = log.From(next)
	}
}

// containerLog answers GET /containerLogs/NAMESPACE/POD/CONTAINER, as kubelets do
// (pkg/kubelet/server).
func (k *kubelet) containerLog(w http.ResponseWriter, r *http.Request) {
	name, container := r.PathValue("pod"), r.PathValue("container")
	var query corev1.PodLogOptions
	err := legacyscheme.ParameterCodec.DecodeParameters(r.URL.Query(), corev1.SchemeGroupVersion, &query)
	pod := k.podNamed(r.PathValue("namespace"), name)
	known := pod != nil && slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == container })
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	case pod == nil:
		http.Error(w, fmt.Sprintf("pod %q does not exist", name), http.StatusNotFound)
		return
	case !known:
		http.Error(w, fmt.Sprintf("container %q not found in pod %q", container, name), http.StatusNotFound)
		return
	}
	log := k.m.logs.find(pod.UID, container, query.Previous)
	switch {
	case log == nil && query.Previous:
		http.Error(w, fmt.Sprintf("previous terminated container %q in pod %q not found", container, name), http.StatusBadRequest)
		return
	case log == nil:
		http.Error(w, fmt.Sprintf("container %q in pod %q is waiting to start: ContainerCreating", container, name), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	copyLog(query, w, http.NewResponseController(w).Flush, log, r.Context().Done())
}

// podNamed returns a pod of this machine; nil if it has none of the name.
func (k *kubelet) podNamed(namespace, name string) *corev1.Pod {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range k.workers {
		if pod, _ := w.current(); pod.Namespace == namespace && pod.Name == name {
			return pod
		}
	}
	return nil
}

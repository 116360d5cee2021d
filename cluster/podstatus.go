package cluster

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// podColumns are what kubectl get pods shows of one pod.
type podColumns struct {
	status            string
	ready, containers int
	restarts          int
	restarted         time.Time
}

// columns follows kubectl's rules (pkg/printers/internalversion/printers.go,
// printPod): the phase, then the pod's own reason, then the first init
// container that is not done, then the first container that waits or has ended,
// then deletion.
func columns(pod *corev1.Pod) podColumns {
	c := podColumns{status: cmp.Or(pod.Status.Reason, string(pod.Status.Phase)), containers: len(pod.Spec.Containers)}
	ready, initialized := false, false
	for _, cond := range pod.Status.Conditions {
		switch cond.Type {
		case corev1.PodScheduled:
			if cond.Reason == corev1.PodReasonSchedulingGated {
				c.status = corev1.PodReasonSchedulingGated
			}
		case corev1.PodReady:
			ready = cond.Status == corev1.ConditionTrue
		case corev1.PodInitialized:
			initialized = cond.Status == corev1.ConditionTrue
		}
	}
	if done := c.initContainers(pod); done || initialized {
		c.mainContainers(pod, ready)
	}
	if pod.DeletionTimestamp != nil {
		switch {
		case pod.Status.Reason == "NodeLost":
			c.status = "Unknown"
		case pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed:
			c.status = "Terminating"
		}
	}
	return c
}

// initContainers counts the init containers in and reports whether all are done (a
// sidecar is done when it has started).
func (c *podColumns) initContainers(pod *corev1.Pod) (done bool) {
	sidecar := map[string]bool{}
	for i := range pod.Spec.InitContainers {
		if ct := &pod.Spec.InitContainers[i]; isSidecar(ct) {
			sidecar[ct.Name] = true
			c.containers++
		}
	}
	for i := range pod.Status.InitContainerStatuses {
		st := &pod.Status.InitContainerStatuses[i]
		c.restart(st)
		ended, waiting := st.State.Terminated, st.State.Waiting
		switch {
		case ended != nil && ended.ExitCode == 0:
			continue
		case sidecar[st.Name] && st.Started != nil && *st.Started:
			c.ready += btoi(st.Ready)
			continue
		case ended != nil:
			c.status = "Init:" + endWord(ended)
		case waiting != nil && waiting.Reason != "" && waiting.Reason != "PodInitializing":
			c.status = "Init:" + waiting.Reason
		default:
			c.status = fmt.Sprintf("Init:%d/%d", i, len(pod.Spec.InitContainers))
		}
		return false
	}
	return true
}

// mainContainers counts the containers in. They are gone through from the last
// to the first, so that the first one's word stands; of the init containers'
// restarts only those of sidecars go on counting.
func (c *podColumns) mainContainers(pod *corev1.Pod, ready bool) {
	c.restarts, c.restarted = 0, time.Time{}
	for i := range pod.Spec.InitContainers {
		for k := range pod.Status.InitContainerStatuses {
			if st := &pod.Status.InitContainerStatuses[k]; st.Name == pod.Spec.InitContainers[i].Name && isSidecar(&pod.Spec.InitContainers[i]) {
				c.restart(st)
			}
		}
	}
	running, failed := false, ""
	for i := len(pod.Status.ContainerStatuses) - 1; i >= 0; i-- {
		st := &pod.Status.ContainerStatuses[i]
		c.restart(st)
		switch {
		case st.State.Waiting != nil && st.State.Waiting.Reason != "":
			c.status = st.State.Waiting.Reason
		case st.State.Terminated != nil:
			c.status = endWord(st.State.Terminated)
			if st.State.Terminated.ExitCode != 0 {
				failed = c.status
			}
		case st.Ready && st.State.Running != nil:
			running = true
			c.ready++
		}
	}
	if c.status == "Completed" {
		switch {
		case running && ready:
			c.status = "Running"
		case failed != "":
			c.status = failed
		case running:
			c.status = "NotReady"
		}
	}
}

// isSidecar reports whether an init container keeps running beside the others.
func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func (c *podColumns) restart(st *corev1.ContainerStatus) {
	c.restarts += int(st.RestartCount)
	if last := st.LastTerminationState.Terminated; last != nil && last.FinishedAt.After(c.restarted) {
		c.restarted = moment(last.FinishedAt.Time)
	}
}

func endWord(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", t.ExitCode)
}

package machine

import (
	"crypto/rand"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

// status is the pod's status as this kubelet tells it: what others have
// written there (conditions of other owners, the QoS class) stays
// (pkg/kubelet/kubelet_pods.go, status/generate.go).
func (r *runtime) status(pod *corev1.Pod) corev1.PodStatus {
	s := *pod.Status.DeepCopy()
	s.ObservedGeneration = pod.Generation
	s.Phase = r.phase()
	s.HostIP = r.hostIP
	s.HostIPs = []corev1.HostIP{{IP: r.hostIP}}
	if r.ip != "" { // until then that of an earlier boot stays
		s.PodIP = r.ip
		s.PodIPs = []corev1.PodIP{{IP: r.ip}}
	}
	s.StartTime = r.started.DeepCopy()

	s.ContainerStatuses = nil
	var unready []string
	for _, c := range r.containers {
		if !c.ready {
			unready = append(unready, c.spec.Name)
		}
		running := c.state.Running != nil
		s.ContainerStatuses = append(s.ContainerStatuses, corev1.ContainerStatus{
			Name:                 c.spec.Name,
			Image:                c.spec.Image,
			ImageID:              imageID(c),
			ContainerID:          c.id,
			RestartCount:         c.restarts,
			State:                c.state,
			LastTerminationState: c.last,
			Ready:                c.ready,
			Started:              &running,
		})
	}

	yes := corev1.PodCondition{Status: corev1.ConditionTrue}
	no := corev1.PodCondition{Status: corev1.ConditionFalse}
	all := yes
	if len(unready) > 0 {
		all = corev1.PodCondition{
			Status:  corev1.ConditionFalse,
			Reason:  "ContainersNotReady",
			Message: fmt.Sprintf("containers with unready status: [%s]", strings.Join(unready, " ")),
		}
	}
	switch r.over {
	case corev1.PodSucceeded:
		all.Reason, all.Message = "PodCompleted", ""
	case corev1.PodFailed:
		all.Reason, all.Message = "PodFailed", ""
	}
	sandbox := no
	if r.sandbox {
		sandbox = yes
	}
	set := func(t corev1.PodConditionType, to corev1.PodCondition) {
		to.Type, to.ObservedGeneration = t, pod.Generation
		podutil.UpdatePodCondition(&s, &to)
	}
	set(corev1.PodReadyToStartContainers, sandbox)
	set(corev1.PodInitialized, yes)
	set(corev1.PodReady, all)
	set(corev1.ContainersReady, all)
	return s
}

func (r *runtime) phase() corev1.PodPhase {
	if r.over != "" {
		return r.over
	}
	for _, c := range r.containers {
		if c.state.Waiting != nil && c.last.Terminated == nil {
			return corev1.PodPending
		}
	}
	return corev1.PodRunning
}

// ended reports whether a pod has come to its end.
func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func imageID(c container) string {
	if c.id == "" {
		return ""
	}
	return c.spec.Image
}

func containerID() string {
	var b [32]byte
	rand.Read(b[:])
	return fmt.Sprintf("containerd://%x", b)
}

// ignoreGone makes success of the errors that say that the object of an action
// is not there any more.
func ignoreGone(err error) error {
	if errors.IsNotFound(err) || errors.IsConflict(err) { // conflict: another pod has the name
		return nil
	}
	return err
}

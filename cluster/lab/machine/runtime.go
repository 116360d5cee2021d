package machine

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lightsout/cluster/lab/workload"
)

// runtime is what runs of a pod, as the container runtime would tell.
type runtime struct {
	hostIP     string
	ip         string // empty until there is a sandbox
	number     int    // of ip among the machine's addresses; 0: the node's own
	sandbox    bool
	started    metav1.Time // the pod, by this or an earlier boot
	containers []container
	process    workload.Process // all containers; nil when none runs
	over       corev1.PodPhase  // Succeeded or Failed at the very end
}

// container is one container's state.
type container struct {
	spec     *corev1.Container
	id       string
	restarts int32
	state    corev1.ContainerState
	last     corev1.ContainerState
	ready    bool
}

// adopt makes a runtime of what the API knows of a pod. What ran before this
// boot ended with it: containerd finds such containers dead, with no exit code
// of their own, and calls that 255 and Unknown.
func adopt(hostIP string, pod *corev1.Pod) runtime {
	r := runtime{hostIP: hostIP, started: now()}
	if pod.Status.StartTime != nil {
		r.started = *pod.Status.StartTime
	}
	for i := range pod.Spec.Containers {
		c := container{
			spec:  &pod.Spec.Containers[i],
			state: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}},
		}
		for _, old := range pod.Status.ContainerStatuses {
			if old.Name != c.spec.Name {
				continue
			}
			c.id, c.restarts, c.last = old.ContainerID, old.RestartCount, old.LastTerminationState
			switch {
			case old.State.Running != nil:
				c.state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
					ExitCode:    255,
					Reason:      "Unknown",
					StartedAt:   old.State.Running.StartedAt,
					FinishedAt:  now(),
					ContainerID: old.ContainerID,
				}}
			case old.State.Terminated != nil:
				c.state = old.State
			}
		}
		r.containers = append(r.containers, c)
	}
	return r
}

// now is the present time in the API's resolution.
func now() metav1.Time { return metav1.NewTime(time.Now().Truncate(time.Second)) }

// start starts all containers, in a sandbox with a new address. It fails as a
// whole; the containers' states say why.
func (w *worker) start(ctx context.Context) error {
	pod, _ := w.current()
	m, r := w.k.m, &w.rt
	waiting := func(reason string, err error) error {
		for i := range r.containers {
			c := &r.containers[i]
			c.retire()
			c.state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: err.Error()}}
		}
		return err
	}
	if !r.sandbox {
		if pod.Spec.HostNetwork {
			r.ip, r.number = m.cfg.IP, 0
		} else {
			ip, number, ok := m.ips.take()
			if !ok {
				return waiting("ContainerCreating", fmt.Errorf("node %s has no pod address left", m.cfg.Name))
			}
			m.cfg.Host.AddIP(ip)
			r.ip, r.number = ip, number
		}
		r.sandbox = true
	}
	var group workload.Group
	fail := func(reason string, err error) error {
		dead, cancel := context.WithCancel(ctx)
		cancel()
		group.Stop(dead)
		return waiting(reason, err)
	}
	for i := range r.containers {
		c := r.containers[i].spec
		program, ok := w.k.program(pod, c)
		if !ok {
			return fail("ImagePullBackOff", fmt.Errorf("the lab has no image %q", c.Image))
		}
		env, err := w.k.environment(ctx, pod, c, r.ip)
		if err != nil {
			return fail("CreateContainerConfigError", err)
		}
		p, err := program(w.k.life.power, workload.Instance{Pod: pod, Container: c, IP: r.ip, Host: m.cfg.Host, Env: env, Log: m.logs.begin(pod.UID, c.Name)})
		if err != nil {
			return fail("RunContainerError", err)
		}
		group = append(group, p)
	}
	r.process = &group
	w.k.life.started(r.process)
	for i := range r.containers {
		c := &r.containers[i]
		c.retire()
		c.id = containerID()
		c.state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now()}}
		c.ready = c.spec.ReadinessProbe == nil
		w.k.podEvent(pod, c.spec.Name, corev1.EventTypeNormal, "Started", "Started container "+c.spec.Name)
	}
	return nil
}

// retire makes a dead container's state the last one, before the next begins.
func (c *container) retire() {
	if c.state.Terminated != nil {
		c.last = c.state
		c.restarts++
	}
}

// end stops the containers within the grace period that the deletion gives,
// and then takes the pod off the API.
func (w *worker) end(ctx context.Context) {
	code := int32(255) // nothing of this boot ever ran
	if w.rt.process != nil {
		code = 0
		if !w.kill(ctx) {
			code = 137
		}
	}
	if ctx.Err() != nil {
		return
	}
	pod, gone := w.current()
	w.rt.release(w.k.m)
	w.k.m.logs.end(pod.UID)
	w.detach(ctx)
	if !gone {
		w.rt.finish(code)
		gone = retry(ctx, 200*time.Millisecond, 5*time.Second, func() error {
			if err := w.post(ctx); err != nil {
				return err
			}
			return w.k.deletePod(ctx, pod)
		})
	}
	if gone {
		w.k.m.logs.drop(pod.UID)
	}
}

// kill ends the containers; it reports whether they ended by themselves. Until
// they do, their probes count, and a shorter grace period is obeyed.
func (w *worker) kill(ctx context.Context) bool {
	grace, cancel := context.WithCancel(w.k.life.power)
	defer cancel()
	pod, gone := w.current()
	if !gone {
		for _, c := range w.rt.containers {
			w.k.podEvent(pod, c.spec.Name, corev1.EventTypeNormal, "Killing", "Stopping container "+c.spec.Name)
		}
	}
	began := time.Now()
	limit := time.NewTimer(0)
	defer limit.Stop()
	regrace := func() {
		pod, gone := w.current()
		d := time.Duration(0)
		if !gone && pod.DeletionGracePeriodSeconds != nil {
			d = time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
		}
		limit.Reset(max(0, d-time.Since(began)))
	}
	regrace()
	done := make(chan struct{})
	process := w.rt.process
	go func() {
		process.Stop(grace)
		close(done)
	}()
	clean := true
	for {
		select {
		case <-done:
			w.k.life.stopped(process)
			w.rt.process = nil
			return clean
		case <-limit.C:
			clean = false
			cancel()
		case <-w.wake:
			regrace()
		case p := <-w.probes:
			w.apply(ctx, p)
		case <-w.fix.C:
			w.report(ctx)
		case <-ctx.Done():
			cancel()
			<-done
			return false
		}
	}
}

// release gives the pod's address back.
func (r *runtime) release(m *Machine) {
	if r.sandbox && r.number != 0 {
		m.cfg.Host.RemoveIP(r.ip)
		m.ips.give(r.number)
	}
	r.sandbox = false
}

// finish is the end of all containers.
func (r *runtime) finish(code int32) {
	r.over = corev1.PodSucceeded
	for i := range r.containers {
		c := &r.containers[i]
		c.ready = false
		if c.state.Terminated == nil {
			t := &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Completed", FinishedAt: now(), ContainerID: c.id}
			if code != 0 {
				t.Reason = "Error"
			}
			if c.state.Running != nil {
				t.StartedAt = c.state.Running.StartedAt
			} else {
				t.ExitCode, t.Reason = 137, "ContainerStatusUnknown"
			}
			c.state = corev1.ContainerState{Terminated: t}
		}
		if c.state.Terminated.ExitCode != 0 {
			r.over = corev1.PodFailed
		}
	}
}

// deletePod is the kubelet's word that nothing of the pod is left.
func (k *kubelet) deletePod(ctx context.Context, pod *corev1.Pod) error {
	none := int64(0)
	err := k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &none,
		Preconditions:      metav1.NewUIDPreconditions(string(pod.UID)),
	})
	return ignoreGone(err)
}

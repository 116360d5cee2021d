package cluster

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var always = corev1.ContainerRestartPolicyAlways

func running(ready bool) corev1.ContainerStatus {
	yes := true
	return corev1.ContainerStatus{Ready: ready, Started: &yes, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
}

func ended(code, signal int32, reason string) corev1.ContainerStatus {
	return corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Signal: signal, Reason: reason}}}
}

func waiting(reason string) corev1.ContainerStatus {
	return corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
}

func named(name string, st corev1.ContainerStatus) corev1.ContainerStatus {
	st.Name = name
	return st
}

func restarted(n int32, at time.Time, st corev1.ContainerStatus) corev1.ContainerStatus {
	st.RestartCount = n
	st.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(at)}
	return st
}

func TestPodColumnsAreKubectls(t *testing.T) {
	now := metav1.Now()
	old, recent := now.Add(-time.Hour), now.Add(-time.Minute)
	cond := func(kind corev1.PodConditionType, s corev1.ConditionStatus, reason string) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: s, Reason: reason}
	}
	ready := cond(corev1.PodReady, corev1.ConditionTrue, "")
	initialized := cond(corev1.PodInitialized, corev1.ConditionTrue, "")
	type sts = []corev1.ContainerStatus
	tests := []struct {
		name         string
		phase        corev1.PodPhase
		reason       string
		deleted      bool
		conds        []corev1.PodCondition
		sidecars     []string
		inits, mains sts
		want         podColumns
	}{
		{name: "running", phase: "Running", mains: sts{running(true)}, want: podColumns{"Running", 1, 1, 0, time.Time{}}},
		{name: "dead node: Ready condition false, containers untouched", phase: "Running", mains: sts{running(true), running(true)},
			conds: []corev1.PodCondition{cond(corev1.PodReady, corev1.ConditionFalse, "")}, want: podColumns{"Running", 2, 2, 0, time.Time{}}},
		{name: "pending without statuses", phase: "Pending", want: podColumns{status: "Pending"}},
		{name: "gated", phase: "Pending", conds: []corev1.PodCondition{cond(corev1.PodScheduled, corev1.ConditionFalse, "SchedulingGated")},
			want: podColumns{status: "SchedulingGated"}},
		{name: "the pod's own reason", phase: "Failed", reason: "Evicted", want: podColumns{status: "Evicted"}},
		{name: "graceful node shutdown", phase: "Failed", reason: "Terminated", mains: sts{ended(0, 0, "Completed")},
			want: podColumns{"Completed", 0, 1, 0, time.Time{}}},
		{name: "pulling", phase: "Pending", mains: sts{waiting("ContainerCreating")}, want: podColumns{"ContainerCreating", 0, 1, 0, time.Time{}}},
		{name: "the first container's word stands", phase: "Running", mains: sts{waiting("CrashLoopBackOff"), waiting("ImagePullBackOff")},
			want: podColumns{"CrashLoopBackOff", 0, 2, 0, time.Time{}}},
		{name: "signal", phase: "Running", mains: sts{ended(137, 9, "")}, want: podColumns{"Signal:9", 0, 1, 0, time.Time{}}},
		{name: "exit code", phase: "Running", mains: sts{ended(2, 0, "")}, want: podColumns{"ExitCode:2", 0, 1, 0, time.Time{}}},
		{name: "after a reboot", phase: "Running", mains: sts{ended(255, 0, "Unknown")}, want: podColumns{"Unknown", 0, 1, 0, time.Time{}}},
		{name: "completed beside running and ready", phase: "Running", conds: []corev1.PodCondition{ready},
			mains: sts{ended(0, 0, "Completed"), running(true)}, want: podColumns{"Running", 1, 2, 0, time.Time{}}},
		{name: "completed beside running, not ready", phase: "Running",
			mains: sts{ended(0, 0, "Completed"), running(true)}, want: podColumns{"NotReady", 1, 2, 0, time.Time{}}},
		{name: "completed beside failed", phase: "Running",
			mains: sts{ended(0, 0, "Completed"), ended(1, 0, "Error")}, want: podColumns{"Error", 0, 2, 0, time.Time{}}},
		{name: "init running", phase: "Pending", inits: sts{ended(0, 0, "Completed"), running(false)}, mains: sts{waiting("PodInitializing")},
			want: podColumns{"Init:1/2", 0, 1, 0, time.Time{}}},
		{name: "init failed", phase: "Pending", inits: sts{ended(1, 0, "Error")}, want: podColumns{"Init:Error", 0, 0, 0, time.Time{}}},
		{name: "init signal", phase: "Pending", inits: sts{ended(9, 9, "")}, want: podColumns{"Init:Signal:9", 0, 0, 0, time.Time{}}},
		{name: "init exit code", phase: "Pending", inits: sts{ended(3, 0, "")}, want: podColumns{"Init:ExitCode:3", 0, 0, 0, time.Time{}}},
		{name: "init waiting", phase: "Pending", inits: sts{waiting("ImagePullBackOff")}, want: podColumns{"Init:ImagePullBackOff", 0, 0, 0, time.Time{}}},
		{name: "init not begun", phase: "Pending", inits: sts{waiting("PodInitializing")}, want: podColumns{"Init:0/1", 0, 0, 0, time.Time{}}},
		{name: "sidecar counts once it has started", phase: "Running", sidecars: []string{"mesh"},
			inits: sts{named("mesh", running(true))}, mains: sts{running(true)}, want: podColumns{"Running", 2, 2, 0, time.Time{}}},
		{name: "sidecar not started holds the rest up", phase: "Pending", sidecars: []string{"mesh"},
			inits: sts{named("mesh", waiting("ErrImagePull"))}, mains: sts{waiting("PodInitializing")},
			want: podColumns{"Init:ErrImagePull", 0, 2, 0, time.Time{}}},
		{name: "sidecar's failure after initialization", phase: "Running", sidecars: []string{"mesh"}, conds: []corev1.PodCondition{initialized},
			inits: sts{named("mesh", restarted(3, recent, ended(1, 0, "Error")))}, mains: sts{restarted(1, old, running(true))},
			want: podColumns{"Init:Error", 1, 2, 4, recent}},
		{name: "an init container's restarts end with it", phase: "Running",
			inits: sts{restarted(5, recent, ended(0, 0, "Completed"))}, mains: sts{restarted(2, old, running(true))},
			want: podColumns{"Running", 1, 1, 2, old}},
		{name: "terminating", phase: "Running", deleted: true, mains: sts{running(true)}, want: podColumns{"Terminating", 1, 1, 0, time.Time{}}},
		{name: "deleted but ended", phase: "Succeeded", deleted: true, mains: sts{ended(0, 0, "Completed")}, want: podColumns{"Completed", 0, 1, 0, time.Time{}}},
		{name: "node lost, as old control planes said", phase: "Running", reason: "NodeLost", deleted: true, mains: sts{running(true)},
			want: podColumns{"Unknown", 1, 1, 0, time.Time{}}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			pod := &corev1.Pod{Status: corev1.PodStatus{
				Phase: tc.phase, Reason: tc.reason, Conditions: tc.conds,
				InitContainerStatuses: tc.inits, ContainerStatuses: tc.mains,
			}}
			if tc.deleted {
				pod.DeletionTimestamp = &now
			}
			for range tc.mains {
				pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{})
			}
			for i := range tc.inits {
				c := corev1.Container{Name: tc.inits[i].Name}
				if len(tc.sidecars) > 0 {
					c.RestartPolicy = &always
				}
				pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
			}
			got := columns(pod)
			if !got.restarted.Equal(tc.want.restarted) {
				t.Errorf("restarted %v, want %v", got.restarted, tc.want.restarted)
			}
			got.restarted, tc.want.restarted = time.Time{}, time.Time{}
			if got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func FuzzPodStatusIsOneHarmlessWord(f *testing.F) {
	f.Add("Running", "", "CrashLoopBackOff", int32(0), int32(0), false)
	f.Add("Failed", "\x1b[31mEvicted", "", int32(1), int32(9), true)
	f.Add("", "", "", int32(-1), int32(-5), true)
	f.Fuzz(func(t *testing.T, phase, reason, why string, code, signal int32, deleted bool) {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{}, {}}, InitContainers: []corev1.Container{{Name: why, RestartPolicy: &always}}}}
		pod.Status.Phase, pod.Status.Reason = corev1.PodPhase(phase), reason
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{waiting(why), ended(code, signal, why)}
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{named(why, ended(code, signal, reason))}
		if deleted {
			now := metav1.Now()
			pod.DeletionTimestamp = &now
		}
		p := trimPod(pod)
		if p.Status != harmless(p.Status) || p.ReadyContainers > p.Containers {
			t.Fatalf("status %q, %d/%d", p.Status, p.ReadyContainers, p.Containers)
		}
	})
}

func TestTolerations(t *testing.T) {
	secs := func(n int64) *int64 { return &n }
	exists := func(key string, s *int64) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: s}
	}
	for _, tc := range []struct {
		name string
		ts   []corev1.Toleration
		want time.Duration
	}{
		{"none: at once", nil, 0},
		{"the default", []corev1.Toleration{exists(TaintNotReady, secs(300)), exists(TaintUnreachable, secs(300))}, 300 * time.Second},
		{"for ever, as a DaemonSet", []corev1.Toleration{exists(TaintUnreachable, nil)}, -1},
		{"everything, as a static pod", []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, -1},
		{"the shortest of two", []corev1.Toleration{exists("", nil), exists(TaintUnreachable, secs(20))}, 20 * time.Second},
		{"negative counts as none", []corev1.Toleration{exists(TaintUnreachable, secs(-3))}, 0},
		{"another effect", []corev1.Toleration{{Key: TaintUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}, 0},
		{"another value", []corev1.Toleration{{Key: TaintUnreachable, Operator: corev1.TolerationOpEqual, Value: "x"}}, 0},
	} {
		if got := toleratedFor(tc.ts, TaintUnreachable); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// Finalizers hold only a pod that is being deleted: others keep no names of them.
func TestFinalizersAreKeptOfPodsThatAreBeingDeleted(t *testing.T) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"example.com/a", "example.com/b"}}}
	if got := trimPod(p).Finalizers; got != "" {
		t.Errorf("of a pod that stays: %q", got)
	}
	p.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	if got := trimPod(p).Finalizers; got != "example.com/a,example.com/b" {
		t.Errorf("%q", got)
	}
}

package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	nodeutil "k8s.io/kubernetes/pkg/util/node"

	"lightsout/cluster/lab/workload"
)

// kubeletPort is where the kubelet's own server listens.
const kubeletPort = 10250

const controlPlaneRole = "node-role.kubernetes.io/control-plane"

// The messages of the Ready condition (pkg/kubelet/nodestatus/setters.go).
const (
	messageReady    = "kubelet is posting ready status"
	messageNotReady = "[container runtime status check may not have completed yet, container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized]"
)

// statusReport is how often a node's status is posted when nothing changes:
// nodeStatusReportFrequency.
const statusReport = 5 * time.Minute

// register creates the Node, or greets the one that is there; it reports
// whether it did so before ctx ended (kubelet_node_status.go).
func (k *kubelet) register(ctx context.Context) bool {
	nodes := k.client.CoreV1().Nodes()
	return retry(ctx, 100*time.Millisecond, 7*time.Second, func() error {
		fresh := k.node()
		node, err := nodes.Create(ctx, fresh, metav1.CreateOptions{})
		if errors.IsAlreadyExists(err) {
			node, err = nodes.Get(ctx, k.m.cfg.Name, metav1.GetOptions{})
			if err == nil {
				if old := node.Status.NodeInfo.BootID; old != "" && old != k.m.BootID() {
					k.nodeEvent(corev1.EventTypeWarning, "Rebooted",
						fmt.Sprintf("Node %s has been rebooted, boot id: %s", k.m.cfg.Name, k.m.BootID()))
				}
				err = k.postNodeStatus(ctx, node, false)
			}
		}
		if err != nil {
			k.m.log.Debug("the node is not registered yet", "err", err)
			return err
		}
		k.mu.Lock()
		k.nodeUID = node.UID
		k.mu.Unlock()
		return nil
	})
}

// node is the Node as this machine registers it.
func (k *kubelet) node() *corev1.Node {
	c := k.m.cfg
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: c.Name,
			Labels: map[string]string{
				corev1.LabelHostname:      c.Name,
				corev1.LabelOSStable:      "linux",
				corev1.LabelArchStable:    "amd64",
				"beta.kubernetes.io/os":   "linux",
				"beta.kubernetes.io/arch": "amd64",
			},
		},
		Spec: corev1.NodeSpec{PodCIDR: c.PodNet + ".0/24", PodCIDRs: []string{c.PodNet + ".0/24"}},
	}
	n.Annotations = map[string]string{controllerAttaches: "true"}
	maps.Copy(n.Labels, c.Labels)
	if c.ControlPlane {
		n.Labels[controlPlaneRole] = ""
		n.Spec.Taints = []corev1.Taint{{Key: controlPlaneRole, Effect: corev1.TaintEffectNoSchedule}}
	}
	n.Status = k.nodeStatus(corev1.NodeStatus{}, false)
	return n
}

// nodeStatus is the status to post over the one that is there. Conditions that
// don't change keep the time of their last change.
func (k *kubelet) nodeStatus(old corev1.NodeStatus, ready bool) corev1.NodeStatus {
	c := k.m.cfg
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(c.CPUs), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(int64(c.MemoryGiB)<<30, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(int64(c.Pods), resource.DecimalSI),
	}
	if c.GPUs > 0 {
		capacity["nvidia.com/gpu"] = *resource.NewQuantity(int64(c.GPUs), resource.DecimalSI)
	}
	now := metav1.Now()
	condition := func(t corev1.NodeConditionType, s corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
		out := corev1.NodeCondition{Type: t, Status: s, Reason: reason, Message: message, LastHeartbeatTime: now, LastTransitionTime: now}
		for _, o := range old.Conditions {
			if o.Type == t && o.Status == s {
				out.LastTransitionTime = o.LastTransitionTime
			}
		}
		return out
	}
	conditions := []corev1.NodeCondition{
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
	}
	if ready {
		conditions = append(conditions, condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", messageReady))
	} else {
		conditions = append(conditions, condition(corev1.NodeReady, corev1.ConditionFalse, "KubeletNotReady", messageNotReady))
	}
	id := fmt.Sprintf("%x", c.Name)
	return corev1.NodeStatus{
		Capacity:    capacity,
		Allocatable: capacity,
		Conditions:  conditions,
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: c.IP},
			{Type: corev1.NodeHostName, Address: c.Name},
		},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: kubeletPort}},
		NodeInfo: corev1.NodeSystemInfo{
			MachineID:               id,
			SystemUUID:              id,
			BootID:                  k.m.BootID(),
			KernelVersion:           "6.8.0",
			OSImage:                 "lightsout lab",
			ContainerRuntimeVersion: "containerd://2.1.0",
			KubeletVersion:          kubeletVersion,
			OperatingSystem:         "linux",
			Architecture:            "amd64",
		},
	}
}

// postNodeStatus posts the status; old is the node as the API has it.
func (k *kubelet) postNodeStatus(ctx context.Context, old *corev1.Node, ready bool) error {
	patch, err := json.Marshal(map[string]any{"status": struct {
		corev1.NodeStatus
		VolumesInUse []corev1.UniqueVolumeName `json:"volumesInUse"` // empties the list, too
	}{k.nodeStatus(old.Status, ready), k.inUse()}})
	if err != nil {
		return fmt.Errorf("the status of node %s can't be encoded: %w", k.m.cfg.Name, err)
	}
	_, err = k.client.CoreV1().Nodes().PatchStatus(ctx, k.m.cfg.Name, patch)
	return err
}

// keepNodeStatus makes the node Ready, and again when somebody has said
// otherwise.
func (k *kubelet) keepNodeStatus(ctx context.Context) {
	if !workload.Pause(ctx, k.m.cfg.Timing.KubeletReady) {
		return
	}
	close(k.network)
	said := false // that it is ready
	var posted time.Time
	for {
		node, err := k.client.CoreV1().Nodes().Get(ctx, k.m.cfg.Name, metav1.GetOptions{ResourceVersion: "0"})
		if err == nil && (!nodeutil.IsNodeReady(node) || time.Since(posted) > statusReport) {
			was := nodeutil.IsNodeReady(node)
			if err = k.postNodeStatus(ctx, node, true); err == nil {
				posted = time.Now()
				if !was || !said {
					k.nodeEvent(corev1.EventTypeNormal, "NodeReady",
						fmt.Sprintf("Node %s status is now: NodeReady", k.m.cfg.Name))
				}
				said = true
			}
		}
		wait := k.m.cfg.Timing.NodeStatus
		if err != nil {
			wait = min(wait, time.Second)
		}
		if !workload.Pause(ctx, wait) {
			return
		}
	}
}

package cluster

import (
	"reflect"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
)

// Sources of a Setting beside the names of the control plane's components.
const (
	// Assumed: it could not be read, and is upstream's default.
	Assumed = "assumed"
	// KubeletConfigz: kubelets reported it.
	KubeletConfigz = "kubelet configz"
)

// Setting is one value in force and where it was learnt: the name of the
// component whose arguments say so, KubeletConfigz or Assumed.
type Setting[T any] struct {
	Value  T      `json:"value"`
	Source string `json:"source"`
}

// Settings are the control plane's timings that decide what an outage looks
// like. The flags' names are in the comments; the ones without a component are
// kube-controller-manager's.
type Settings struct {
	// GracePeriod is --node-monitor-grace-period: silence up to NotReady.
	GracePeriod Setting[time.Duration] `json:"grace_period"`
	// MonitorPeriod is --node-monitor-period: the interval between checks of heartbeats.
	MonitorPeriod Setting[time.Duration] `json:"monitor_period"`
	// EvictionRate is --node-eviction-rate, in nodes a second;
	// SecondaryEvictionRate (--secondary-node-eviction-rate) holds in a zone
	// that is partially disrupted, and is 0 up to LargeCluster nodes.
	EvictionRate          Setting[float64] `json:"eviction_rate"`
	SecondaryEvictionRate Setting[float64] `json:"secondary_eviction_rate"`
	// UnhealthyZone is --unhealthy-zone-threshold, a share from 0 to 1.
	UnhealthyZone Setting[float64] `json:"unhealthy_zone"`
	// LargeCluster is --large-cluster-size-threshold, in nodes of a zone.
	LargeCluster Setting[float64] `json:"large_cluster"`
	// NotReadyToleration and UnreachableToleration are kube-apiserver's
	// --default-not-ready-toleration-seconds and
	// --default-unreachable-toleration-seconds. A pod's own tolerations win.
	NotReadyToleration    Setting[time.Duration] `json:"not_ready_toleration"`
	UnreachableToleration Setting[time.Duration] `json:"unreachable_toleration"`
	// StatusUpdate (nodeStatusUpdateFrequency), LeaseDuration
	// (nodeLeaseDurationSeconds), ShutdownGrace (shutdownGracePeriod) and
	// ShutdownGraceCritical (shutdownGracePeriodCriticalPods) are the most frequent
	// values of the kubelets that reported them; Node.Kubelet has those of one node.
	StatusUpdate          Setting[time.Duration] `json:"status_update"`
	LeaseDuration         Setting[time.Duration] `json:"lease_duration"`
	ShutdownGrace         Setting[time.Duration] `json:"shutdown_grace"`
	ShutdownGraceCritical Setting[time.Duration] `json:"shutdown_grace_critical"`
	// KubeletErr is the reason why lightsout could not read a kubelet's settings; empty
	// if all kubelets that it asked have answered.
	KubeletErr string `json:"kubelet_err"`
}

// A kubelet's defaults (pkg/kubelet/apis/config/v1beta1/defaults.go).
const (
	defaultStatusUpdate = 10 * time.Second
	defaultLease        = 40 * time.Second
)

// DefaultSettings are upstream's defaults for a server of this gitVersion
// ("v1.36.3"), each marked Assumed. The grace period is 40 s before 1.32 and
// 50 s since (kubernetes#126287); an unknown version is taken for a new one.
func DefaultSettings(serverVersion string) Settings {
	grace := 50 * time.Second
	if v, err := version.ParseGeneric(serverVersion); err == nil && v.LessThan(version.MajorMinor(1, 32)) {
		grace = 40 * time.Second
	}
	return Settings{
		GracePeriod:           Setting[time.Duration]{grace, Assumed},
		MonitorPeriod:         Setting[time.Duration]{5 * time.Second, Assumed},
		EvictionRate:          Setting[float64]{0.1, Assumed},
		SecondaryEvictionRate: Setting[float64]{0.01, Assumed},
		UnhealthyZone:         Setting[float64]{0.55, Assumed},
		LargeCluster:          Setting[float64]{50, Assumed},
		NotReadyToleration:    Setting[time.Duration]{300 * time.Second, Assumed},
		UnreachableToleration: Setting[time.Duration]{300 * time.Second, Assumed},
		StatusUpdate:          Setting[time.Duration]{defaultStatusUpdate, Assumed},
		LeaseDuration:         Setting[time.Duration]{defaultLease, Assumed},
		ShutdownGrace:         Setting[time.Duration]{0, Assumed},
		ShutdownGraceCritical: Setting[time.Duration]{0, Assumed},
	}
}

// or fills what s does not say from d: each field without a Source.
func (s Settings) or(d Settings) Settings {
	to, from := reflect.ValueOf(&s).Elem(), reflect.ValueOf(d)
	for i := range to.NumField() {
		if f := to.Field(i); f.Kind() == reflect.Struct && f.FieldByName("Source").IsZero() {
			f.Set(from.Field(i))
		}
	}
	return s
}

// Component names whose arguments are read.
const (
	controllerManager = "kube-controller-manager"
	apiServer         = "kube-apiserver"
)

// settingsFromArgs reads the flags of one control-plane component from its
// command and arguments. A component that is seen and does not name a flag
// runs with the default of the server's version, so those keep their source
// Assumed: its own version may be another one. What does not parse is skipped.
func settingsFromArgs(component string, args []string) (s Settings) {
	times := map[string]*Setting[time.Duration]{"node-monitor-grace-period": &s.GracePeriod, "node-monitor-period": &s.MonitorPeriod}
	numbers := map[string]*Setting[float64]{
		"node-eviction-rate": &s.EvictionRate, "secondary-node-eviction-rate": &s.SecondaryEvictionRate,
		"unhealthy-zone-threshold": &s.UnhealthyZone, "large-cluster-size-threshold": &s.LargeCluster,
	}
	unit := ""
	if component == apiServer {
		numbers, unit = nil, "s"
		times = map[string]*Setting[time.Duration]{
			"default-not-ready-toleration-seconds": &s.NotReadyToleration, "default-unreachable-toleration-seconds": &s.UnreachableToleration,
		}
	}
	for i, arg := range args {
		name, value, ok := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !strings.HasPrefix(arg, "--") {
			continue
		}
		if !ok && i+1 < len(args) {
			value = args[i+1]
		}
		if to := times[name]; to != nil {
			if d, err := time.ParseDuration(value + unit); err == nil && d >= 0 {
				*to = Setting[time.Duration]{d, component}
			}
		}
		if to := numbers[name]; to != nil {
			if f, err := strconv.ParseFloat(value, 64); err == nil && f >= 0 {
				*to = Setting[float64]{f, component}
			}
		}
	}
	return s
}

// reportsEvictions reports whether the control plane of a version gives each pod that it evicts a
// condition first: the feature gate PodDisruptionConditions can't be switched off from v1.31 on
// (pkg/features/versioned_kube_features.go).
func reportsEvictions(serverVersion string) bool {
	v, err := version.ParseGeneric(serverVersion)
	return err == nil && v.AtLeast(version.MajorMinor(1, 31))
}

// ReportsEvictions reports whether a pod that is being deleted, and is not Evicted, is certainly
// not evicted. Older control planes do not distinguish the two.
func (s *Snapshot) ReportsEvictions() bool { return reportsEvictions(s.ServerVersion) }

package forecast

import (
	"slices"
	"strconv"
	"time"

	"lightsout/cluster"
	"lightsout/internal/text"
)

// Setting is one timing in force, for people and records.
type Setting struct {
	// Name is the flag's or field's own name, without dashes in front.
	Name  string `json:"name"`
	Value string `json:"value"`
	// Source is the component that reports the value, cluster.KubeletConfigz, "lease",
	// "pod" or cluster.Assumed.
	Source string `json:"source"`
	// Why is the reason why lightsout could not read an assumed one; empty if unknown.
	Why string `json:"why,omitempty"`
}

// Settings gives the settings that decide what an outage looks like, the
// control plane's first, then the kubelets', then the tolerations of the
// deployment's own pods, if there is one of this key.
func Settings(s *cluster.Snapshot, deployment cluster.Key) []Setting {
	set := s.Settings
	kubelet := func(name string, st cluster.Setting[time.Duration]) Setting {
		l := Setting{Name: name, Value: seconds(st.Value), Source: st.Source}
		if st.Source == cluster.Assumed {
			l.Why = set.KubeletErr
		}
		return l
	}
	out := []Setting{
		{"node-monitor-grace-period", seconds(set.GracePeriod.Value), set.GracePeriod.Source, ""},
		{"node-monitor-period", seconds(set.MonitorPeriod.Value), set.MonitorPeriod.Source, ""},
		{"node-eviction-rate", number(set.EvictionRate.Value), set.EvictionRate.Source, ""},
		{"secondary-node-eviction-rate", number(set.SecondaryEvictionRate.Value), set.SecondaryEvictionRate.Source, ""},
		{"unhealthy-zone-threshold", number(set.UnhealthyZone.Value), set.UnhealthyZone.Source, ""},
		{"large-cluster-size-threshold", number(set.LargeCluster.Value), set.LargeCluster.Source, ""},
		{"default-not-ready-toleration-seconds", seconds(set.NotReadyToleration.Value), set.NotReadyToleration.Source, ""},
		{"default-unreachable-toleration-seconds", seconds(set.UnreachableToleration.Value), set.UnreachableToleration.Source, ""},
		leaseLine(s, kubelet("nodeLeaseDurationSeconds", set.LeaseDuration)),
		kubelet("nodeStatusUpdateFrequency", set.StatusUpdate),
		kubelet("shutdownGracePeriod", set.ShutdownGrace),
		kubelet("shutdownGracePeriodCriticalPods", set.ShutdownGraceCritical),
	}
	if all := s.PodsOf(deployment); len(all) > 0 {
		out = append(out,
			Setting{"tolerationSeconds of " + cluster.TaintUnreachable, tolerations(all, func(p *cluster.Pod) time.Duration { return p.UnreachableFor }), "pod", ""},
			Setting{"tolerationSeconds of " + cluster.TaintNotReady, tolerations(all, func(p *cluster.Pod) time.Duration { return p.NotReadyFor }), "pod", ""})
	}
	return out
}

// leaseLine uses the duration in the leases if no kubelet has reported its own.
func leaseLine(s *cluster.Snapshot, l Setting) Setting {
	d := slices.Max(append(text.Each(s.Nodes(), func(n *cluster.Node) time.Duration { return n.LeaseDuration }), 0))
	if l.Source == cluster.Assumed && d > 0 {
		l = Setting{Name: l.Name, Value: seconds(d), Source: "lease"}
	}
	return l
}

// tolerations lists how long the pods tolerate a taint.
func tolerations(all []*cluster.Pod, of func(*cluster.Pod) time.Duration) string {
	limits := text.Each(all, func(p *cluster.Pod) time.Duration { return max(of(p), -1) })
	slices.Sort(limits)
	return text.List(text.Each(slices.Compact(limits), func(d time.Duration) string {
		return map[bool]string{true: "for ever", false: seconds(d)}[d < 0]
	}))
}

func seconds(d time.Duration) string { return number(d.Seconds()) + "s" }

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

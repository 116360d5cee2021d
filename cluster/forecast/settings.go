package forecast

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lightsout/cluster"
)

// SettingLine is one timing in force, for people and records.
type SettingLine struct {
	// Name is the flag's or field's own, without dashes in front.
	Name, Value string
	// Source is where it was learnt: a component's name, "kubelet configz",
	// "lease", "pod", or a text that begins with "assumed".
	Source string
}

// Settings gives the settings that decide what an outage looks like, the
// control plane's first, then the kubelets', then the tolerations of the
// deployment's own pods, if there is one of this key.
func Settings(s *cluster.Snapshot, deployment cluster.Key) []SettingLine {
	set := s.Settings
	kubelet := func(name string, st cluster.Setting[time.Duration]) SettingLine {
		l := SettingLine{name, seconds(st.Value), st.Source}
		if st.Source == cluster.Assumed && set.KubeletErr != "" {
			l.Source += " (" + set.KubeletErr + ")"
		}
		return l
	}
	out := []SettingLine{
		{"node-monitor-grace-period", seconds(set.GracePeriod.Value), set.GracePeriod.Source},
		{"node-monitor-period", seconds(set.MonitorPeriod.Value), set.MonitorPeriod.Source},
		{"node-eviction-rate", number(set.EvictionRate.Value), set.EvictionRate.Source},
		{"secondary-node-eviction-rate", number(set.SecondaryEvictionRate.Value), set.SecondaryEvictionRate.Source},
		{"unhealthy-zone-threshold", number(set.UnhealthyZone.Value), set.UnhealthyZone.Source},
		{"large-cluster-size-threshold", strconv.Itoa(set.LargeCluster.Value), set.LargeCluster.Source},
		{"default-not-ready-toleration-seconds", seconds(set.NotReadyToleration.Value), set.NotReadyToleration.Source},
		{"default-unreachable-toleration-seconds", seconds(set.UnreachableToleration.Value), set.UnreachableToleration.Source},
		leaseLine(s, kubelet("nodeLeaseDurationSeconds", set.LeaseDuration)),
		kubelet("nodeStatusUpdateFrequency", set.StatusUpdate),
		kubelet("shutdownGracePeriod", set.ShutdownGrace),
		kubelet("shutdownGracePeriodCriticalPods", set.ShutdownGraceCritical),
	}
	if all := s.PodsOf(deployment); len(all) > 0 {
		out = append(out,
			SettingLine{"tolerationSeconds of " + cluster.TaintUnreachable, tolerations(all, func(p *cluster.Pod) time.Duration { return p.UnreachableFor }), "pod"},
			SettingLine{"tolerationSeconds of " + cluster.TaintNotReady, tolerations(all, func(p *cluster.Pod) time.Duration { return p.NotReadyFor }), "pod"})
	}
	return out
}

// leaseLine uses the duration in the leases if no kubelet has reported its own.
func leaseLine(s *cluster.Snapshot, l SettingLine) SettingLine {
	if !strings.HasPrefix(l.Source, cluster.Assumed) {
		return l
	}
	var d time.Duration
	for _, n := range s.Nodes() {
		d = max(d, n.LeaseDuration)
	}
	if d > 0 {
		l.Value, l.Source = seconds(d), "lease"
	}
	return l
}

// tolerations returns the range of the pods' tolerations.
func tolerations(all []*cluster.Pod, of func(*cluster.Pod) time.Duration) string {
	var limits []time.Duration
	for _, p := range all {
		if d := of(p); d >= 0 {
			limits = append(limits, d)
		}
	}
	if len(limits) == 0 {
		return "for ever"
	}
	least, most := slices.Min(limits), slices.Max(limits)
	text := seconds(least)
	if least != most {
		text += " to " + seconds(most)
	}
	if forever := len(all) - len(limits); forever > 0 {
		text += fmt.Sprintf(", %d of %d for ever", forever, len(all))
	}
	return text
}

// seconds writes a duration in seconds where it has whole ones.
func seconds(d time.Duration) string {
	if d%time.Second == 0 {
		return strconv.Itoa(int(d/time.Second)) + "s"
	}
	return d.String()
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

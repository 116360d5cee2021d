package cluster

import (
	"testing"
	"time"
)

func TestSettingsComeFromArgumentsElseAreAssumedByVersion(t *testing.T) {
	if s := DefaultSettings("v1.31.4"); s.GracePeriod != (Setting[time.Duration]{40 * time.Second, Assumed}) {
		t.Errorf("1.31: %+v", s.GracePeriod)
	}
	if s := DefaultSettings("v1.32.0-eks-1"); s.GracePeriod.Value != 50*time.Second {
		t.Errorf("1.32: %+v", s.GracePeriod)
	}
	kcm := settingsFromArgs(controllerManager, []string{"kube-controller-manager", "--node-monitor-grace-period=16s", "--node-eviction-rate", "1", "--node-monitor-period=bad"})
	api := settingsFromArgs(apiServer, []string{"--default-unreachable-toleration-seconds=30", "--node-monitor-grace-period=9s"})
	s := kcm.or(api).or(DefaultSettings("v1.36.3"))
	if s.GracePeriod != (Setting[time.Duration]{16 * time.Second, controllerManager}) || s.EvictionRate != (Setting[float64]{1, controllerManager}) {
		t.Errorf("controller manager: %+v %+v", s.GracePeriod, s.EvictionRate)
	}
	if s.UnreachableToleration != (Setting[time.Duration]{30 * time.Second, apiServer}) || s.NotReadyToleration.Source != Assumed {
		t.Errorf("API server: %+v %+v", s.UnreachableToleration, s.NotReadyToleration)
	}
	if s.MonitorPeriod != (Setting[time.Duration]{5 * time.Second, Assumed}) {
		t.Errorf("what does not parse must stay assumed: %+v", s.MonitorPeriod)
	}
}

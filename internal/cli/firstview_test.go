package cli

import (
	"slices"
	"strings"
	"testing"

	"lightsout/cluster"
	"lightsout/internal/survey"
)

func TestTheFirstViewWaitsForHeartbeatsAndSettings(t *testing.T) {
	seen := func(but ...cluster.Kind) *cluster.Snapshot {
		s := cluster.NewSnapshot(cluster.Contents{})
		for _, k := range cluster.Kinds {
			s.Access[k] = cluster.Access{Synced: true}
		}
		for _, k := range but {
			s.Access[k] = cluster.Access{}
		}
		return s
	}
	if !hitsKnown(seen()) {
		t.Error("hitsKnown waits although everything has arrived")
	}
	for _, k := range []cluster.Kind{cluster.KindLease, cluster.KindPod, cluster.KindDeployment} {
		s := seen(k)
		if hitsKnown(s) {
			t.Errorf("hitsKnown does not wait for %ss", k)
		}
		s.Access[k] = cluster.Access{Forbidden: true}
		if !hitsKnown(s) {
			t.Errorf("hitsKnown waits for %ss, which the account cannot read", k)
		}
	}
	s := seen()
	s.SettingsRead = false
	if hitsKnown(s) {
		t.Error("hitsKnown does not wait for the settings")
	}
}

// A survey of a cluster whose pods have not been read would find room for all of them.
func TestASurveyWaitsForEveryKindThatDecidesWherePodsGo(t *testing.T) {
	forbidden := cluster.Kind("")
	read := func(unread ...cluster.Kind) *cluster.Snapshot {
		access := map[cluster.Kind]cluster.Access{}
		for _, k := range append([]cluster.Kind{
			cluster.KindNode, cluster.KindLease, cluster.KindPod, cluster.KindDeployment, cluster.KindStatefulSet, cluster.KindDaemonSet,
		}, cluster.PlaceKinds...) {
			access[k] = cluster.Access{Synced: !slices.Contains(unread, k) && k != forbidden, Forbidden: k == forbidden}
		}
		return cluster.NewSnapshot(cluster.Contents{Access: access})
	}
	for _, k := range []cluster.Kind{"", cluster.KindPod, cluster.KindDeployment, cluster.KindLease, cluster.KindClaim} {
		if why := survey.WhyUnknown(read(k)); (why == "") != (k == "") {
			t.Errorf("without every %q the survey waits: %q", k, why)
		}
	}
	for k, want := range map[cluster.Kind]string{"": "", cluster.KindPod: "may not list pods", cluster.KindDeployment: "may not list deployments", cluster.KindQuota: ""} {
		forbidden = k
		if why := survey.WhyUnknown(read()); (why != "") != (want != "") || !strings.Contains(why, want) {
			t.Errorf("%q is forbidden: %q, want %q", k, why, want)
		}
	}
}

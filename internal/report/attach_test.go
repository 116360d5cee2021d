package report

import (
	"slices"
	"testing"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/view"
)

// A report says how long a pod waited for a volume that was attached to the lost node.
func TestTheReportSaysWhyAReplacementWaitedForItsVolume(t *testing.T) {
	add := func(r *record.Record, s float64, change cluster.Change, to, why string, is cluster.Health) {
		e := view.NewEvent(view.TransitionCode(cluster.Transition{Subject: cluster.Ref{Kind: cluster.KindPod}, Change: change}), "notes-2", view.Facts{})
		e.At, e.Seen, e.Kind, e.Namespace, e.Change, e.To, e.Why, e.Is = at(s), at(s), string(cluster.KindPod), "default", change, to, why, is
		r.Events = append(r.Events, e)
	}
	const message = `Multi-Attach error for volume "pv-notes" Volume is already used by pod(s) notes-1`
	for name, tc := range map[string]struct {
		happen func(r *record.Record)
		want   string
	}{
		"the volume is attached": {func(r *record.Record) {
			add(r, 330, cluster.ChangeEvent, "FailedAttachVolume", message+" (2 times)", cluster.HealthBad)
			add(r, 690, cluster.ChangeEvent, "SuccessfulAttachVolume", `AttachVolume.Attach succeeded for volume "pv-notes"`, cluster.HealthGood)
			add(r, 695, cluster.ChangeStatus, "Running", "", cluster.HealthGood)
		}, "default/notes-2 waited 6m00s for volume pv-notes to detach from another node (Multi-Attach error)."},
		"the pod runs": {func(r *record.Record) {
			add(r, 330, cluster.ChangeEvent, "FailedAttachVolume", message, cluster.HealthBad)
			add(r, 390, cluster.ChangeStatus, "Running", "", cluster.HealthGood)
		}, "default/notes-2 waited 1m00s for volume pv-notes to detach from another node (Multi-Attach error)."},
		"another failure": {func(r *record.Record) {
			add(r, 330, cluster.ChangeEvent, "FailedAttachVolume", "AttachVolume.Attach failed: quota", cluster.HealthBad)
		}, ""},
	} {
		r := bare()
		falls(r, "a", 0, 5)
		tc.happen(r)
		var got []string
		for _, c := range kubernetesOf(r).Items {
			got = append(got, c.Text)
		}
		var want []string
		if tc.want != "" {
			want = []string{tc.want, attachAdvice}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q\nwant %q", name, got, want)
		}
	}
}

// The volume was attached to the node on which the old pod hangs.
func TestTheReportNamesTheNodeThatHeldTheVolume(t *testing.T) {
	key := func(name string) cluster.Key { return cluster.Key{Namespace: "default", Name: name} }
	d := detach{pod: key("notes-2"), volume: "pv-notes", from: at(330), to: at(690)}
	d.holder(cluster.NewSnapshot(cluster.Contents{At: at(331), Pods: []*cluster.Pod{
		{Key: key("notes-1"), Node: "a", OwnerKind: "ReplicaSet", OwnerName: "notes-x", Deployment: "notes", Deleting: at(320)},
		{Key: key("notes-2"), Node: "b", OwnerKind: "ReplicaSet", OwnerName: "notes-x", Deployment: "notes"},
		{Key: key("other-1"), Node: "c", OwnerKind: "ReplicaSet", OwnerName: "other-x", Deployment: "other", Deleting: at(320)},
	}}))
	if got, want := d.text(at(700)), "default/notes-2 waited 6m00s for volume pv-notes to detach from a (Multi-Attach error)"; got != want || d.deployment != key("notes") {
		t.Errorf("%q of %s\nwant %q", got, d.deployment, want)
	}
}

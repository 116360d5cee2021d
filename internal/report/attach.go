package report

import (
	"fmt"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/text"
)

// The reasons of the attach/detach controller's events about a pod.
const (
	attachFailed = "FailedAttachVolume"
	attached     = "SuccessfulAttachVolume"
)

// multiAttach begins the message of a volume that is still attached to another node.
const multiAttach = "Multi-Attach error for volume "

// detach is a pod's wait for a volume to detach from another node.
type detach struct {
	pod, deployment cluster.Key
	volume          string
	node            string // unknown: empty
	from, to        time.Time
}

// text describes the wait; a wait without an end lasted to the end of the record.
func (d detach) text(end time.Time) string {
	node, until := "another node", ""
	if d.node != "" {
		node = d.node
	}
	if d.to.IsZero() {
		d.to, until = end, " and more"
	}
	return clean(fmt.Sprintf("%s waited %s%s for volume %s to detach from %s (Multi-Attach error)", d.pod, text.Span(d.to.Sub(d.from)), until, d.volume, node))
}

// detaches lists the waits for volumes that events show. A wait ends when the volume is attached,
// or when the pod is healthy or gone.
func (c *causes) detaches() (out []detach) {
	open := map[cluster.Key]int{} // by pod: its last wait in out
	for i := range c.r.Events {
		e := &c.r.Events[i]
		if e.Kind != string(cluster.KindPod) {
			continue
		}
		pod := cluster.Key{Namespace: e.Namespace, Name: e.Subject}
		at, waits := open[pod]
		switch rest, blocked := strings.CutPrefix(e.Why, multiAttach); {
		case e.Change == cluster.ChangeEvent && e.To == attachFailed && blocked && !waits:
			volume, _, _ := strings.Cut(strings.TrimPrefix(rest, `"`), `"`)
			d := detach{pod: pod, volume: volume, from: e.At}
			d.holder(snapshotAt(c.r, e.Seen))
			open[pod], out = len(out), append(out, d)
		case waits && (e.Change == cluster.ChangeEvent && e.To == attached ||
			e.Change == cluster.ChangeStatus && (e.Is == cluster.HealthGood || e.Cause == cluster.CauseDeleted)):
			out[at].to = e.At
			delete(open, pod)
		}
	}
	return out
}

// holder finds the node to which the volume is attached: the one on which another pod of the same
// owner hangs.
func (d *detach) holder(s *cluster.Snapshot) {
	if s == nil {
		return
	}
	p := s.Pod(d.pod)
	if p == nil || p.OwnerName == "" {
		return
	}
	d.deployment = cluster.Key{Namespace: p.Namespace, Name: p.Deployment}
	for _, x := range s.Pods() {
		same := x.Namespace == p.Namespace && x.OwnerKind == p.OwnerKind && (x.OwnerName == p.OwnerName || p.Deployment != "" && x.Deployment == p.Deployment)
		if same && x.Node != p.Node && !x.Deleting.IsZero() {
			d.node = x.Node
			return
		}
	}
}

// detachWaits are the sentences about the waits for volumes, of the pods of one deployment or, with
// an empty name, of all.
func (c *causes) detachWaits(deployment string) (out []string) {
	for _, d := range c.detaches() {
		if deployment == "" || d.deployment.String() == deployment {
			out = append(out, d.text(c.r.End))
		}
	}
	return out
}

// attachAdvice is what to do about such waits.
const attachAdvice = "A volume that one node at a time can attach stays attached to a silent node while the old pod hangs there: a drain before, or the taint " +
	cluster.TaintOutOfService + " on a node whose machine is certainly off, frees it at once."

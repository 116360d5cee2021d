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

// detach is a pod's wait for a volume to detach from another node; to is zero if it lasted to the
// end of the record.
type detach struct {
	pod      cluster.Key
	volume   string
	from, to time.Time
}

// detachWaits are the sentences about the waits for volumes that events show, of the pods of one
// deployment or, with an empty name, of all. A wait ends when the volume is attached, or when the
// pod is healthy or gone.
func (c *causes) detachWaits(deployment string) (out []string) {
	var all []detach
	open := map[cluster.Key]int{} // by pod: its last wait in all
	for i := range c.r.Events {
		e := &c.r.Events[i]
		pod := cluster.Key{Namespace: e.Namespace, Name: e.Subject}
		if e.Kind != string(cluster.KindPod) || deployment != "" && !strings.HasPrefix(pod.String(), deployment+"-") {
			continue
		}
		at, waits := open[pod]
		switch rest, blocked := strings.CutPrefix(e.Why, multiAttach); {
		case e.Change == cluster.ChangeEvent && e.To == attachFailed && blocked && !waits:
			volume, _, _ := strings.Cut(strings.TrimPrefix(rest, `"`), `"`)
			open[pod], all = len(all), append(all, detach{pod: pod, volume: volume, from: e.At})
		case waits && (e.Change == cluster.ChangeEvent && e.To == attached ||
			e.Change == cluster.ChangeStatus && (e.Is == cluster.HealthGood || e.Cause == cluster.CauseDeleted)):
			all[at].to = e.At
			delete(open, pod)
		}
	}
	for _, d := range all {
		until := ""
		if d.to.IsZero() {
			d.to, until = c.r.End, " and more"
		}
		out = append(out, clean(fmt.Sprintf("%s waited %s%s for volume %s to detach from another node (Multi-Attach error)", d.pod, text.Span(d.to.Sub(d.from)), until, d.volume)))
	}
	return out
}

// attachAdvice is what to do about such waits.
const attachAdvice = "A volume that one node at a time can attach stays attached to a silent node while the old pod hangs there: a drain before, or the taint " +
	cluster.TaintOutOfService + " on a node whose machine is certainly off, frees it at once."

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/view"
)

// causes are the facts of a record that say why Kubernetes did something then.
type causes struct {
	r        *record.Record
	settings []record.Setting
	phases   []view.Phase
	fallen   []fallen
	// taints is the first taint of each node by which its pods go; shutdowns are
	// the nodes whose kubelets reported their own shutdown.
	taints    map[string]string
	shutdowns map[string]bool
}

func causesOf(r *record.Record) *causes {
	c := &causes{r: r, settings: summaryOf(r).Settings, phases: phasesIn(r), fallen: wentDown(r), taints: map[string]string{}, shutdowns: map[string]bool{}}
	if r.Summary == nil {
		c.settings = settingsSeen(r)
	}
	for i := range r.Events {
		switch e := &r.Events[i]; {
		case e.Change == cluster.ChangeTaint && evicts(e.To) && c.taints[e.Subject] == "": // a node that boots has another
			c.taints[e.Subject] = strings.TrimSuffix(e.To, ":NoExecute")
		case e.Code == view.CodeNodeStatus && e.Cause == cluster.CauseShutdown:
			c.shutdowns[e.Subject] = true
		}
	}
	return c
}

// The names of settings that make Kubernetes wait.
const (
	gracePeriod   = "node-monitor-grace-period"
	monitorPeriod = "node-monitor-period"
	evictionRate  = "node-eviction-rate"
	unhealthyZone = "unhealthy-zone-threshold"
	statusUpdate  = "nodeStatusUpdateFrequency"
	shutdownGrace = "shutdownGracePeriod"
	tolerationOf  = "tolerationSeconds of "
)

// settingsSeen are the settings that samples show, for a record without a summary.
func settingsSeen(r *record.Record) []record.Setting {
	for _, x := range slices.Backward(r.Samples) {
		if x.Cluster == nil || x.Cluster.Settings == nil {
			continue
		}
		s := x.Cluster.Settings
		out := []record.Setting{{Name: evictionRate, Value: fmt.Sprint(s.EvictionRate.Value), Source: s.EvictionRate.Source},
			{Name: unhealthyZone, Value: fmt.Sprint(s.UnhealthyZone.Value), Source: s.UnhealthyZone.Source}}
		for name, d := range map[string]cluster.Setting[time.Duration]{
			gracePeriod: s.GracePeriod, monitorPeriod: s.MonitorPeriod, statusUpdate: s.StatusUpdate, shutdownGrace: s.ShutdownGrace,
			tolerationOf + unreachable: s.UnreachableToleration, tolerationOf + notReady: s.NotReadyToleration,
		} {
			out = append(out, record.Setting{Name: name, Value: d.Value.String(), Source: d.Source})
		}
		return out
	}
	return nil
}

// setting is a setting with its value and whether that is assumed.
func (c *causes) setting(name string) string {
	i := slices.IndexFunc(c.settings, func(s record.Setting) bool { return s.Name == name })
	if i < 0 {
		return name + " (unknown)"
	}
	s := name + " " + c.settings[i].Value
	if c.settings[i].Source == cluster.Assumed {
		s += " (assumed)"
	}
	return s
}

// number is the value of a setting that is a number.
func (c *causes) number(name string) (n float64, known bool) {
	i := slices.IndexFunc(c.settings, func(s record.Setting) bool { return s.Name == name })
	if i < 0 {
		return 0, false
	}
	n, err := strconv.ParseFloat(c.settings[i].Value, 64)
	return n, err == nil
}

func (c *causes) detected(node string, _ float64) string {
	if c.shutdowns[node] {
		return "its kubelet reported that it shuts down: " + c.setting(shutdownGrace)
	}
	return "no heartbeat for " + c.setting(gracePeriod) + ", checked every " + c.setting(monitorPeriod)
}

func (c *causes) endpoints(string, float64) string {
	return "readiness: the pods of a NotReady node are not ready, and Services send requests only to ready pods"
}

// tainted: node lifecycle controller, pkg/controller/nodelifecycle, ReducedQPSFunc and
// handleDisruption.
func (c *causes) tainted(node string, at float64) string {
	rate := c.setting(evictionRate) + " a second"
	switch {
	case !c.taintedLate(node, at):
		return "one node after the other, by " + rate
	case c.zoneStops(node, at):
		return "while too many nodes of a zone are not Ready, no node is tainted, or few: " + c.setting(unhealthyZone)
	}
	return "later than " + rate + " explains: the record does not show why"
}

// taintedLate reports whether a node that was tainted at a time waited for longer than the eviction
// rate explains. Nobody knows it if a blind span hid the taint, or the detection before.
func (c *causes) taintedLate(node string, at float64) bool {
	to, hidden := c.follows(view.PhaseTainted, node, true, at)
	from, hid := c.follows(view.PhaseDetected, node, true, at)
	rate, known := c.number(evictionRate)
	if to == nil || from == nil || hidden || hid || !known || rate <= 0 {
		return false
	}
	nodes := map[string]bool{} // that were tainted while it waited
	for _, p := range c.phases {
		if p.Name == view.PhaseTainted && p.Observed != nil && *p.Observed >= *from && *p.Observed <= *to {
			nodes[p.Subject] = true
		}
	}
	return *to-*from > float64(len(nodes))/rate+taintSlack
}

// zoneStops reports whether the record shows, when the last node was marked NotReady before a time,
// that the control plane tainted no node, or few: no node was Ready, or too many of the node's zone
// were not. In a zone without a Ready node, it taints as usual while another zone has one.
func (c *causes) zoneStops(node string, before float64) bool {
	last, _ := c.follows(view.PhaseDetected, "", false, before)
	share, known := c.number(unhealthyZone)
	if last == nil || !known {
		return false
	}
	s := snapshotAt(c.r, secondsAfter(c.r, *last))
	if s == nil || s.Node(node) == nil {
		return false
	}
	none, many := true, false
	for _, z := range s.Zones() {
		none = none && z.NotReady == z.Nodes
		many = many || z.Zone == s.Node(node).Zone && z.NotReady > 2 && z.NotReady < z.Nodes && float64(z.NotReady) >= share*float64(z.Nodes)
	}
	return none || many
}

// taintSlack is how many seconds a taint may come later than the eviction rate explains.
const taintSlack = 5

func (c *causes) evicted(node string, _ float64) string {
	return c.setting(tolerationOf + cmp.Or(c.taints[node], unreachable))
}

func (c *causes) replaced(deployment string, _ float64) string {
	if waits := c.detachWaits(deployment); len(waits) > 0 {
		return waits[0]
	}
	return "readiness: a new pod counts once it is scheduled, started and ready (readinessProbe, minReadySeconds)"
}

func (c *causes) ready(string, float64) string {
	return "its kubelet reports a new state at once, else every " + c.setting(statusUpdate)
}

func (c *causes) restored(string, float64) string {
	return "readiness: a pod counts once it is ready (readinessProbe, minReadySeconds)"
}

// askedFor are the words for the moment from which a node's detection counts.
var askedFor = map[fall]string{fallShutdown: "the request to shut down", fallOff: "the power cut", fallWentOff: "it was found off", fallSilent: "its heartbeat was overdue", fallDeleted: "its last heartbeat"}

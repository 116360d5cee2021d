package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/power"
)

// details collects facts; it leaves out unknown ones, and headings without facts.
type details struct {
	s       *scene
	facts   []fact
	heading string // heading of the next facts
}

func (d *details) head(text string) { d.heading = text }

func (d *details) put(f fact) {
	if d.heading != "" {
		if len(d.facts) > 0 {
			d.facts = append(d.facts, fact{})
		}
		d.facts = append(d.facts, fact{label: d.heading})
		d.heading = ""
	}
	d.facts = append(d.facts, f)
}

func (d *details) add(label, value string) { d.addStyled("", label, value) }

func (d *details) addStyled(st style, label, value string) {
	if value = strings.TrimSpace(d.s.t.text(value)); value != "" {
		d.put(fact{label: d.s.t.text(label), value: value, st: st})
	}
}

func (d *details) time(label string, at time.Time) {
	if !at.IsZero() {
		d.add(label, fmt.Sprintf("%s (%s ago)", at.Local().Format("2006-01-02 15:04:05"), age(d.s.now.Sub(at))))
	}
}

func (d *details) number(label string, n int) { d.add(label, fmt.Sprint(n)) }

// mostEvents is how many of an object's events its details list.
const mostEvents = 12

// events lists the timeline's events of an object, the newest first.
func (d *details) events(k cluster.Key) {
	d.head("Timeline")
	n := 0
	for _, e := range slices.Backward(d.s.f.Events) {
		if !about(e, k) {
			continue
		}
		_, st := levelStyle(d.s.t, e.Level)
		d.addStyled(st, d.s.when(e.When()), brief(e.Subject, e.Sentence()))
		if n++; n == mostEvents {
			return
		}
	}
}

func (d *details) node(ref cluster.Ref) {
	s := d.s
	n := s.snap.Node(ref.Name)
	if n == nil {
		d.add("node", "the cluster has deleted it")
		d.machine(ref.Name)
		return
	}
	_, st := nodeSign(s, n)
	d.addStyled(st, "status", s.snap.NodeWord(n, s.now))
	d.add("reason", n.Reason)
	d.add("message", n.Message)
	d.time("since", n.ReadySince)
	_, heard := n.Heartbeat()
	d.time("last heartbeat", heard)
	if n.LeaseDuration > 0 {
		d.add("lease duration", n.LeaseDuration.String())
	}
	for _, t := range n.Taints {
		text := t.Key + ":" + t.Effect
		if !t.TimeAdded.IsZero() {
			text += " since " + age(s.now.Sub(t.TimeAdded))
		}
		d.add("taint", text)
	}
	d.time("gone", n.Gone)
	d.machine(ref.Name)
	d.described(ref)
	d.head("Node")
	d.add("name", n.Name)
	d.add("roles", strings.Join(n.Roles, ", "))
	d.add("addresses", strings.Join(n.Addresses, ", "))
	d.add("provider ID", n.ProviderID)
	d.add("boot ID", n.BootID)
	d.time("created", n.Created)
	d.add("labels", labelList(n.Labels))
	d.add("kubelet", n.KubeletVersion)
	d.add("system", n.OSImage)
	d.add("zone", n.Zone)
	if n.CPUMilli > 0 {
		d.add("allocatable", fmt.Sprintf("%s CPU, %.1f GiB, %d pods",
			cores(n.CPUMilli), float64(n.MemoryBytes)/(1<<30), n.MaxPods))
		if cluster.WhyUnknown(s.snap, cluster.KindPod) == "" {
			d.add("requested", cores(askedCPU(s, n))+" CPU by its pods")
		}
	}
	d.events(ref.Key)
	d.head("Pods")
	d.addStyled(s.t.dim, "unknown", s.missing(cluster.KindPod))
	pods := s.snap.PodsOn(ref.Name)
	d.head(fmt.Sprintf("Pods (%d)", len(pods)))
	for _, p := range pods[:min(len(pods), 250)] {
		_, st := podSign(s, p)
		d.addStyled(st, middle(s.t.text(p.Name), 24, s.t.ellipsis), s.snap.PodWord(p, s.now))
	}
}

// machine adds the facts about a node's machine.
func (d *details) machine(name string) {
	d.head("Machine")
	m, known := d.s.f.Power[name]
	if !known {
		d.add("power", "lightsout knows no machine for this node")
		return
	}
	_, st := powerWord(d.s.t, m, true)
	d.addStyled(st, "power", fmt.Sprintf("%s, %s", m.Reading.State, m.Reading.Proof))
	d.add("says", m.Reading.Detail)
	d.time("read", cmp.Or(m.Reading.RequestedAt, m.Reading.Arrived))
	d.add("machine", m.Machine)
	if m.Busy != "" && m.Stage != power.StageFailed {
		d.addStyled(d.s.t.fresh, "under way", fmt.Sprintf("%s: %s", m.Busy, m.Stage))
	}
	d.add("", m.Text)
	if m.LeftOff {
		d.addStyled(d.s.t.warn, "left off", "lightsout switched it off and has not seen it on again")
	}
}

// hearing is what is heard of a node; of a lost pod's node it is why the pod is lost.
func hearing(s *scene, node string) string {
	n := s.snap.Node(node)
	if n == nil || !n.Gone.IsZero() {
		return "the Node object " + node + " was deleted"
	}
	return node + " is " + s.snap.NodeWord(n, s.now) + strings.Repeat(", machine off", btoi(s.f.Power[node].Reading.Proves(power.Off)))
}

func (d *details) pod(ref cluster.Ref) {
	s, k := d.s, ref.Key
	p := s.snap.Pod(k)
	if p == nil {
		d.add("pod", "is no longer there")
		return
	}
	_, st := podSign(s, p)
	d.addStyled(st, "status", s.snap.PodWord(p, s.now))
	if s.snap.PodLost(p, s.now) {
		d.addStyled(st, "lost because", hearing(s, p.Node))
	}
	d.add("node", p.Node)
	d.add("namespace", p.Namespace)
	d.add("owner", strings.TrimSpace(p.OwnerKind+" "+p.OwnerName))
	d.add("deployment", p.Deployment)
	d.add("address", p.IP)
	d.add("phase", p.Phase)
	if at, ok := forecast.EvictAt(s.snap, p); ok {
		d.addStyled(s.t.warn, "evicted", fmt.Sprintf("at %s, in %s", at.Local().Format("15:04:05"), age(at.Sub(s.now))))
	}
	d.add("ready", map[bool]string{true: "yes", false: "no"}[p.Ready])
	d.time("since", p.ReadySince)
	d.add("containers", podReady(s, p).plain()+" ready")
	if p.Restarts > 0 {
		d.number("restarts", p.Restarts)
		d.time("last restart", p.RestartedAt)
	}
	d.time("being deleted", p.Deleting)
	d.add("held by", heldBy(p))
	d.time("gone", p.Gone)
	d.described(ref)
	d.head("Pod")
	d.add("name", p.Name)
	if p.Static {
		d.add("static", "yes: the kubelet runs it from a file")
	}
	if p.Concurrency > 0 {
		d.number("concurrency", p.Concurrency)
	}
	if p.CPUMilli > 0 {
		d.add("CPU asked for", cores(p.CPUMilli))
	}
	d.time("created", p.Created)
	d.add("labels", labelList(p.Labels))
	d.head("When its node goes down")
	d.add("unreachable", tolerates(p.UnreachableFor))
	d.add("not ready", tolerates(p.NotReadyFor))
	d.add("then", explained[cluster.Kind(strings.ToLower(p.OwnerKind))])
	d.events(k)
}

// labelList writes labels so that they can be wrapped.
func labelList(labels string) string { return strings.ReplaceAll(labels, ",", ", ") }

func tolerates(t time.Duration) string {
	switch {
	case t < 0:
		return "stays forever"
	case t == 0:
		return "is evicted at once"
	}
	return "is evicted after " + age(t)
}

func (d *details) deployment(ref cluster.Ref) {
	s, k := d.s, ref.Key
	dep := s.snap.Deployment(k)
	if dep == nil {
		d.add("deployment", "is no longer there")
		return
	}
	d.addStyled(wordStyle(s.t, dep.Word), "status", dep.Word)
	d.number("replicas", dep.Replicas)
	d.number("available", dep.Available)
	d.number("ready", dep.ReadyReplicas)
	d.number("up to date", dep.Updated)
	d.add("pods", fmt.Sprint(dep.Total)+after(" (+", some(tallied(s.snap.PodsOf(k)).ending, "Terminating"), ")"))
	if dep.ProgressFailed {
		d.addStyled(s.t.bad, "progress", "deadline exceeded")
	}
	if now, target, limited := s.snap.Capacity(k); limited {
		d.add("capacity", fmt.Sprintf("%d of %d requests at once", now, target))
	}
	if k == s.f.Focus {
		d.add("measured", "yes: the gauge counts its pods' requests")
	}
	d.time("gone", dep.Gone)
	d.pods(ref)
	if kn := dep.Knative; kn != nil {
		d.knative(kn)
	}
	d.described(ref)
	d.head("Deployment")
	d.add("name", dep.Name)
	d.add("namespace", dep.Namespace)
	d.add("labels", labelList(dep.Labels))
	d.events(k)
}

// bound formats a limit; 0 means that there is none.
func bound(n int) string {
	if n == 0 {
		return "no limit"
	}
	return fmt.Sprint(n)
}

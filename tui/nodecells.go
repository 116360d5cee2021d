package tui

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/internal/view"
	"lightsout/power"
)

func nodeName(s *scene, n *cluster.Node) cell {
	if n.ControlPlane {
		return dimCell(s, n.Name)
	}
	return plainCell(s, n.Name)
}

func nodeStatus(s *scene, n *cluster.Node) cell {
	_, st := nodeSign(s, n)
	status := s.snap.NodeStatus(n, s.now)
	return shortCell(s.just(st, n.Changed), status.String(), status.Short())
}

func nodePower(s *scene, n *cluster.Node) cell {
	m, known := s.f.Power[n.Name]
	if !n.Gone.IsZero() && !m.LeftOff {
		return cell{} // lightsout polls no machine of a deleted node
	}
	word, st := powerWord(s.t, m, known)
	if word == asking(s.t) {
		return shortCell(st, word, s.t.ellipsis)
	}
	return shortCell(st, word, strings.TrimPrefix(word, "drain "))
}

// asking is the power state of a machine before the first poll has ended.
func asking(t *theme) string { return "asking" + t.ellipsis }

func nodeRole(s *scene, n *cluster.Node) cell {
	return dimCell(s, cmp.Or(strings.Join(n.Roles, ","), "worker"))
}

// nodeCPU compares the requests of its pods with its capacity.
func nodeCPU(s *scene, n *cluster.Node) cell {
	if n.CPUMilli <= 0 || cluster.WhyUnknown(s.snap, cluster.KindPod) != "" {
		return cell{}
	}
	return dimCell(s, cores(askedCPU(s, n))+"/"+cores(n.CPUMilli))
}

// cores writes thousandths of a CPU.
func cores(milli int64) string { return number(float64(milli) / 1000) }

// askedCPU adds up the CPU requests of the pods on a node, in thousandths.
func askedCPU(s *scene, n *cluster.Node) int64 {
	var sum int64
	for _, p := range s.snap.PodsOn(n.Name) {
		if present(p) {
			sum += p.CPUMilli
		}
	}
	return sum
}

func moreCPU(s *scene, a, b *cluster.Node) int { return cmp.Compare(askedCPU(s, b), askedCPU(s, a)) }

func morePods(s *scene, a, b *cluster.Node) int {
	return len(s.snap.PodsOn(b.Name)) - len(s.snap.PodsOn(a.Name))
}

func nodeAddress(s *scene, n *cluster.Node) cell {
	return dimCell(s, strings.Join(n.Addresses[:min(1, len(n.Addresses))], ""))
}

func nodeMachine(s *scene, n *cluster.Node) cell {
	return dimCell(s, brief(n.Name, machineText(s.f.Power[n.Name])))
}

// nodeNext is how long it is until a silent node will be marked NotReady, at the
// earliest.
func nodeNext(s *scene, n *cluster.Node) cell {
	if _, silent := s.snap.Silent(n, s.now); !silent {
		return cell{}
	}
	text := "NotReady overdue"
	switch due := forecast.NotReadyAt(s.snap, n); {
	case due.IsZero():
		return cell{}
	case due.From.After(s.now):
		text = "NotReady in " + age(due.From.Sub(s.now).Round(time.Second))
	case due.To.After(s.now):
		text = "NotReady now"
	}
	return textCell(s.t.warn, text)
}

// machineText is the newest sentence on a machine.
func machineText(m view.MachineView) string { return cmp.Or(m.Text, m.Reading.Detail) }

// nodeSign is the symbol and look of a node's state.
func nodeSign(s *scene, n *cluster.Node) (string, style) {
	_, silent := s.snap.Silent(n, s.now)
	switch {
	case !n.Gone.IsZero():
		return s.t.dash, s.t.dim
	case n.Ready != cluster.TriTrue:
		return s.t.badSign, s.t.bad
	case silent:
		return s.t.warnSign, s.t.warn
	}
	return " ", s.t.good
}

// powerWord returns the state of a machine in one word. Only a proven "off" has no
// question mark.
func powerWord(t *theme, m view.MachineView, known bool) (string, style) {
	switch {
	case !known:
		return t.dash, t.dim
	case m.Stage == power.StageBlocked:
		return "drain blocked", t.bad
	case m.Stage == power.StageDraining:
		return "drain" + t.ellipsis, t.fresh
	case m.Busy != "" && m.Stage.Active():
		return m.Busy.Wanted().String() + t.ellipsis, t.fresh
	case m.Busy != "" && m.Stage == power.StageFailed:
		return "fail", t.bad
	case m.Busy != "" && m.Stage == power.StageUncertain:
		return "unsure", t.bad
	case m.Reading.State == power.Unknown && m.Reading.Arrived.IsZero():
		return asking(t), t.dim
	}
	switch r := m.Reading; r.State {
	case power.On:
		return "on", t.good
	case power.Off:
		if r.Proof == power.Proven {
			return "off", t.bad
		}
		return "off?", t.bad
	case power.Transitioning:
		return "busy", t.warn
	}
	return "?", t.warn
}

// podDots shows a node's pods: ready, not ready, leaving.
func podDots(s *scene, n *cluster.Node) cell {
	if s.snap.Unread(cluster.KindPod) {
		return dimCell(s, s.t.ellipsis)
	}
	if cluster.WhyUnknown(s.snap, cluster.KindPod) != "" {
		return dimCell(s, "?")
	}
	const most = 12
	t, pods := s.t, tallied(s.snap.PodsOn(n.Name))
	var dots, counts []span
	for _, part := range []struct {
		n    int
		st   style
		sign string
	}{{pods.ready, t.good, t.up}, {pods.total - pods.ready, t.bad, t.down}, {pods.ending, t.warn, t.leaving}} {
		if part.n > 0 {
			dots = append(dots, span{part.st, strings.Repeat(part.sign, part.n)})
			counts = append(counts, span{part.st, strings.Repeat(" ", btoi(len(counts) > 0)) + strconv.Itoa(part.n) + part.sign})
		}
	}
	if pods.total+pods.ending > most {
		return cell{spans: counts}
	}
	return cell{spans: dots, short: counts}
}

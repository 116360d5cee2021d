package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// podsListed bounds the pods that are named one by one.
const podsListed = 30

// stateLines describes the state at the start in lines that are safe for a terminal: nodes,
// deployments, pods in trouble, the gauge, the forecast.
func stateLines(f *view.Frame) []string {
	out := []string{stateTitle(f)}
	out = append(out, stateNodes(f)...)
	out = append(out, stateDeployments(f.Snapshot)...)
	out = append(out, statePods(f.Snapshot, f.Now)...)
	if g := f.Load.Gauge; g.Capacity > 0 {
		out = append(out, fmt.Sprintf("Requests: serving %d of %d, queued %d", g.Served, g.Capacity, g.Queued))
	}
	out = append(out, text.Each(f.Next, func(next string) string { return "Next: " + next })...)
	return text.Each(out, func(l string) string { return strings.TrimRight(text.Cells(l), " ") })
}

func stateTitle(f *view.Frame) string {
	parts := []string{"State at " + f.Now.Local().Format(time.TimeOnly) + " of " + f.Cluster}
	if f.Namespaces != "" {
		parts = append(parts, "namespaces "+f.Namespaces)
	}
	parts = append(parts, "API server "+f.Snapshot.Link.State.String())
	if f.ReadOnly {
		parts = append(parts, "read-only")
	}
	if f.DryRun {
		parts = append(parts, "dry run")
	}
	return strings.Join(parts, ", ")
}

func stateNodes(f *view.Frame) []string {
	if f.Snapshot.Access[cluster.KindNode].Forbidden {
		return []string{"Nodes: forbidden"}
	}
	rows := [][]string{{"NODE", "STATUS", "POWER", "PODS READY"}}
	for _, n := range f.Snapshot.Nodes() {
		up, all := 0, 0
		for _, p := range f.Snapshot.PodsOn(n.Name) {
			if p.Gone.IsZero() && !p.Finished() {
				all++
				if p.Ready {
					up++
				}
			}
		}
		ready := fmt.Sprintf("%d of %d", up, all)
		if cluster.WhyUnknown(f.Snapshot, cluster.KindPod) != "" {
			ready = "unknown"
		}
		rows = append(rows, []string{n.Name, f.Snapshot.NodeWord(n, f.Now), statePower(f.Power, n.Name), ready})
	}
	ready, total := f.Snapshot.NodeCount()
	return table(fmt.Sprintf("Nodes: %d of %d Ready", ready, total), rows)
}

// statePower describes the state of a node's machine in a few words.
func statePower(all map[string]view.MachineView, node string) string {
	m, known := all[node]
	switch {
	case !known:
		return "no machine"
	case m.Reading.State == power.Unknown && m.Reading.Arrived.IsZero():
		return "asking"
	case m.Reading.State == power.Unknown:
		return "unknown"
	}
	return fmt.Sprintf("%s, %s", m.Reading.State, m.Reading.Proof)
}

func stateDeployments(s *cluster.Snapshot) []string {
	if why := notRead(s, cluster.KindDeployment); why != "" {
		return []string{"Deployments: " + why}
	}
	rows := [][]string{{"DEPLOYMENT", "AVAILABLE", "STATUS"}}
	for _, d := range s.Deployments() {
		if d.Gone.IsZero() {
			rows = append(rows, []string{d.Key.String(), fmt.Sprintf("%d of %d", d.Available, d.Replicas), d.Word})
		}
	}
	out := table(fmt.Sprintf("Deployments: %d", len(rows)-1), rows)
	rows = [][]string{{"WORKLOAD", "KIND", "READY", "STATUS"}}
	rows = append(rows, text.Each(s.Lacking(), func(w *cluster.Workload) []string {
		return []string{w.Key.String(), string(w.Kind), fmt.Sprintf("%d of %d", w.Ready, w.Desired), w.Word}
	})...)
	if len(rows) > 1 {
		out = append(out, table(fmt.Sprintf("Other workloads that lack pods: %d", len(rows)-1), rows)...)
	}
	return out
}

// notRead is why the objects of a kind are not known; empty if they are.
func notRead(s *cluster.Snapshot, kind cluster.Kind) string {
	switch a := s.Access[kind]; {
	case a.Forbidden:
		return "forbidden"
	case s.Unread(kind):
		return "unknown, " + a.Reading(kind)
	}
	return ""
}

// statePods counts the pods and names those that are meant to run and do not.
func statePods(s *cluster.Snapshot, now time.Time) []string {
	if why := notRead(s, cluster.KindPod); why != "" {
		return []string{"Pods: " + why}
	}
	rows, ready, all := [][]string{{"POD", "NODE", "STATUS"}}, 0, 0
	for _, p := range s.Pods() {
		if !p.Gone.IsZero() || p.Finished() {
			continue
		}
		if all++; p.Ready {
			ready++
			continue
		}
		if len(rows) <= podsListed {
			rows = append(rows, []string{p.Key.String(), cmp.Or(p.Node, "no node"), s.PodWord(p, now)})
		}
	}
	title := fmt.Sprintf("Pods: %d of %d ready", ready, all)
	if all == ready {
		return []string{title}
	}
	if all-ready > podsListed {
		title += fmt.Sprintf(", the first %d of the others are", podsListed)
	}
	return table(title, rows)
}

// table writes rows in columns, below a title.
func table(title string, rows [][]string) []string {
	return append([]string{title}, columns("  ", rows)...)
}

// columns sets rows one below the other, harmless for a terminal.
func columns(indent string, rows [][]string) []string {
	harmless := text.Each(rows, func(row []string) []string { return text.Each(row, text.Cells) })
	return text.Each(text.Columns(harmless), func(line string) string { return indent + line })
}

package plan

import (
	"fmt"
	"strings"
	"time"

	"lightsout/loadgen"
	"lightsout/power"
)

// Text is what the step does, in one line for people: "shut down kube-node3,
// kube-node4", "wait until kube-node3 is detected as not Ready".
func (s Step) Text() string {
	switch {
	case s.Load != nil:
		return s.Load.text()
	case s.Off != nil:
		return s.Off.text(strings.Join(s.Off.Nodes, ", ")) + inTime(s.Off.Within)
	case s.On != nil:
		return s.On.text(strings.Join(s.On.Nodes, ", ")) + inTime(s.On.Within)
	case s.Wait != nil:
		return s.Wait.text()
	case s.Cordon != nil:
		return "cordon " + strings.Join(s.Cordon.Nodes, ", ")
	case s.Drain != nil:
		return "drain " + strings.Join(s.Drain.Nodes, ", ") + inTime(s.Drain.Within)
	case s.Uncordon != nil:
		return "uncordon " + strings.Join(s.Uncordon.Nodes, ", ")
	case s.Rollout != nil:
		of := "the deployment"
		if s.Rollout.Deployment != "" {
			of = s.Rollout.Deployment
		}
		return "restart the rollout of " + of + inTime(s.Rollout.Within)
	case s.Pause != nil:
		return "pause for " + short(s.Pause.For)
	case s.StopLoad != nil && s.StopLoad.Step == allLoads:
		return "stop all loads and wait for their last requests"
	case s.StopLoad != nil:
		return "stop " + s.StopLoad.Step + " and wait for its last requests"
	}
	return "nothing"
}

// defaultName is the name of a step that has none, before it is made unique.
func (s Step) defaultName() string {
	name := "nothing"
	switch {
	case s.Load != nil:
		name = s.Load.shape()
	case s.Off != nil:
		name = s.Off.text(some(s.Off.Nodes))
	case s.On != nil:
		name = s.On.text(some(s.On.Nodes))
	case s.Wait != nil:
		name = "wait: " + s.Wait.For
	case s.Cordon != nil:
		name = "cordon " + some(s.Cordon.Nodes)
	case s.Drain != nil:
		name = "drain " + some(s.Drain.Nodes)
	case s.Uncordon != nil:
		name = "uncordon " + some(s.Uncordon.Nodes)
	case s.Rollout != nil:
		name = strings.TrimSuffix("rollout of "+s.Rollout.Deployment, " of ")
	case s.Pause != nil:
		name = "pause of " + short(s.Pause.For)
	case s.StopLoad != nil && s.StopLoad.Step == allLoads:
		name = "stop all loads"
	case s.StopLoad != nil:
		name = "stop " + s.StopLoad.Step
	}
	return strings.TrimSpace(shorten(name, maxStepName-10)) // leaves room for " (123)"
}

func (l *Load) shape() string {
	switch l.Spec.Shape {
	case loadgen.Burst:
		return fmt.Sprintf("burst of %d", l.Spec.N)
	case loadgen.Hold:
		return fmt.Sprintf("hold at %d", l.Spec.N)
	}
	return fmt.Sprintf("rate of %g a second", l.Spec.PerSecond)
}

func (l *Load) text() string {
	s := l.shape()
	if l.Spec.Requests > 0 {
		s += fmt.Sprintf(", %d requests in all", l.Spec.Requests)
	}
	if l.Spec.For > 0 {
		s += " for " + short(l.Spec.For)
	}
	if l.Background {
		s += ", in the background"
	}
	if l.Timeout > 0 {
		s += ", each given up after " + short(l.Timeout)
	}
	return s
}

func (s *Switch) text(nodes string) string {
	switch s.How {
	case power.ActionOn:
		return "power on " + nodes
	case power.ActionOff:
		return "pull the plug of " + nodes
	}
	return "shut down " + nodes
}

func (w *Wait) text() string {
	nodes := w.Nodes
	if len(nodes) == 0 {
		nodes = w.switched
	}
	who, is, has := some(nodes), "is", "has"
	if len(nodes) != 1 {
		is, has = "are", "have"
	}
	if len(nodes) == 0 {
		who = "the nodes"
	}
	of := "the deployment"
	if w.Deployment != "" {
		of = w.Deployment
	}
	text := "wait until " + who + " "
	switch w.For {
	case WaitDetected:
		text += is + " detected as not Ready"
	case WaitEndpointsOut:
		text += has + " no ready endpoint"
	case WaitEvicted:
		text = "wait until the pods on " + who + " are evicted"
	case WaitReplaced:
		text = "wait until " + of + " has as many pods again without " + who
	case WaitReady:
		text += is + " Ready again"
	case WaitRestored:
		text += is + " Ready and " + of + " has all its pods"
	}
	return text + inTime(w.Within)
}

// some names at most four nodes, and counts the others of more.
func some(nodes []string) string {
	if len(nodes) <= 4 {
		return strings.Join(nodes, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(nodes[:3], ", "), len(nodes)-3)
}

func inTime(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return ", within " + short(d)
}

// short is d without zero minutes and seconds: 30m, not 30m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

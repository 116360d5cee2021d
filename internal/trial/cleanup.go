package trial

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
)

// Bounds of the end of a trial.
const (
	// returnWithin bounds the wait for nodes that are powered on at the end.
	returnWithin = 10 * time.Minute
	// podsWithin bounds the wait for the pods that lack since the trial began, after that.
	podsWithin = 30 * time.Second
	// restWithin is how long requests in flight are waited for at the end,
	// before they are cancelled.
	restWithin = time.Minute
)

// cleanUp ends loads, powers on the machines that the trial has left off, and uncordons
// the nodes that it cordoned.
func cleanUp(r *run) poll {
	loads := endLoads(r)
	back := powerOnAgain(r)
	others := r.s.UncordonOwn(func(node string) bool { return r.s.Machine(node).GoesOff() })
	uncordoned, pods := r.s.UncordonOwn(nil), r.untilPods()
	return func(now time.Time) (bool, string, error) {
		_, _, _ = others(now) // a machine that does not come on keeps no other node cordoned
		for _, p := range []poll{back, uncordoned, pods, loads} {
			if done, doing, err := p(now); !done {
				return false, doing, err
			}
		}
		return true, "", nil
	}
}

// done is a poll of nothing.
func done(time.Time) (bool, string, error) { return true, "", nil }

// endLoads stops the loads, and waits for their last requests.
func endLoads(r *run) poll {
	if len(r.loads) == 0 {
		return done
	}
	stopped := r.now()
	if r.ending.outcome != inOrder {
		r.t.opt.Load.Stop(true)
	}
	for _, l := range r.loads {
		r.t.opt.Load.StopRun(l.number)
	}
	cancelled, settled, asked := false, false, false
	return func(now time.Time) (bool, string, error) {
		ended := len(r.t.running(r.loads)) == 0
		switch {
		case !ended && !cancelled && now.Sub(stopped) > restWithin:
			cancelled = true
			r.t.opt.Load.Stop(true)
		case ended && !asked:
			// Every record has been handed out when Wait returns.
			asked = true
			r.s.Async(restWithin, r.t.opt.Load.Wait, func(error) { settled = true })
		}
		return settled, "waiting for the last requests", nil
	}
}

// toReturn names the nodes that the trial powers on at its end: their machines are off because of it. taken are
// others of them, which lightsout leaves off.
func toReturn(r *run) (nodes, taken []string) {
	for _, n := range r.nodes {
		switch m := r.s.Machine(n.name); {
		case !m.LeftOff && !m.GoesOff() && !r.isOff(n):
		case r.s.WhyLeft(n.name) != "":
			taken = append(taken, n.name)
		default:
			nodes = append(nodes, n.name)
		}
	}
	return nodes, taken
}

// powerOnAgain powers on the machines of toReturn, and waits until their nodes are Ready.
func powerOnAgain(r *run) poll {
	if r.ending.keepOff {
		return r.untilOff()
	}
	off, taken := toReturn(r)
	for _, node := range taken {
		r.s.Warn(view.LanePower, node, node+" stays off: it "+r.s.WhyLeft(node))
	}
	if len(off) == 0 {
		return done
	}
	// A machine that is still being switched is powered on later; the others are
	// powered on now. Each has its own deadline, so cleaning up ends by itself.
	var over time.Time
	if err := r.s.PowerOnOwn(off, func(error) { over = r.now() }); err != nil {
		return done // lightsout cannot switch machines
	}
	r.s.Say(view.NewEvent(view.CodeTrialPoweringOn, "trial", view.Facts{Nodes: off}))
	for _, st := range r.steps {
		if st.Action.Kind == plan.On && st.state == view.StepSkipped {
			st.text = "the end of the trial powered on " + strings.Join(off, ", ")
		}
	}
	return func(now time.Time) (bool, string, error) {
		if over.IsZero() {
			return false, "powering on: " + strings.Join(off, ", "), nil
		}
		waits := func(n string) bool { return !r.tracker.Back(n) && r.s.WhyLeft(n) == "" }
		if i := slices.IndexFunc(off, waits); i >= 0 && !now.After(over.Add(returnWithin)) {
			return false, "waiting until " + off[i] + " is Ready", nil
		}
		return true, "", nil
	}
}

// untilPods waits, if the machines are on, until no workload lacks pods that did not when the trial began.
func (r *run) untilPods() poll {
	var began time.Time
	return func(now time.Time) (bool, string, error) {
		began = cmp.Or(began, now)
		lack := slices.DeleteFunc(lacking(r.s.Snapshot()), func(w cluster.Ref) bool { return slices.Contains(r.lacked, w) })
		if r.ending.keepOff || len(lack) == 0 || now.After(began.Add(podsWithin)) {
			return true, "", nil
		}
		return false, "waiting for the pods of " + lack[0].Key.String(), nil
	}
}

// lacking names the deployments and StatefulSets that have fewer pods available than they want.
func lacking(s *cluster.Snapshot) (out []cluster.Ref) {
	for _, d := range s.Deployments() {
		if d.Gone.IsZero() && d.Available < d.Replicas {
			out = append(out, cluster.Ref{Kind: cluster.KindDeployment, Key: d.Key})
		}
	}
	for _, w := range s.Workloads(cluster.KindStatefulSet) {
		if w.Ready < w.Desired {
			out = append(out, cluster.Ref{Kind: w.Kind, Key: w.Key})
		}
	}
	return out
}

// untilOff waits until no machine of the trial is being switched off: the verdict is about all of
// them. The switching has a deadline of its own.
func (r *run) untilOff() poll {
	return func(time.Time) (bool, string, error) {
		i := slices.IndexFunc(r.nodes, func(n *nodeRun) bool { return r.s.Machine(n.name).GoesOff() })
		if i < 0 || r.ending.outcome == aborted {
			return true, "", nil
		}
		return false, "waiting until " + r.nodes[i].name + " is off", nil
	}
}

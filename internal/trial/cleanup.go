package trial

import (
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/session"
	"lightsout/internal/view"
)

// Bounds of the end of a trial.
const (
	// returnWithin bounds the wait for nodes that are powered on at the end.
	returnWithin = 10 * time.Minute
	// restWithin is how long requests in flight are waited for at the end,
	// before they are cancelled.
	restWithin = time.Minute
)

// cleanUp ends loads, powers on the machines that the trial has left off, and uncordons
// the nodes that it cordoned.
func cleanUp(r *run) poll {
	stopped := r.now()
	if len(r.loads) > 0 {
		if r.aborted || r.failed {
			r.t.opt.Load.Stop(true)
		}
		for _, l := range r.loads {
			r.t.opt.Load.StopRun(l.number)
		}
	}
	back := powerOnAgain(r)
	others := r.s.UncordonOwn(func(node string) bool { return session.GoesOff(r.s, node) })
	uncordoned := r.s.UncordonOwn(nil)
	cancelled, settled, asked := false, false, false
	return func(now time.Time) (bool, string, error) {
		_, _, _ = others(now) // a machine that does not come on keeps no other node cordoned
		if done, doing, err := back(now); !done {
			return false, doing, err
		}
		if done, doing, err := uncordoned(now); !done {
			return false, doing, err
		}
		if len(r.loads) == 0 || settled {
			return true, "", nil
		}
		open := 0
		for _, l := range r.loads {
			if !r.loadEnded(l) {
				open++
			}
		}
		switch {
		case open > 0 && !cancelled && now.Sub(stopped) > restWithin:
			cancelled = true
			r.t.opt.Load.Stop(true)
		case open == 0 && !asked:
			// Every record has been handed out when Wait returns.
			asked = true
			r.s.Async(restWithin, r.t.opt.Load.Wait, func(error) { settled = true })
		}
		return false, "waiting for the last requests", nil
	}
}

// powerOnAgain powers on the machines that the trial has switched off, and nobody else
// since. Unless the trial was aborted, it waits until their nodes are Ready.
func powerOnAgain(r *run) poll {
	var off []string
	for _, n := range r.nodes {
		switch {
		case !r.s.LeftOff(n.name) && !r.isOff(n):
		case session.TakenOver(r.s, n.name):
			r.s.Warn(view.LanePower, n.name, n.name+" stays off: somebody else has switched it off since")
		default:
			off = append(off, n.name)
		}
	}
	done := func(time.Time) (bool, string, error) { return true, "", nil }
	switch {
	case r.opt.KeepOff && !r.aborted:
		return r.untilOff()
	case r.opt.KeepOff, len(off) == 0:
		return done
	}
	// A machine that is still being switched is powered on later; the others are
	// powered on now. Each has its own deadline, so cleaning up ends by itself.
	var over time.Time
	if err := session.PowerOnOwn(r.s, off, func(error) { over = r.now() }); err != nil {
		return done // lightsout cannot switch machines
	}
	r.s.Say(view.NewEvent(view.CodeTrialPoweringOn, "trial", view.Facts{Nodes: off}))
	return func(now time.Time) (bool, string, error) {
		if over.IsZero() {
			return false, "powering on: " + strings.Join(off, ", "), nil
		}
		if r.aborted {
			return true, "", nil
		}
		deadline := over.Add(returnWithin)
		for _, n := range off {
			if !isBack(r, n) && !session.TakenOver(r.s, n) {
				return now.After(deadline), "waiting until " + n + " is Ready", nil
			}
		}
		return true, "", nil
	}
}

// untilOff waits until no machine of the trial is being switched off: the verdict is about all of
// them. The switching has a deadline of its own.
func (r *run) untilOff() poll {
	return func(time.Time) (bool, string, error) {
		i := slices.IndexFunc(r.nodes, func(n *nodeRun) bool { return session.GoesOff(r.s, n.name) })
		if i < 0 || r.aborted {
			return true, "", nil
		}
		return false, "waiting until " + r.nodes[i].name + " is off", nil
	}
}

// isBack reports whether a node that was powered on is Ready, and has been seen
// to return where it had been seen to go.
func isBack(r *run, node string) bool {
	if _, ok := r.tracker.Observed(view.PhaseReady, node); ok {
		return true
	}
	if _, ok := r.tracker.Observed(view.PhaseDetected, node); ok {
		return false
	}
	s := r.s.Snapshot()
	n := s.Node(node)
	return n != nil && s.Link.State == cluster.LinkLive && n.Ready == cluster.TriTrue
}

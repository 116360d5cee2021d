package power

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Since reports whether another journal has switched off the machine of l after this one
// did. The machine was on in between, and belongs to the other operator.
func (o NodeNote) Since(l LeftOff) bool {
	return o.Node == l.Node && o.Note.At.Add(-o.Ahead).After(l.Before.Asked)
}

// TakenOver returns, by node, who has switched off machines since that this journal lists
// as off, according to the annotations on nodes. nodes are those of the view; none if the
// cluster is not visible. It changes nothing.
func (s *Switcher) TakenOver(nodes []Node) map[string]NodeNote {
	out := map[string]NodeNote{}
	left := s.leftOff()
	if len(left) == 0 {
		return out
	}
	for _, n := range nodes {
		for _, m := range n.Notes {
			o := NodeNote{Node: n.Name, Note: m, Ahead: n.Ahead}
			if m.At.After(out[n.Name].Note.At) && !m.over(n) && !s.ours(m) && slices.ContainsFunc(left[n.Name], o.Since) {
				out[n.Name] = o
			}
		}
	}
	return out
}

// takenOverWait bounds the wait for the view of the cluster before RestoreOwn powers on.
const takenOverWait = 3 * time.Second

// RestoreOwn is Restore for nodes that nobody has chosen one by one: it leaves out those
// whose machines another journal has switched off since. FailedNodes of the error has them too.
func (s *Switcher) RestoreOwn(ctx context.Context, r Request, ask Asker) error {
	taken := map[string]string{}
	for n, by := range s.TakenOver(s.viewWithin(ctx, takenOverWait)) {
		if slices.Contains(r.Nodes, n) {
			taken[n] = fmt.Sprintf("lightsout leaves %s off: since this journal did, it was switched off by %s", Clean(n), by.Note)
			if r.Report != nil { // the others may take their time
				r.Report(Progress{At: time.Now(), Action: ActionOn, Node: n, Stage: StageFailed, Text: taken[n]})
			}
		}
	}
	if len(taken) == 0 {
		return s.Restore(ctx, r, ask)
	}
	leftOut := &ActionError{Action: ActionOn, Failed: taken}
	r.Nodes = slices.DeleteFunc(slices.Clone(r.Nodes), func(n string) bool { return taken[n] != "" })
	if len(r.Nodes) == 0 {
		return leftOut
	}
	return errors.Join(leftOut, s.Restore(ctx, r, ask))
}

// viewWithin returns the nodes of the view, once there are any; none if there are none in
// that time.
func (s *Switcher) viewWithin(ctx context.Context, wait time.Duration) []Node {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for s.Cluster != nil {
		state, err := s.Cluster.State(ctx)
		if err == nil && len(state.Nodes) > 0 {
			return state.Nodes
		}
		if !sleep(ctx, claimPause) {
			break
		}
	}
	return nil
}

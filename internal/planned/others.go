package planned

import (
	"time"

	"lightsout/cluster"
	"lightsout/internal/session"
	"lightsout/internal/view"
	"lightsout/power"
)

// Others has the timeline of a session without a recorder say which machines somebody else switches off. It belongs
// to the session's loop.
type Others struct {
	say   func(view.Event)
	plans Offs
	own   map[string]bool // nodes that this session has switched off
}

// NewOthers makes Others for a session; say adds to its timeline.
func NewOthers(say func(view.Event)) *Others {
	return &Others{say: say, plans: Offs{}, own: map[string]bool{}}
}

// Handle handles what happens in the session.
func (o *Others) Handle(e session.Event) {
	switch e := e.(type) {
	case *cluster.Snapshot:
		if e.Link.State == cluster.LinkLive {
			o.Look(e, time.Now())
		}
	case session.Switching:
		for _, b := range e.Bindings {
			o.own[b.Node.Name] = e.Action != power.ActionOn
		}
	}
}

// Look takes the newest Snapshot.
func (o *Others) Look(s *cluster.Snapshot, now time.Time) {
	down := func(node string) bool {
		n := s.Node(node)
		_, silent := s.Silent(n, now)
		return silent || n.Ready != cluster.TriTrue
	}
	for _, node := range o.plans.Follow(s, down, now) {
		if !o.own[node] {
			o.say(Event(node, o.plans[node].By))
		}
	}
}

// Event says that somebody else has switched off the machine of a node.
func Event(node, by string) view.Event {
	e := view.NewEvent(view.CodePlannedOff, node, view.Facts{Name: by})
	e.Kind = string(cluster.KindNode)
	return e
}

package recorder

import (
	"time"

	"lightsout/cluster"
	"lightsout/internal/session"
	"lightsout/internal/view"
	"lightsout/power"
)

// Others has the timeline of a session without a Recorder say which machines somebody else switches off. It belongs
// to the session's loop.
type Others struct {
	s     Session
	plans plans
	own   map[string]bool // nodes that this session has switched off
}

// NewOthers makes Others for a session.
func NewOthers(s Session) *Others {
	return &Others{s: s, plans: plans{}, own: map[string]bool{}}
}

// Handle handles what happens in the session.
func (o *Others) Handle(e session.Event) {
	switch e := e.(type) {
	case *cluster.Snapshot:
		if e.Link.State == cluster.LinkLive {
			o.follow(e, time.Now())
		}
	case session.Switching:
		for _, b := range e.Bindings {
			o.own[b.Node.Name] = e.Action != power.ActionOn
		}
	}
}

func (o *Others) follow(s *cluster.Snapshot, now time.Time) {
	down := func(node string) bool {
		n := s.Node(node)
		_, silent := s.Silent(n, now)
		return silent || n.Ready != cluster.TriTrue
	}
	for _, node := range o.plans.follow(s, down, now) {
		if !o.own[node] {
			sayPlanned(o.s, node, o.plans[node].by)
		}
	}
}

// sayPlanned has the timeline say that somebody else has switched off the machine of a node.
func sayPlanned(s Session, node, by string) {
	e := view.NewEvent(view.CodePlannedOff, node, view.Facts{Name: by})
	e.Kind = string(cluster.KindNode)
	s.Say(e)
}

package power

import (
	"context"
	"errors"
	"time"

	"lightsout/internal/text"
)

// clear removes the notes of a request for which lightsout sends nothing.
func (s *Switcher) clear(r Request, note string) {
	defer r.waitsToClear()()
	_ = s.notes().remove(context.Background(), r.Nodes, nil, note)
}

// waitsToClear reports that a request waits until its notes are removed, unless done is called soon.
func (r Request) waitsToClear() (done func()) {
	return r.slowlyAs(StageClearing, "lightsout waits for the API server, or for another lightsout on this host, to remove its annotations from "+text.List(r.Nodes))
}

// clearing removes the notes of a request that is carried out, at its end.
type clearing struct {
	notes  notes
	q      Question
	wasOff map[string]time.Time // by node; of each machine that is on
}

func (s *Switcher) newClearing(q Question) *clearing {
	return &clearing{notes: s.notes(), q: q, wasOff: map[string]time.Time{}}
}

// progress follows a step of the request. Fleet.Do never calls it from two goroutines at once.
func (c *clearing) progress(p Progress) {
	if p.Stage != StageDone || p.Action != ActionOn {
		return
	}
	c.wasOff[p.Node] = p.WasOff
	if !p.WasOff.IsZero() {
		c.wasOff[p.Node] = p.WasOff.Add(c.q.ahead)
	}
}

// end removes the notes, including those on machines that others switched off before. It takes
// stateTimeout at most.
func (c *clearing) end() {
	done := c.q.waitsToClear()
	ctx, cancel := context.WithTimeout(context.Background(), stateTimeout)
	defer cancel()
	err := c.notes.remove(ctx, c.q.Nodes, c.wasOff, c.q.note)
	done()
	if err == nil || errors.Is(err, ErrMayNot) || c.q.Report == nil {
		return
	}
	for _, n := range c.q.Nodes {
		if _, on := c.wasOff[n]; !on {
			continue // its annotation has to stay
		}
		c.q.Report(Progress{Action: c.q.Action, Node: n, Stage: StageClearing, At: time.Now(),
			Text: "lightsout could not check its annotation: " + Clean(err.Error()) + "; if there is one, the next lightsout that sees the node removes it"})
	}
}

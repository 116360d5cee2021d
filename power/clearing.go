package power

import (
	"context"
	"errors"
	"slices"
	"sync"
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

// clearing removes the notes of a request that is carried out: of each machine as soon as it is
// on, and of the others at the end.
type clearing struct {
	notes  notes
	q      Question
	ctx    context.Context
	cancel context.CancelFunc
	wasOff map[string]time.Time // by node; of each machine that is on
	early  sync.WaitGroup
	mu     sync.Mutex
	kept   map[string]bool // nodes whose early removal did not succeed
}

func (s *Switcher) newClearing(q Question) *clearing {
	c := &clearing{notes: s.notes(), q: q, wasOff: map[string]time.Time{}, kept: map[string]bool{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// progress follows a step of the request. Fleet.Do never calls it from two goroutines at once.
func (c *clearing) progress(p Progress) {
	if p.Stage != StageDone || p.Action != ActionOn {
		return
	}
	was := p.WasOff
	if !was.IsZero() {
		was = was.Add(c.q.ahead)
	}
	c.wasOff[p.Node] = was
	c.early.Go(func() {
		err := c.notes.remove(c.ctx, []string{p.Node}, map[string]time.Time{p.Node: was}, "")
		c.mu.Lock()
		defer c.mu.Unlock()
		c.kept[p.Node] = c.kept[p.Node] || err != nil
	})
}

// end removes the notes that are left, including those on machines that others switched off
// before. It takes stateTimeout at most, with the early removals that have not ended.
func (c *clearing) end() {
	done := c.q.waitsToClear()
	defer c.cancel()
	defer time.AfterFunc(stateTimeout, c.cancel).Stop()
	c.early.Wait() // they hold the cluster's lock, for which remove waits only briefly
	left := slices.DeleteFunc(slices.Clone(c.q.Nodes), func(n string) bool {
		_, on := c.wasOff[n]
		return on && !c.kept[n]
	})
	err := c.notes.remove(c.ctx, left, c.wasOff, c.q.note)
	done()
	if err == nil || errors.Is(err, ErrMayNot) || c.q.Report == nil {
		return
	}
	for _, n := range left {
		if _, on := c.wasOff[n]; !on {
			continue // its annotation has to stay
		}
		c.q.Report(Progress{Action: c.q.Action, Node: n, Stage: StageClearing, At: time.Now(),
			Text: "lightsout could not check its annotation: " + Clean(err.Error()) + "; if there is one, the next lightsout that sees the node removes it"})
	}
}

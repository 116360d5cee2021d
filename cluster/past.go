package cluster

import (
	"slices"
	"time"
)

// mostPast is how many Events of the past a Watcher reports, the newest of all.
const mostPast = 500

// past are the Events from before a watch that are worth a Transition, as far back as somebody
// wants them. It keeps the newest of a list, whose pages are in the order of names.
type past struct {
	from   time.Time
	most   int
	newest []*clusterEvent
}

func (p *past) add(o object) {
	if e := o.(*clusterEvent); e.at.After(p.from) {
		p.newest = append(p.newest, e)
	}
	if len(p.newest) >= 2*p.most {
		p.sort()
	}
}

// sort orders them by their times, and forgets the oldest of too many.
func (p *past) sort() {
	slices.SortStableFunc(p.newest, func(a, b *clusterEvent) int { return a.at.Compare(b.at) })
	p.newest = slices.Clone(p.newest[max(0, len(p.newest)-p.most):])
}

// tell reports them, oldest first.
func (p *past) tell(s *state, seen time.Time) {
	for _, e := range p.newest {
		e.put(s, seen, false)
	}
}

// wantPast has the Events of that long before now read, once, by the sources that watch Events.
func wantPast(sources []*source, long time.Duration, now time.Time) {
	var all []*source
	for _, src := range sources {
		if src.kind == KindEvent && long > 0 {
			all = append(all, src)
		}
	}
	for _, src := range all {
		src.past = &past{from: now.Add(-long), most: max(1, mostPast/len(all))}
	}
}

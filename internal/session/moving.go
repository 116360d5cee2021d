package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/internal/view"
)

// Surroundings tells what else could be shown. Safe for use by several
// goroutines.
type Surroundings interface {
	// Places gives the names that are known.
	Places(ctx context.Context) view.Places
	// Check says why a place can't be shown; nil if it can, as far as can be told
	// without asking it.
	Check(p view.Place) error
}

// placesWithin bounds looking for other places.
const placesWithin = 10 * time.Second

// moving leads to another place.
type moving struct {
	*loop
	leaving *leaving
	loads   *loads

	known *view.Places // nil until found
	next  *view.Place  // where the operator goes when this session has ended
}

// begin finds out what places there are, and says which of the namespaces that are
// watched are not there.
func (m *moving) begin() {
	if m.opt.Around == nil {
		return
	}
	async(m.loop, placesWithin, m.opt.Around.Places, func(p view.Places) {
		m.known = &p
		for ns := range strings.SplitSeq(m.opt.Namespaces, ",") {
			if ns != "" && len(p.Namespaces) > 0 && !slices.Contains(p.Namespaces, ns) {
				m.warn(view.LaneOperator, "lightsout", "There is no namespace "+ns+": nothing of it is shown before there is one (:ns watches others)")
			}
		}
	})
}

// ask ends the session for another place, or says why not now.
func (m *moving) ask(i view.SwitchPlace) {
	refuse := func(why string) { m.warn(view.LaneOperator, "lightsout", "Not switched: "+why) }
	if m.opt.Around == nil {
		refuse("there is no other cluster here")
		return
	}
	if why := m.held(); why != "" {
		refuse(why)
		return
	}
	check := func(context.Context) error { return m.opt.Around.Check(i.Place) }
	async(m.loop, placesWithin, check, func(err error) {
		why := m.held() // also what has begun meanwhile
		if err != nil {
			why = err.Error()
		}
		if why != "" {
			refuse(why)
			return
		}
		m.next, m.ending = &i.Place, true
	})
}

// held says what of ours would be left behind; empty when nothing would.
func (m *moving) held() string {
	m.leaving.readJournal()
	off := m.leaving.machines.off()
	switch {
	case m.guest.Running():
		return "a trial is under way: t ends it"
	case len(off) > 0:
		return fmt.Sprintf("%s: switched off from here; o powers on", strings.Join(off, ", "))
	case !m.leaving.settled():
		return "machines are being switched, or nodes are cordoned or drained from here"
	case m.loads.busy():
		return "requests are under way: c stops them"
	case m.opt.Questions.first() != nil:
		return "a question is open"
	}
	return ""
}

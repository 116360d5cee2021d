package tui

import "lightsout/internal/view"

// pane is one part of the screen. It holds the operator's choices in it (cursor,
// filter, scroll position) and draws from the scene. Only the goroutine that owns the
// Model may use it.
type pane interface {
	// settle takes the present scene. It is called after every frame and key, and costs
	// next to nothing while its data is unchanged.
	settle(s *scene)
	// want returns how many lines it can use.
	want(s *scene, w int) want
	// draw returns exactly h lines of w cells, and the texts above them.
	draw(s *scene, w, h int, active bool) drawing
	// key takes a movement key.
	key(s *scene, m motion)
	// row returns the object under the cursor; ok is false if there is none.
	row(s *scene) (o object, ok bool)
	// filter is what its rows are filtered by; nil where it has none.
	filter() *filter
}

// want holds the least number of lines of a pane, the number that it can use, and its
// share of the lines left when all have their least.
type want struct{ least, most, share int }

// drawing is a drawn pane: its title, whose rows they are, and at the right the facts and which
// rows are in sight, all in the line above, and its lines.
type drawing struct {
	title, of, facts, sight string
	lines                   []string
}

// place is where a pane stands on a screen that has room for all.
type place int

const (
	placeLeft  place = iota // above, in the left column
	placeRight              // above, in the right column
	placeLower              // below, over the whole width
	placeWhole              // on the whole screen only
)

// paneSpec describes a pane before it exists. To add a pane, write a file with its spec
// and name it in paneSpecs.
type paneSpec struct {
	name string
	// names are those of its objects in kubectl and k9s, for the palette.
	names []string
	place place
	// least is the smallest height of a screen on which a lower pane has a
	// place of its own; on smaller ones it takes the timeline's while it is
	// the active pane.
	least int
	// keys are its own, which come before the common ones.
	keys []binding
	// bar lists the short names that the key bar shows for the pane, in order.
	bar []string
	// missing returns the reason, in a sentence, why it has nothing to show; empty if
	// it has. Nil: it always has.
	missing func(*view.Frame) string
	// open makes it.
	open func() pane
}

// paneSpecs are all panes, in the order of their digits and of tab.
var paneSpecs = []*paneSpec{
	nodesSpec,
	deploymentsSpec,
	podsSpec,
	requestsSpec,
	timelineSpec,
	trialSpec,
	workloadsSpec,
	objectsSpec,
}

// openPane is a pane on the screen, as it was last drawn.
type openPane struct {
	*paneSpec
	pane
	number int        // its digit
	all    []*binding // that hold while it is the active pane, its own first
	drawn  drawing
	drawnFor
}

// opened creates all panes, in which common keys work.
func opened(common []group) []*openPane {
	out := make([]*openPane, len(paneSpecs))
	for i, spec := range paneSpecs {
		out[i] = &openPane{paneSpec: spec, pane: spec.open(), number: i + 1}
		for _, g := range spec.groups(common) {
			for k := range g.bindings {
				out[i].all = append(out[i].all, &g.bindings[k])
			}
		}
	}
	return out
}

// groups are the pane's own keys, and common ones.
func (p *paneSpec) groups(common []group) []group {
	return append([]group{{p.name, p.keys}}, common...)
}

// listed reports a pane that is one of the lists above.
func (p *openPane) listed() bool { return p.place == placeLeft || p.place == placeRight }

// isThere reports whether a frame has anything for the pane.
func (p *openPane) isThere(f *view.Frame) bool { return p.missing == nil || p.missing(f) == "" }

// motion is a movement within a pane.
type motion int

const (
	moveUp motion = iota
	moveDown
	movePageUp
	movePageDown
	moveTop
	moveBottom
	moveHome // where the cursor is before the operator moves it
	moveNone // it stays on its row, which the operator is about to act on
)

// moved gives the position after a movement among n, page of them visible.
func (m motion) moved(at, n, page int) int {
	switch m {
	case moveUp:
		at--
	case moveDown:
		at++
	case movePageUp:
		at -= max(1, page-1)
	case movePageDown:
		at += max(1, page-1)
	case moveTop:
		at = 0
	case moveBottom:
		at = n - 1
	}
	return max(0, min(at, n-1))
}

// unmoving is embedded by panes without a cursor and a filter.
type unmoving struct{}

func (unmoving) settle(*scene)      {}
func (unmoving) key(*scene, motion) {}
func (unmoving) filter() *filter    { return nil }

package tui

import (
	"cmp"
	"slices"
	"strings"

	"lightsout/cluster"
	"lightsout/internal/text"
	"lightsout/internal/view"
)

var objectsSpec = &paneSpec{
	name: "Objects", place: placeWhole,
	keys: append([]binding{bind(openListed, "details", "enter", "of a CRD its objects (esc: back), of others the details", "enter"),
		bind(openObject(aspectDetails), "", "d", "describe it", "d").named("describe", "desc")}, rowKeys[1:]...),
	bar: []string{"details", "YAML", "filter", "sort"},
	missing: func(f *view.Frame) string {
		if f.Replay != nil {
			return "a record does not keep these objects"
		}
		return ""
	},
	open: func() pane { return newObjectsPane() },
}

// kindWords are short names of kinds in kubectl and k9s: they come before objects whose names begin so.
var kindWords = strings.Fields("cj cm cr crb crd csr hpa ing limits netpol np pc pdb pv pvc quota rb rc ro rs sa sc sec")

// canBeKind reports whether a word can be the name of a kind, as ingresses.networking.k8s.io.
func canBeKind(word string) bool {
	return strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789.-") == "" && len(word) < 254
}

// listKind goes to the objects of a kind, as the API server, or kubectl, calls it; before is the kind that
// esc leads back to, if any.
func listKind(kind, before string) func(*Model) {
	return func(m *Model) {
		p := m.find("Objects")
		p.pane.(*objectsPane).kind, p.pane.(*objectsPane).before = kind, before
		if m.active != p {
			showPane(p.name)(m)
		}
	}
}

// openListed lists the objects of a CRD, and shows the details of any other object.
func openListed(m *Model) {
	show := openObject(aspectDetails)
	if o, _ := m.active.row(&m.s); o.ref.Kind == "customresourcedefinition" {
		show = filtered(listKind(o.name, m.active.pane.(*objectsPane).kind), "")
	}
	show(m)
}

// objectsPane lists objects of one kind, as the API server prints them, on the whole screen. It reads
// the list when it is opened, and does not watch it.
type objectsPane struct {
	list[cluster.Ref, cluster.ListingRow]
	kind   string       // as typed; empty: none yet
	before string       // the kind whose list led here; esc goes back to it
	wanted view.Inspect // the list to read
	shown  *view.Inspection
}

func newObjectsPane() *objectsPane {
	return &objectsPane{list: list[cluster.Ref, cluster.ListingRow]{
		id: func(r cluster.ListingRow) cluster.Ref { return r.Ref }, object: func(_ *scene, r cluster.ListingRow) object { return objectAt(r.Ref) },
		has: func(_ *scene, r cluster.ListingRow, contains func(string) bool) bool {
			return contains(r.Namespace) || slices.ContainsFunc(r.Cells, contains)
		},
		lead: func(*scene, *row, cluster.ListingRow) {},
	}}
}

func (p *objectsPane) settle(s *scene) {
	want := view.Inspect{List: p.kind}
	if p.kind != "" {
		want.Namespaces = cmp.Or(s.only.text, s.f.Namespaces)
	}
	if want != p.wanted {
		p.wanted, p.shown = want, nil
	}
	if l := s.f.Inspection; l != nil && l.Inspect == want && want.List != "" && (p.shown == nil || l.At != p.shown.At) {
		p.shown = l
		p.setColumns()
	}
	if !p.stale(p.wanted, p.shown) {
		return
	}
	switch l := p.shown; {
	case p.kind == "":
		p.none = "type : and a kind: :pdb, :pvc, :cm, :ing, :crd or any other that the API server serves"
	case l == nil:
		p.none = "asking the API server for " + p.kind + " " + s.t.ellipsis
	default:
		p.none = "no " + p.kind + after(" in ", want.Namespaces, ": 0 or :ns all shows all namespaces")
	}
	var rows []cluster.ListingRow
	if p.shown != nil && p.shown.Listing != nil {
		rows = p.shown.Listing.Rows
	}
	p.take(s, rows)
}

// leave gives the screen back if the API server cannot list the kind, and shows why, and what else may have been meant.
func (p *objectsPane) leave(m *Model) {
	if p.shown == nil || p.shown.Listing != nil {
		return
	}
	known := slices.Clone(kindWords)
	for _, c := range newPalette(m).all {
		known = append(known, c.names...)
	}
	near := slices.MinFunc(known, func(a, b string) int { return text.Distance(p.kind, a) - text.Distance(p.kind, b) })
	if far := text.Distance(p.kind, near); far == 0 || far > max(1, len(p.kind)/3) {
		near = ""
	}
	m.say(after("did you mean :", near, "? ") + p.shown.Err)
	p.kind, p.by.text = "", ""
	clearOne(m)
}

// setColumns makes the columns of the list: the name gives way last.
func (p *objectsPane) setColumns() {
	p.columns, p.needW, p.sort = nil, 0, 0
	if p.shown.Listing == nil {
		return
	}
	for i, title := range p.shown.Listing.Columns {
		fits := fitting{ease: 24, min: 10, drop: i, middle: i == 0}
		p.columns = append(p.columns, column[cluster.ListingRow]{fits, title, func(s *scene, r cluster.ListingRow) cell {
			if i == 0 {
				return nameCell(s, r.Key, s.manyNamespaces())
			}
			return plainCell(s, strings.TrimPrefix(r.Cells[i], "<unset>"))
		}, nil})
	}
}

// manyNamespaces reports whether the screen shows more than one namespace.
func (s *scene) manyNamespaces() bool {
	return strings.Contains(cmp.Or(s.only.text, s.f.Namespaces, ","), ",")
}

func (p *objectsPane) draw(s *scene, w, h int, active bool) drawing {
	lines := p.list.draw(s, w, h, active)
	title, facts := cmp.Or(p.kind, "Objects"), ""
	if l := p.shown; l != nil && l.Listing != nil {
		title, facts = s.t.text(l.Listing.Title), "read at "+l.At.Local().Format("15:04:05")
		if l.Listing.Cut {
			facts = s.facts("not all: the first 500 only", facts)
		}
	}
	return drawing{title, "", facts, p.count(s), lines}
}

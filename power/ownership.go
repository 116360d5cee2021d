package power

// Owner is who has switched a node's machine off last, as far as this journal and the annotations on
// nodes show.
type Owner int

// Owners. A machine that another journal has switched off since this one did was on in between, and
// belongs to the other operator.
const (
	Nobody    Owner = iota // neither names anybody
	Ours                   // this journal, and no other since
	TakenOver              // this journal, and another one since
	Others                 // another journal
)

// Ownership is the Owner of a node's machine, with the newest annotation of another journal on the node
// that counts; its Note is zero if there is none.
type Ownership struct {
	Owner   Owner
	Other   NodeNote
	Running string // Entry.Running of a machine that is Ours
}

// SwitchedOff says who else has asked the machine to go off, as the annotation says before it does, or which other
// program with this journal; empty if nobody has.
func (o Ownership) SwitchedOff() string {
	switch {
	case o.Running != "":
		return "was asked to go off at " + o.Running
	case o.Other.Note == (Note{}):
		return ""
	case o.Owner == TakenOver:
		return "was asked to go off since by " + o.Other.Note.String()
	}
	return "was asked to go off by " + o.Other.Note.String()
}

// OwnershipOf is the one rule about who has switched a node's machine off. listed are machines that this
// journal lists as off, and others are annotations of other journals that count; they may be about other
// nodes too, or without a note.
func OwnershipOf(node string, listed []LeftOff, others []NodeNote) (o Ownership) {
	for _, n := range others {
		if n.Node == node && n.Note != (Note{}) && (o.Owner == Nobody || n.Note.At.After(o.Other.Note.At)) {
			o = Ownership{Owner: Others, Other: n}
		}
	}
	for _, l := range listed {
		switch {
		case l.Node != node:
		case o.Other.Note.At.Add(-o.Other.Ahead).After(l.Before.Asked):
			o.Owner, o.Running = TakenOver, ""
		case o.Owner != TakenOver:
			o.Owner, o.Running = Ours, l.Running()
		}
	}
	return o
}

// others returns the annotations of other journals on a node that count.
func (s *Switcher) others(n Node) (notes []NodeNote) {
	for _, m := range n.Notes {
		if !m.over(n) && !s.ours(m) {
			notes = append(notes, NodeNote{Node: n.Name, Note: m, Ahead: n.Ahead})
		}
	}
	return notes
}

// Owners returns, by node, who has switched off machines that this journal lists as off, or that the
// annotations on nodes name. nodes are those of the view; none if the cluster is not visible. It changes nothing.
func (s *Switcher) Owners(nodes []Node) map[string]Ownership {
	out := map[string]Ownership{}
	left := s.leftOff()
	for _, n := range nodes {
		if o := OwnershipOf(n.Name, left[n.Name], s.others(n)); o.Owner != Nobody {
			out[n.Name] = o
		}
	}
	return out
}

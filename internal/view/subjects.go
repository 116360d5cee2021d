package view

// Subjects names the subjects of a timeline. Objects of different namespaces may have
// the same name. It has the namespace of each name, or several.
type Subjects map[string]string

// several stands for more than one namespace.
const several = "*"

// SubjectsOf returns the names for the subjects of events.
func SubjectsOf(events []Event) Subjects {
	s := Subjects{}
	for _, e := range events {
		switch namespace := s[e.Subject]; {
		case e.Namespace == "":
		case namespace == "":
			s[e.Subject] = e.Namespace
		case namespace != e.Namespace:
			s[e.Subject] = several
		}
	}
	return s
}

// Name returns the name of an event's subject: with its namespace if another namespace
// has a subject of the same name.
func (s Subjects) Name(e Event) string {
	if e.Namespace != "" && s[e.Subject] == several {
		return e.Namespace + "/" + e.Subject
	}
	return e.Subject
}

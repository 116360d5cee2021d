package view

// Subjects names the subjects of a timeline. Objects of different namespaces may have
// the same name.
type Subjects struct {
	shared map[string]bool // names that more than one namespace has
}

// SubjectsOf returns the names for the subjects of events.
func SubjectsOf(events []Event) Subjects {
	first, shared := map[string]string{}, map[string]bool{}
	for _, e := range events {
		if e.Namespace == "" {
			continue
		}
		namespace, known := first[e.Subject]
		if !known {
			first[e.Subject] = e.Namespace
		} else if namespace != e.Namespace {
			shared[e.Subject] = true
		}
	}
	return Subjects{shared}
}

// Name returns the name of an event's subject: with its namespace if another namespace
// has a subject of the same name.
func (s Subjects) Name(e Event) string {
	if e.Namespace != "" && s.shared[e.Subject] {
		return e.Namespace + "/" + e.Subject
	}
	return e.Subject
}

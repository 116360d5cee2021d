package view

import "testing"

// Only a name that two namespaces share gets its namespace; subjects without a namespace keep
// their names.
func TestSubjectsOfOneNameHaveTheirNamespaces(t *testing.T) {
	events := []Event{
		{Namespace: "shop", Subject: "web"}, {Namespace: "blog", Subject: "web"}, {Subject: "web"},
		{Namespace: "shop", Subject: "db"}, {Namespace: "shop", Subject: "db"}, {Subject: "db"},
	}
	s := SubjectsOf(events)
	for i, want := range []string{"shop/web", "blog/web", "web", "db", "db", "db"} {
		if got := s.Name(events[i]); got != want {
			t.Errorf("%+v is called %s, not %s", events[i], got, want)
		}
	}
}

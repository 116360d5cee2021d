package match

import (
	"errors"
	"slices"
	"testing"

	"lightsout/power"
)

// FuzzOne: whatever a node's annotation and providerID say, and whatever the
// power API lists, a machine is one of the list and its words are harmless.
func FuzzOne(f *testing.F) {
	f.Add("vm-3", "x://uuid-3", "10.0.0.13", "uuid-3", "kube-node3", "10.0.0.13")
	f.Add("", "", "::ffff:10.0.0.13", "a\x1b[2J", "b\u202e", "10.0.0.13")
	f.Add("\n", "/", "", "", "", "")
	f.Fuzz(func(t *testing.T, annotation, providerID, nodeAddress, id, name, address string) {
		node := power.NodeRef{Name: "kube-node3", Addresses: []string{nodeAddress}, ProviderID: providerID, Annotations: map[string]string{power.AnnotationMachine: annotation}}
		all := []Candidate{{"other", "kube-node4", []string{"10.0.0.14"}}, {id, name, []string{address}}}
		m, i, err := One("mdx", node, "", providerID, all)
		var several *power.AmbiguousError
		switch {
		case errors.As(err, &several):
			if slices.ContainsFunc(several.Matches, func(s string) bool { return s != power.Clean(s) }) {
				t.Errorf("%q", several.Matches)
			}
		case err != nil:
		case m.ID != all[i].ID || m.Name != power.Clean(m.Name) || m.Address != power.Clean(m.Address):
			t.Errorf("%+v", m)
		case annotation != "" && annotation != all[i].ID && annotation != all[i].Name:
			t.Errorf("the annotation says %q, taken was %+v", annotation, m)
		}
	})
}

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

// The address of a node may belong to another VM by now, or by mistake.
func TestAnAddressThatLeadsToAnotherVMThanTheNameIsAContradiction(t *testing.T) {
	node := power.NodeRef{Name: "n3", Addresses: []string{"10.0.0.13"}}
	for name, c := range map[string]struct {
		all  []Candidate
		says bool
	}{
		"another VM has the name": {[]Candidate{{"1", "jump", []string{"10.0.0.13"}}, {"2", "n3", []string{"10.0.9.9"}}}, true},
		"nobody has the name":     {[]Candidate{{"1", "vm-77", []string{"10.0.0.13"}}, {"2", "n4", []string{"10.0.9.9"}}}, false},
		"it has both":             {[]Candidate{{"1", "n3", []string{"10.0.0.13"}}, {"2", "N3", []string{"10.0.9.9"}}}, false},
	} {
		m, _, err := One("portal", node, "", "", c.all)
		if err != nil || m.ID != "1" || (m.Contradiction != "") != c.says {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

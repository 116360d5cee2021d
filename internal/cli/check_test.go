package cli

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"lightsout/cluster"
)

type shippedRole struct {
	Kind     string         `json:"kind"`
	Metadata map[string]any `json:"metadata"`
	Rules    []struct {
		APIGroups []string `json:"apiGroups"`
		Resources []string `json:"resources"`
		Verbs     []string `json:"verbs"`
	} `json:"rules"`
}

func shippedRoles(t *testing.T) []shippedRole {
	t.Helper()
	b, err := os.ReadFile("docs/clusterrole.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out []shippedRole
	for _, doc := range strings.Split(string(b), "\n---\n") {
		var r shippedRole
		if err := yaml.Unmarshal([]byte(doc), &r); err != nil {
			t.Fatal(err)
		}
		if r.Kind == "ClusterRole" {
			out = append(out, r)
		}
	}
	return out
}

// TestTheShippedRolesGiveWhatIsNeededAndNoMore compares docs/clusterrole.yaml
// with what check asks for.
func TestTheShippedRolesGiveWhatIsNeededAndNoMore(t *testing.T) {
	needed := map[string][]string{}
	for _, n := range needs(nil, false) {
		for _, r := range n.rights {
			if s := r.String(); !slices.Contains(needed[n.role], s) {
				needed[n.role] = append(needed[n.role], s)
			}
		}
	}
	needed["lightsout-nodes"] = []string{"list nodes", "watch nodes"}
	given := map[string][]string{}
	for _, role := range shippedRoles(t) {
		name := role.Metadata["name"].(string)
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						resource, sub, _ := strings.Cut(resource, "/")
						given[name] = append(given[name], cluster.Right{Group: group, Resource: resource, Subresource: sub, Verb: verb}.String())
					}
				}
			}
		}
	}
	for _, m := range []map[string][]string{needed, given} {
		for _, rights := range m {
			slices.Sort(rights)
		}
	}
	if !reflect.DeepEqual(given, needed) {
		t.Errorf("given  %v\nneeded %v", given, needed)
	}
}

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"lightsout/cluster"
	"lightsout/internal/config"
	"lightsout/internal/testenv"
	"lightsout/power"
)

type shippedRole struct {
	Kind     string         `json:"kind"`
	Metadata map[string]any `json:"metadata"`
	Rules    []struct {
		APIGroups []string `json:"apiGroups"`
		Resources []string `json:"resources"`
		Verbs     []string `json:"verbs"`
		Names     []string `json:"resourceNames"`
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
		if r.Kind == "ClusterRole" || r.Kind == "Role" {
			out = append(out, r)
		}
	}
	return out
}

// TestTheShippedRolesGiveWhatIsNeededAndNoMore compares docs/clusterrole.yaml
// with what check asks for.
func TestTheShippedRolesGiveWhatIsNeededAndNoMore(t *testing.T) {
	needed := map[string][]string{}
	lease := leaseNeeds(config.Recorder{Lease: "default/lightsout-recorder"})
	for i := range lease[0].rights {
		lease[0].rights[i].Namespace = "" // the Role's own
	}
	for _, n := range append(needs(nil, false), lease...) {
		for _, r := range n.rights {
			if s := r.String(); !slices.Contains(needed[n.role], s) {
				needed[n.role] = append(needed[n.role], s)
			}
		}
	}
	needed["lightsout-nodes"] = []string{"list nodes", "watch nodes", "get namespaces kube-system"}
	given := map[string][]string{}
	for _, role := range shippedRoles(t) {
		name := role.Metadata["name"].(string)
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						resource, sub, _ := strings.Cut(resource, "/")
						for _, object := range append(rule.Names, "")[:max(1, len(rule.Names))] {
							given[name] = append(given[name], cluster.Right{Group: group, Resource: resource, Subresource: sub, Verb: verb, Name: object}.String())
						}
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

// Many clusters have one context's name: what is off in another is not said of
// this one.
func TestCheckListsMachinesThatAreOffInThisCluster(t *testing.T) {
	state := t.TempDir()
	there, err := apiAccess(&config.Config{Kubeconfig: oneCluster(t)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	here, err := apiAccess(&config.Config{Kubeconfig: oneCluster(t)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	machine := power.Machine{Driver: "exec", ID: "n3", Name: "n3"}
	line, err := json.Marshal(power.Entry{
		Kind: power.EntryIntent, Op: "0123456789ab", Action: power.ActionOff, Cluster: power.Cluster{Name: there.Context, CA: clusterOf(there).CA}, At: time.Now().Add(-time.Hour), Node: "n3",
		Binding: power.Binding{Node: power.NodeRef{Name: "n3"}, Off: &machine, On: &machine},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(state, power.JournalName), []byte(testenv.JournalLine(line)), 0o600); err != nil {
		t.Fatal(err)
	}
	for access, want := range map[*cluster.Config]checkResult{there: checkMissing, here: checkSkipped} {
		c := &checkup{config: &config.Config{State: state}, way: way{access: access, here: clusterOf(access)}, show: func([]checkRow) {}}
		c.state(nil)
		if last := c.rows[len(c.rows)-1]; last.What != "left off" || last.Result != want {
			t.Errorf("%+v, wanted %s", last, want)
		}
	}
}

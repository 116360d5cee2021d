package cli

import (
	"context"
	"encoding/json"
	"errors"
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
		Kind: power.EntryIntent, Op: "0123456789ab", Action: power.ActionOff, Cluster: there.Context, ClusterCA: clusterOf(there).CA, At: time.Now().Add(-time.Hour), Node: "n3",
		Binding: power.Binding{Node: power.NodeRef{Name: "n3"}, Off: &machine, On: &machine},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(state, power.JournalName), []byte(testenv.JournalLine(line)), 0o600); err != nil {
		t.Fatal(err)
	}
	for access, want := range map[*cluster.Config]checkResult{there: checkMissing, here: checkSkipped} {
		c := &checkup{config: &config.Config{State: state}, access: access, of: clusterOf(access), show: func([]checkRow) {}}
		c.state(nil)
		if last := c.rows[len(c.rows)-1]; last.What != "left off" || last.Result != want {
			t.Errorf("%+v, wanted %s", last, want)
		}
	}
}

// The same cluster has another address, through a tunnel, or another account has switched the
// machine off: it is off all the same.
func TestCheckSeesWhatIsOffByAnotherAddressOrAccount(t *testing.T) {
	for name, prepare := range map[string]func(c *tunnelled){
		"another address": func(c *tunnelled) {
			c.switchOff(t, "n3", "uid-b")
			kubeconfig, err := os.ReadFile(c.path("none"))
			if err != nil {
				t.Fatal(err)
			}
			c.set(t, "none", strings.ReplaceAll(string(kubeconfig), "127.0.0.1", "localhost"))
		},
		"another account": func(c *tunnelled) {
			c.onNode, c.annotated = "n3", power.Note{By: "anna@other-host", At: time.Now().Add(-time.Hour)}.Text()
		},
	} {
		c := throughATunnel(t)
		c.uid = "uid-b"
		prepare(c)
		check, err := newCheckup(c.options, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		check.run(t.Context())
		check.close()
		if last := check.rows[len(check.rows)-1]; last.What != "left off" || last.Result != checkMissing || !strings.Contains(last.Detail, "n3") {
			t.Errorf("%s: %+v", name, check.rows)
		}
	}
}

func TestTheAdviceAboutANodeWithoutAMachineFollowsItsCause(t *testing.T) {
	for want, cause := range map[string]error{
		"correct the driver's settings under power in lightsout.yaml": &power.RefusedError{Why: `the mdx portal has no project "x"`},
		"check the power API, and the route to it":                    &power.SilentError{Text: "no answer"},
		"name its machine": power.ErrNoMachine,
	} {
		fleet, err := power.NewFleet(power.Config{Off: "unfinding", On: "unfinding"}, power.OpenJournal(t.TempDir(), power.Cluster{Name: "c"}, ""), unfinding{cause})
		if err != nil {
			t.Fatal(err)
		}
		b := fleet.Resolve(t.Context(), []power.NodeRef{{Name: "node1"}})[0]
		_, err = fleet.Can(b, power.ActionOn)
		if got := unboundTodo(err, "name its machine"); got != want {
			t.Errorf("%v: advised %q, want %q", err, got, want)
		}
	}
}

// unfinding is a driver that finds no machine.
type unfinding struct{ err error }

func (unfinding) Name() string { return "unfinding" }
func (unfinding) Abilities() power.Abilities {
	return power.Abilities{State: true, On: true, Off: true, Shutdown: true}
}
func (d unfinding) Find(context.Context, power.NodeRef, string) (power.Machine, error) {
	return power.Machine{}, d.err
}
func (d unfinding) Ready(_ string, m power.Machine) (power.Machine, error) { return m, d.err }
func (d unfinding) State(context.Context, power.Machine) (power.Reading, error) {
	return power.Reading{}, d.err
}
func (d unfinding) Switch(context.Context, power.Action, power.Machine) error { return d.err }

// A machine that can only have its plug pulled is sound: check asks its driver about that, and not about a shutdown.
func TestCheckOfAMachineThatCanOnlyHaveItsPlugPulled(t *testing.T) {
	for want, refusal := range map[checkResult]error{checkWorks: nil, checkMissing: errors.New("the agent does not report the state")} {
		fleet, err := power.NewFleet(power.Config{Off: "plug", On: "plug"}, nil, plug{refusal})
		if err != nil {
			t.Fatal(err)
		}
		b := fleet.Resolve(t.Context(), []power.NodeRef{{Name: "node1"}})[0]
		rows := (&checkup{power: &machines{fleet: fleet}}).machine(t.Context(), "node1", b)
		if rows[0].What != "off" || rows[0].Result != want || rows[1].What != "on" || rows[1].Result != checkWorks {
			t.Errorf("refusal %v: %+v", refusal, rows)
		}
		if refusal == nil && rows[0].Detail != "plug pulls the plug of socket 3 (3)" {
			t.Errorf("check prints %q", rows[0].Detail)
		}
	}
}

// plug is a driver that can only pull the plug, and refuses to for a reason.
type plug struct{ refusal error }

func (plug) Name() string { return "plug" }
func (plug) Abilities() power.Abilities {
	return power.Abilities{State: true, ProvesOff: true, On: true, Off: true}
}
func (plug) Find(context.Context, power.NodeRef, string) (power.Machine, error) {
	return power.Machine{Driver: "plug", ID: "3", Name: "socket 3"}, nil
}
func (plug) Ready(_ string, m power.Machine) (power.Machine, error) { return m, nil }
func (plug) State(context.Context, power.Machine) (power.Reading, error) {
	return power.Reported(power.On, "on"), nil
}
func (p plug) Preflight(_ context.Context, a power.Action, _ power.Machine) error {
	switch a {
	case power.ActionOff:
		return p.refusal
	case power.ActionOn:
		return nil
	}
	return power.ErrCannot
}
func (plug) Switch(context.Context, power.Action, power.Machine) error { return nil }

package cli

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/power"
)

// tunnelled is a journal whose machines were all switched off with the same config file and
// kubeconfig. The kubeconfig leads through a tunnel: to the cluster with this UID.
type tunnelled struct {
	options
	uid string
	// annotated is the annotation of lightsout on a node; empty for no node. The node is n7
	// unless onNode names another.
	annotated, onNode string
	// patch is the HTTP status of each answer to a change of the node; 0 for success.
	patch int
	// context is the name of the context that switchOff records; empty for that of the
	// kubeconfig.
	context string
}

// throughATunnel sets up a cluster whose kubeconfig leads through a tunnel, and a driver that
// keeps the power states of its machines in files.
func throughATunnel(t *testing.T) *tunnelled {
	t.Helper()
	o, _ := oneMachine(t)
	c := &tunnelled{options: o}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/version" {
			fmt.Fprint(w, `{"gitVersion":"v1.34.0"}`)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/nodes") {
			fmt.Fprintf(w, `{"kind":"NodeList","apiVersion":"v1","items":[%s]}`, c.nodes())
			return
		}
		if strings.HasSuffix(r.URL.Path, "/nodes/"+cmp.Or(c.onNode, "n7")) {
			c.node(w, r)
			return
		}
		fmt.Fprintf(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":%q}}`, c.uid)
	}))
	t.Cleanup(server.Close)
	m := "'" + c.path("{{.Machine}}") + "'"
	c.set(t, "lightsout.yaml", "state: st\npower: {off_by: exec, on_by: exec, exec: {state_command: [cat, "+m+"], proves_off: true, off_command: [cp, "+c.path("off")+", "+m+"], on_command: [cp, "+c.path("on")+", "+m+"]}}\n")
	c.set(t, "none", fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: site\ncontexts: [{name: site, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: %q}}]\nusers: [{name: u, user: {}}]\n", server.URL))
	c.set(t, "on", "on\n")
	c.set(t, "off", "off\n")
	return c
}

// nodes are the cluster's nodes in JSON.
func (c *tunnelled) nodes() string {
	if c.annotated == "" {
		return ""
	}
	return fmt.Sprintf(`{"metadata":{"name":%q,"annotations":{%q:%q}}}`, cmp.Or(c.onNode, "n7"), power.AnnotationSwitchedOff, c.annotated)
}

// node answers a request for the annotated node, or to change it. The only change that it
// understands removes the annotation.
func (c *tunnelled) node(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPatch && c.patch != 0:
		w.WriteHeader(c.patch)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":%d}`, c.patch)
		return
	case r.Method == http.MethodPatch:
		c.annotated = ""
		fmt.Fprint(w, `{"kind":"Node","apiVersion":"v1"}`)
		return
	}
	fmt.Fprint(w, strings.Replace(c.nodes(), "{", `{"kind":"Node","apiVersion":"v1",`, 1))
}

func (c *tunnelled) path(name string) string { return filepath.Join(filepath.Dir(c.File), name) }

func (c *tunnelled) set(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(c.path(name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// state reads the power state of a node's machine.
func (c *tunnelled) state(node string) string {
	text, _ := os.ReadFile(c.path(node))
	return strings.TrimSpace(string(text))
}

// restorer returns the restoration of the cluster, with this UID, by its own journal.
func (c *tunnelled) restorer(t *testing.T, uid string) *restoration {
	t.Helper()
	cfg, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}
	of, err := clusterHere(cfg)
	if err != nil {
		t.Fatal(err)
	}
	of.UID, of.Name = uid, cmp.Or(c.context, of.Name)
	r, err := newRestoration(c.options, c.path("st"), of, c.File, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// switchOff switches a node's machine off while the API server reveals this UID; empty if it
// reveals none.
func (c *tunnelled) switchOff(t *testing.T, node, uid string) {
	t.Helper()
	r := c.restorer(t, uid)
	defer r.close()
	c.set(t, node, "on\n")
	m := &power.Machine{Driver: "exec", ID: node, Name: node}
	if err := r.machines.fleet.Do(t.Context(), power.ActionOff, []power.Binding{{Node: power.NodeRef{Name: node}, Off: m, On: m}}, nil, nil); err != nil || c.state(node) != "off" {
		t.Fatalf("%s is %s: %v", node, c.state(node), err)
	}
}

// powerOn powers on with restore what is off.
func (c *tunnelled) powerOn(t *testing.T) {
	t.Helper()
	if err := restore(t.Context(), c.options, nil, true); err != nil || len(c.listed(t)) > 0 {
		t.Fatalf("the journal lists %v: %v", c.listed(t), err)
	}
}

// listed returns the nodes that the journal lists as off.
func (c *tunnelled) listed(t *testing.T) (nodes []string) {
	t.Helper()
	j := power.OpenJournal(c.path("st"), power.Cluster{}, "")
	defer j.Close()
	left, err := j.LeftOffAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range left {
		nodes = append(nodes, l.Node)
	}
	return nodes
}

// The API server did not reveal its UID when lightsout switched n4 off, and did when it
// switched n3 off. Now the settings lead to another cluster: restore leaves n3 alone, whatever
// else the journal has, and reports it.
func TestAnEntryWithoutAUIDDoesNotHideThatTheSettingsLeadElsewhere(t *testing.T) {
	for _, uids := range [][2]string{{"", "uid-b"}, {"uid-b", ""}, {"uid-b", "uid-b"}} {
		t.Run(fmt.Sprintf("n4 with the UID %q, then n3 with %q", uids[0], uids[1]), func(t *testing.T) {
			c := throughATunnel(t)
			c.switchOff(t, "n4", uids[0])
			c.switchOff(t, "n3", uids[1])
			c.uid = "uid-a"
			err := restore(t.Context(), c.options, nil, true)
			if err == nil || c.state("n3") != "off" || c.state("n4") != "off" || !strings.Contains(err.Error(), "lightsout leaves n4, n3 off") {
				t.Errorf("n3 is %s, n4 is %s, and restore ends with: %v", c.state("n3"), c.state("n4"), err)
			}
			if left := c.listed(t); !slices.Equal(left, []string{"n4", "n3"}) {
				t.Errorf("the journal lists %v", left)
			}
		})
	}
}

// The settings led to another cluster when lightsout switched n3 off, or its context had
// another name. In the cluster of today an operator on another host has left n7 off: restore
// reports it.
func TestRestoreReadsTheAnnotationsOfTodaysCluster(t *testing.T) {
	for name, tc := range map[string]struct {
		context string // that switched n3 off
		on      bool   // n3 is on again
		today   string // the UID of today's cluster
	}{
		"another cluster":                    {"site", true, "uid-a"},
		"another cluster and n3 is off":      {"site", false, "uid-a"},
		"another cluster by another context": {"gone", true, "uid-a"},
		"the same cluster":                   {"site", true, "uid-b"},
		"the same cluster and n3 is off":     {"site", false, "uid-b"},
		"the same cluster by a new context":  {"gone", true, "uid-b"},
		"a new context and n3 is off":        {"gone", false, "uid-b"},
	} {
		t.Run(name, func(t *testing.T) {
			c := throughATunnel(t)
			c.context, c.uid = tc.context, "uid-b"
			c.switchOff(t, "n3", "uid-b")
			if tc.on {
				c.powerOn(t)
			}
			c.uid, c.annotated = tc.today, power.Note{By: "anna@other-host", Journal: "hers", At: time.Now().Add(-time.Hour)}.Text()
			err := restore(t.Context(), c.options, nil, true)
			if err == nil || strings.Count(err.Error(), "others have switched off n7") != 1 {
				t.Errorf("restore ends with: %v", err)
			}
		})
	}
}

// The context by which lightsout switched n3 off has another name today. An operator on
// another host has switched n3 off since: restore does not power it on.
func TestRestoreByARenamedContextSeesThatAnotherHasSwitchedOffSince(t *testing.T) {
	c := throughATunnel(t)
	c.context, c.uid = "gone", "uid-b"
	c.switchOff(t, "n3", "uid-b")
	c.onNode, c.annotated = "n3", power.Note{By: "anna@other-host", Journal: "hers", At: time.Now().Add(time.Second)}.Text()
	err := restore(t.Context(), c.options, nil, true)
	if err == nil || c.state("n3") != "off" || !strings.Contains(err.Error(), "others have switched off n3") {
		t.Errorf("n3 is %s: %v", c.state("n3"), err)
	}
}

// The settings name a context that the kubeconfig lacks: restore reads no annotations, and does
// not end as if nothing were off. Without any kubeconfig it need not.
func TestRestoreBySettingsWithoutAClusterIsNotDone(t *testing.T) {
	c := throughATunnel(t)
	c.Context = "nowhere"
	if err := restore(t.Context(), c.options, nil, true); err == nil || !strings.Contains(err.Error(), `has no context "nowhere"`) {
		t.Errorf("with a context that does not exist: %v", err)
	}
	c.Context = ""
	if err := os.Remove(c.path("none")); err != nil {
		t.Fatal(err)
	}
	if err := restore(t.Context(), c.options, nil, true); err != nil {
		t.Errorf("without a kubeconfig: %v", err)
	}
}

// Two config files lead to one cluster, and the journal has entries by one of them: restore
// with the other finds another operator's machine once, so its name is enough.
func TestTwoConfigFilesOfOneClusterFindAnothersMachineOnce(t *testing.T) {
	c := throughATunnel(t)
	c.uid = "uid-b"
	c.switchOff(t, "n3", "uid-b")
	c.powerOn(t)
	text, err := os.ReadFile(c.File)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(c.path("elsewhere"), 0o700); err != nil {
		t.Fatal(err)
	}
	c.set(t, "elsewhere/lightsout.yaml", strings.Replace(string(text), "state: st", "state: "+c.path("st"), 1))
	t.Chdir(c.path("elsewhere"))
	c.set(t, "n7", "off\n")
	c.annotated = power.Note{By: "anna@other-host", Journal: "hers", At: time.Now().Add(-time.Hour)}.Text()
	if err := restore(t.Context(), options{}, []string{"n7"}, true); c.state("n7") != "on" {
		t.Errorf("n7 is %s: %v", c.state("n7"), err)
	}
}

// One machine was switched off twice, and the API server revealed its UID the second time
// only. The settings lead to another cluster now: restore leaves the machine alone.
func TestAMachineThatWasSwitchedOffFirstWithoutAUIDIsOfTheClusterThatIsKnown(t *testing.T) {
	c := throughATunnel(t)
	c.switchOff(t, "n3", "")
	c.switchOff(t, "n3", "uid-b")
	c.uid = "uid-a"
	err := restore(t.Context(), c.options, nil, true)
	if err == nil || c.state("n3") != "off" || !strings.Contains(err.Error(), "lightsout leaves n3 off") || !slices.Equal(c.listed(t), []string{"n3"}) {
		t.Errorf("n3 is %s, the journal lists %v, and restore ends with: %v", c.state("n3"), c.listed(t), err)
	}
	c.uid = "uid-b"
	if err := restore(t.Context(), c.options, nil, true); err != nil || c.state("n3") != "on" || len(c.listed(t)) > 0 {
		t.Errorf("with the settings of its own cluster n3 is %s, and the journal lists %v: %v", c.state("n3"), c.listed(t), err)
	}
}

// Machines of one cluster whose UID was known only for some of them are one restoration,
// which asks one question and powers on each machine.
func TestRestorePowersOnMachinesWithAndWithoutAUIDTogether(t *testing.T) {
	for _, uids := range [][]string{{"", "uid-b", ""}, {"uid-b", "", "uid-b"}} {
		c := throughATunnel(t)
		for i, uid := range uids {
			c.switchOff(t, fmt.Sprintf("n%d", i), uid)
		}
		all, err := restorations(c.options)
		if err != nil || len(all) != 1 || !slices.Equal(all[0].ownNames(nil), []string{"n0", "n1", "n2"}) {
			t.Errorf("UIDs %q: %d restorations: %v", uids, len(all), err)
		}
		for _, r := range all {
			r.close()
		}
		c.uid = "uid-b"
		if err := restore(t.Context(), c.options, nil, true); err != nil || c.state("n0")+c.state("n1")+c.state("n2") != "ononon" || len(c.listed(t)) > 0 {
			t.Errorf("UIDs %q: the machines are %s, %s, %s, and the journal lists %v: %v", uids, c.state("n0"), c.state("n1"), c.state("n2"), c.listed(t), err)
		}
	}
}

// Machines of two clusters were switched off with the same settings, one without a UID
// before them: restore powers on those of the cluster to which the settings lead now.
func TestAnEntryWithoutAUIDJoinsNoTwoClusters(t *testing.T) {
	c := throughATunnel(t)
	for i, uid := range []string{"", "uid-b", "uid-a"} {
		c.switchOff(t, fmt.Sprintf("n%d", i), uid)
	}
	c.uid = "uid-a"
	err := restore(t.Context(), c.options, nil, true)
	if err == nil || !strings.Contains(err.Error(), "lightsout leaves n0, n1 off") || c.state("n0")+c.state("n1")+c.state("n2") != "offoffon" {
		t.Errorf("the machines are %s, %s, %s: %v", c.state("n0"), c.state("n1"), c.state("n2"), err)
	}
}

// Whatever lightsout learns about the cluster while it works: a machine that it set out to
// power on, and that the journal still lists, is reported at the end.
func TestTheEndReportsEachMachineThatIsStillInTheJournal(t *testing.T) {
	c := throughATunnel(t)
	c.switchOff(t, "n3", "uid-b")
	all, err := restorations(c.options)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d restorations: %v", len(all), err)
	}
	r := all[0]
	defer r.close()
	r.journal.Identify(power.Cluster{UID: "uid-a"})
	if names := r.stillOff(false, nil); !slices.Equal(names, []string{"n3"}) {
		t.Errorf("still off: %v", names)
	}
}

// Many machines of the journal do not answer; another one, that was on again, is off and its
// power API says so at once: restore powers it on.
func TestMachinesThatHangHideNoLateMachine(t *testing.T) {
	c := throughATunnel(t)
	c.uid = "uid-a"
	c.lateMachines(t, "late")
	for i := range 21 { // three rounds of a driver's turns
		c.switchOff(t, fmt.Sprintf("dead%d", i), "uid-a")
	}
	c.set(t, "late", "off\n")
	c.stateCommand(t, `case $1 in dead*) if [ "$(cat $1)" = off ]; then sleep 30; fi;; esac; cat $1`)
	err := restore(t.Context(), c.options, nil, true)
	if err != nil || c.state("late") != "on" {
		t.Errorf("late is %s: %v", c.state("late"), err)
	}
}

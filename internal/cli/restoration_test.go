package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"lightsout/power"
	"lightsout/power/powertest"
)

// tunnelled is a journal whose machines were all switched off with the same config file and
// kubeconfig. The kubeconfig leads through a tunnel: to the cluster with this UID.
type tunnelled struct {
	options
	uid string
	// annotated is the annotation of lightsout on the node n7; empty for no node.
	annotated string
	server    *httptest.Server
	// context is the name of the context that switchOff records; empty for that of the
	// kubeconfig.
	context string
}

// throughATunnel sets up a cluster whose kubeconfig leads through a tunnel, and a driver that
// keeps the power states of its machines in files.
func throughATunnel(t *testing.T) *tunnelled {
	t.Helper()
	dir := t.TempDir()
	host, home := hostDir, clientcmd.RecommendedHomeFile
	hostDir, clientcmd.RecommendedHomeFile = filepath.Join(dir, "locks"), filepath.Join(dir, "none")
	t.Cleanup(func() { hostDir, clientcmd.RecommendedHomeFile = host, home })
	t.Setenv("KUBECONFIG", "")
	c := &tunnelled{}
	c.File = filepath.Join(dir, "lightsout.yaml")
	c.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/version" {
			fmt.Fprint(w, `{"gitVersion":"v1.34.0"}`)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/nodes") {
			fmt.Fprintf(w, `{"kind":"NodeList","apiVersion":"v1","items":[%s]}`, c.nodes())
			return
		}
		fmt.Fprintf(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":%q}}`, c.uid)
	}))
	t.Cleanup(c.server.Close)
	m := "'" + c.path("{{.Machine}}") + "'"
	c.set(t, "lightsout.yaml", "state: st\npower: {off_by: exec, on_by: exec, exec: {state_command: [cat, "+m+"], proves_off: true, off_command: [cp, "+c.path("off")+", "+m+"], on_command: [cp, "+c.path("on")+", "+m+"]}}\n")
	c.set(t, "none", fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: site\ncontexts: [{name: site, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: %q}}]\nusers: [{name: u, user: {}}]\n", c.server.URL))
	c.set(t, "on", "on\n")
	c.set(t, "off", "off\n")
	return c
}

// nodes are the cluster's nodes in JSON.
func (c *tunnelled) nodes() string {
	if c.annotated == "" {
		return ""
	}
	return fmt.Sprintf(`{"metadata":{"name":%q,"annotations":{%q:%q}}}`, "n7", power.AnnotationSwitchedOff, c.annotated)
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

// restorer returns a restoration of the cluster with this UID.
func (c *tunnelled) restorer(t *testing.T, uid string) *restoration {
	t.Helper()
	r, err := openRestoration(t.Context(), c.options, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.machines.close()
	closeJournal(r.journal)
	of := r.here
	of.UID, of.Name = uid, cmp.Or(c.context, of.Name)
	r.journal = power.OpenJournal(c.path("st"), of, c.File)
	r.journal.Settings = r.config.DriverSettings()
	if r.machines, err = newMachines(r.config, c.options, r.ssh, r.journal, nil); err != nil {
		t.Fatal(err)
	}
	return r
}

// do switches the machines of nodes, in the cluster with this UID.
func (c *tunnelled) do(t *testing.T, uid string, a power.Action, nodes ...string) error {
	t.Helper()
	r := c.restorer(t, uid)
	defer r.close()
	s, err := r.switcher(append(powertest.Workers{"another-worker"}, nodes...))
	if err != nil {
		t.Fatal(err)
	}
	s.Annotations = nil
	return s.Switch(t.Context(), power.Request{Action: a, Nodes: nodes}, powertest.Typist{})
}

// switchOff switches a node's machine off while the API server reveals this UID; empty if it
// reveals none.
func (c *tunnelled) switchOff(t *testing.T, node, uid string) {
	t.Helper()
	c.set(t, node, "on\n")
	if err := c.do(t, uid, power.ActionOff, node); err != nil || c.state(node) != "off" {
		t.Fatalf("%s is %s: %v", node, c.state(node), err)
	}
}

// printed returns what restore prints, and its error.
func (c *tunnelled) printed(t *testing.T, named ...string) (string, error) {
	t.Helper()
	before := os.Stdout
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout = write
	err = runRestore(t.Context(), c.options, named, true)
	os.Stdout = before
	_ = write.Close()
	text, _ := io.ReadAll(read)
	return string(text), err
}

// listed returns the nodes that the journal lists as off.
func (c *tunnelled) listed(t *testing.T) (nodes []string) {
	t.Helper()
	j := power.JournalToRead(c.path("st"), power.Cluster{})
	defer j.Close()
	left, err := j.Machines()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range left {
		if !l.IsOn() {
			nodes = append(nodes, l.Node)
		}
	}
	return nodes
}

// edit replaces a text in the config file.
func (c *tunnelled) edit(t *testing.T, old, replacement string) {
	t.Helper()
	text, err := os.ReadFile(c.File)
	if err != nil || !strings.Contains(string(text), old) {
		t.Fatalf("%v\n%s", err, text)
	}
	c.set(t, filepath.Base(c.File), strings.Replace(string(text), old, replacement, 1))
}

// move gives the config file another name, and restore its path.
func (c *tunnelled) move(t *testing.T) {
	t.Helper()
	if err := os.Rename(c.File, c.path("moved.yaml")); err != nil {
		t.Fatal(err)
	}
	c.File = c.path("moved.yaml")
}

// remove removes a file.
func (c *tunnelled) remove(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(c.path(name)); err != nil {
		t.Fatal(err)
	}
}

// n3 was switched off in the cluster with the UID uid-b. What restore does with it depends on where the
// configuration leads now, and whether its drivers are those of then.
func TestRestoreRestoresOneClusterByOneConfig(t *testing.T) {
	const changed = "state: st\nssh: {user: b}"
	for name, row := range map[string]struct {
		then    string // the UID at that time; empty: that of today; "none": the API server revealed none
		context string // at that time
		change  func(c *tunnelled)
		named   []string
		on      bool
		says    string // in the error; empty: there is none
	}{
		"nothing has changed":                 {on: true},
		"a wrong name beside":                 {named: []string{"n4", "n3"}, on: true, says: "lightsout power on n4"},
		"a wrong name":                        {named: []string{"n4"}, says: "lightsout power on n4"},
		"the API server revealed no UID then": {then: "none", on: true},
		"the context has another name now":    {context: "gone", on: true},
		"the cluster is another one":          {then: "uid-a", says: "n3 of cluster site: off; restore with: lightsout restore --config"},
		"the operator names the node":         {then: "uid-a", named: []string{"n3"}, on: true, says: "cannot read the annotations on the nodes of cluster site: the context site leads to another cluster now"},
		"a dry run":                           {change: func(c *tunnelled) { c.dryRun = true }, says: "dry run: nothing was changed"},
		"the config file has moved":           {change: func(c *tunnelled) { c.move(t) }, on: true},
		"the cluster has another name":        {then: "uid-a", context: "site-a", says: "n3 of cluster site-a: off; restore with: lightsout restore --config"},
		"the settings were corrected":         {change: func(c *tunnelled) { c.edit(t, "state: st", changed) }, on: true},
		"no kubeconfig":                       {change: func(c *tunnelled) { c.remove(t, "none") }, on: true},
		"no kubeconfig and an edited file":    {change: func(c *tunnelled) { c.remove(t, "none"); c.edit(t, "state: st", changed) }, on: true},
		"no kubeconfig and another file":      {change: func(c *tunnelled) { c.remove(t, "none"); c.move(t); c.edit(t, "state: st", changed) }, says: "--context site"},
		"a context that does not exist":       {change: func(c *tunnelled) { c.Context = "siet" }, on: true, says: `has no context "siet"`},
		"a kubeconfig that does not exist":    {change: func(c *tunnelled) { c.Kubeconfig = c.path("typo") }, on: true, says: "does not exist"},
		"neither that nor the settings":       {change: func(c *tunnelled) { c.Kubeconfig = c.path("typo"); c.edit(t, "state: st", changed) }, on: true, says: "does not exist"},
		"the API server does not answer":      {change: func(c *tunnelled) { c.server.Close() }, on: true, says: "cannot read the annotations"},
		"a machine of another operator": {change: func(c *tunnelled) { c.annotated = theirs }, on: true,
			says: "others have asked n7 to go off: use the commands above; to power on anyway: lightsout restore --config"},
	} {
		t.Run(name, func(t *testing.T) {
			c := throughATunnel(t)
			c.uid, c.context = "uid-b", row.context
			c.switchOff(t, "n3", strings.TrimPrefix(cmp.Or(row.then, "uid-b"), "none"))
			if row.change != nil {
				row.change(c)
			}
			text, err := c.printed(t, row.named...)
			if (c.state("n3") == "on") != row.on || (len(c.listed(t)) == 0) != row.on {
				t.Errorf("n3 is %s, the journal lists %v", c.state("n3"), c.listed(t))
			}
			if (err == nil) != (row.says == "") || err != nil && !strings.Contains(err.Error(), row.says) || strings.Contains(text, "nothing is off:") != (err == nil && !strings.Contains(text, "cannot read the annotations")) {
				t.Errorf("%v\n%s", err, text)
			}
		})
	}
}

// theirs is the annotation of an operator on another host.
var theirs = power.Note{By: "anna@other-host", At: time.Now().Add(-time.Hour), Back: "lightsout restore"}.Text()

// Machines of two clusters were switched off, one before the API server revealed its UID, and a node of
// another cluster is cordoned: restore restores those of the cluster of today, and names the command
// for the others.
func TestRestoreListsWhatAnotherCallRestores(t *testing.T) {
	c := throughATunnel(t)
	c.uid = "uid-a"
	for i, uid := range []string{"", "uid-b", "uid-a"} {
		c.switchOff(t, fmt.Sprintf("n%d", i), uid)
	}
	r := c.restorer(t, "uid-b")
	err := errors.Join(r.journal.Cordoned("n9", power.ActionShutdown, ""), r.journal.Cordoned("n8", "", ""))
	r.close()
	if err != nil {
		t.Fatal(err)
	}
	err = runRestore(t.Context(), c.options, nil, true)
	if err == nil || !strings.Contains(err.Error(), "n1 of cluster site: off") || !strings.Contains(err.Error(), "n9 of cluster site: cordoned") || strings.Contains(err.Error(), "n8") || c.state("n0")+c.state("n1")+c.state("n2") != "onoffon" {
		t.Errorf("the machines are %s, %s, %s: %v", c.state("n0"), c.state("n1"), c.state("n2"), err)
	}
}

// A node that the operator has cordoned stays so, and alone is no failure; restore lists it until somebody uncordons it.
func TestRestoreLeavesTheOperatorsCordon(t *testing.T) {
	c := throughATunnel(t)
	c.uid = "uid-a"
	r := c.restorer(t, c.uid)
	err := r.journal.Cordoned("n7", "", "by the operator")
	r.close()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		dryRun, uncordoned bool
		named              []string
	}{{dryRun: true}, {}, {named: []string{"n7"}}, {uncordoned: true}} {
		c.dryRun, c.annotated = row.dryRun, map[bool]string{true: theirs}[row.uncordoned]
		if text, err := c.printed(t, row.named...); (err != nil) != row.uncordoned || strings.Contains(text, "cordoned by the operator: kubectl uncordon n7\n") == row.uncordoned {
			t.Errorf("%+v: %v\n%s", row, err, text)
		}
	}
}

// A tunnel leads to an API server that does not reveal its UID. Another cluster may be
// behind it: restore uncordons no node there, and keeps the cordon in the journal.
func TestRestoreUncordonsNothingInAClusterThatIsUnknown(t *testing.T) {
	c := throughATunnel(t)
	r := c.restorer(t, "uid-a")
	err := r.journal.Cordoned("n7", power.ActionShutdown, "")
	r.close()
	c.uid, c.annotated = "", theirs
	if failed := runRestore(t.Context(), c.options, nil, true); err != nil || failed == nil || !strings.Contains(failed.Error(), "still cordoned: n7") || c.annotated == "" {
		t.Errorf("restore ends with %v; %v", failed, err)
	}
}

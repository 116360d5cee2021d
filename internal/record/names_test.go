package record

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/power"
)

func TestNamesAreReplacedInTheirPlaces(t *testing.T) {
	n := NewNames()
	n.Add(NameHost, "gpu-server-17.hpc.example.org")
	n.Add(NameHost, "gpu-server-1")
	n.Add(NameUser, "tanaka")
	n.Add(NameNamespace, "payments")
	n.Add(NameHost, "k8s2")
	n.Add(NameHost, "10.0.0.13:22")
	n.Add(NameNamespace, "default")
	n.Add(NameNamespace, "load") // a record's own word
	text := "tanaka@gpu-server-17.hpc.example.org:22 payments/web gpu-server-17 gpu-server-1 gpu-server-18 k8s2 " +
		"192.168.12.7:6443 fe80::1ff:fe23:4567:890a 52:54:00:12:34:56 127.0.0.1 at 07:51:39 default load"
	got := n.Text(text)
	if got, text := len(regexp.MustCompile(`2001:db8::[0-9a-f:]+`).ReplaceAllString(got, "")), len(strings.Replace(text, "fe80::1ff:fe23:4567:890a", "", 1)); got != text {
		t.Errorf("%d bytes became %d", text, got)
	}
	for _, name := range []string{"tanaka", "example", "payments", "server-1 ", "server-17", "k8s2", "192.168", "4567", "12:34"} {
		if strings.Contains(got, name) {
			t.Errorf("%s is in %s", name, got)
		}
	}
	for _, word := range []string{" gpu-server-18 ", "127.0.0.1", "07:51:39", " default load"} {
		if !strings.Contains(got, word) {
			t.Errorf("%s is not in %s", word, got)
		}
	}
	if again := n.Text(text); again != got {
		t.Errorf("another time it is %s", again)
	}
	var none *Names
	none.Add(NameHost, "x")
	if none.Text("x") != "x" || none.Line("x") != "x" || string(none.JSON([]byte("x"))) != "x" {
		t.Error("a nil Names replaces")
	}
}

func TestStandInsAreEachForOneName(t *testing.T) {
	n := NewNames()
	was := map[string]string{}
	for i := range 3000 {
		for _, s := range []string{fmt.Sprintf("n%d", i), fmt.Sprintf("node-%d.site", i), fmt.Sprintf("node-%d", i), fmt.Sprintf("10.1.%d.%d", i/250, i%250), fmt.Sprintf("1.2.3.%d", i%200)} {
			if !strings.Contains(s, ".") || strings.HasSuffix(s, ".site") {
				n.Add(NameHost, s)
			}
			got := n.Text(s)
			if got == s || was[got] != "" && was[got] != s {
				t.Fatalf("%s becomes %s, as %s does", s, got, was[got])
			}
			was[got] = s
		}
	}
}

func TestALineOfTheScreenKeepsItsLooksAndItsWidth(t *testing.T) {
	n := NewNames()
	n.Add(NameHost, "kube-node3")
	n.Add(NameNamespace, "payments")
	line := "│\x1b[1;31m▌ kube-no\x1b[0m\x1b[7mde3\x1b[0m │ payments/web │ kube-nod… │ etcd-kube-n…│ paym.. │ ready…"
	got := n.Line(line)
	sgr := regexp.MustCompile("\x1b\\[[0-9;]*m")
	if fmt.Sprint(sgr.FindAllString(got, -1)) != fmt.Sprint(sgr.FindAllString(line, -1)) || ansi.StringWidth(got) != ansi.StringWidth(line) || !utf8.ValidString(got) {
		t.Errorf("%q became %q", line, got)
	}
	if plain := ansi.Strip(got); strings.Contains(plain, "kube") || strings.Contains(plain, "paym") || !strings.Contains(plain, "ready…") {
		t.Errorf("it shows %s", plain)
	}
	n.Add(NameHost, "a7") // its stand-in is longer
	for range 200 {
		n.Add(NameHost, fmt.Sprintf("b%d", len(n.standIn)))
	}
	if got := n.Line("\x1b[1mb123\x1b[0m \x1b[7ma7\x1b[0m"); strings.Contains(got, "a7") || strings.Contains(got, "b123") || !strings.HasPrefix(got, "\x1b[1m") {
		t.Errorf("got %q", got)
	}
}

func TestAFramesMachineIDsAndNotesAreLearned(t *testing.T) {
	mark := power.Note{By: "tanaka@jump-7", Back: "lightsout restore --state /srv/customer-9/state, by tanaka@jump-7"}
	node := &cluster.Node{Name: "n1", ProviderID: "openstack:///0e7d-77aa/n1", Annotations: map[string]string{power.AnnotationSwitchedOff: mark.Text()}}
	machine := "off: ssh 10.0.0.13:22 · on: mdx gpu-vm (956a0ca1-3198-83c2), spot: mdx may refuse"
	n := NewNames()
	n.Learn(&view.Frame{Snapshot: cluster.NewSnapshot(cluster.Contents{Nodes: []*cluster.Node{node}}),
		Power: map[string]view.MachineView{"n1": {Machine: machine, Names: [2]view.MachineNames{{ID: "10.0.0.13:22"}, {Name: "gpu-vm", ID: "956a0ca1-3198-83c2"}}}}})
	got := n.Text(machine + " " + node.ProviderID + " " + mark.Text())
	for _, name := range []string{"tanaka", "jump-7", "gpu-vm", "956a0ca1", "10.0.0.13", "0e7d-77aa", "customer-9"} {
		if strings.Contains(got, name) {
			t.Errorf("%s is in %s", name, got)
		}
	}
	if !strings.Contains(got, "spot: mdx may refuse") {
		t.Errorf("got %s", got)
	}
}

// Owners name their machines freely: with spaces, slashes, quotes, and with names that
// resemble each other.
func TestRedactionReplacesMachinesOfAnyName(t *testing.T) {
	machines := []power.Machine{
		{Driver: "vsphere", Name: "db server 7", ID: "/DC 1/vm/db server 7"}, {Driver: "vsphere", Name: `the "big" one`, ID: "vm-17"},
		{Driver: "vsphere", Name: "db", ID: "db server"}, {Driver: "vsphere", Name: "server 7 copy", ID: "ディービー"},
		{Driver: "vsphere", Name: "'quoted'", ID: `C:\vm <&>`}, {Driver: "vsphere", Name: "rack:3", ID: "0f/1"},
	}
	n, f := NewNames(), &view.Frame{Power: map[string]view.MachineView{}}
	for i, m := range machines {
		b := power.Binding{On: &m}
		f.Power[fmt.Sprint(i)] = view.MachineView{Machine: view.MachineText(b), Names: view.NamesOf(b)}
	}
	n.Learn(f)
	texts := []string{"db server 7 copy is off", `power on the "big" one: timeout`}
	for _, m := range machines {
		texts = append(texts, view.MachineText(power.Binding{Off: &m, On: &m}), "machine "+m.Name+" ("+m.ID+") does not answer", m.ID, "x:"+m.Name+".")
	}
	line, err := json.Marshal(map[string]any{"text": texts})
	if err != nil {
		t.Fatal(err)
	}
	var kept struct{ Text []string }
	if err := json.Unmarshal(n.JSON(line), &kept); err != nil {
		t.Fatal(err)
	}
	for i, got := range append(kept.Text, n.Text(texts[0])) {
		for _, part := range []string{"db", "server", " 7", "big", "one", "copy", "ディー", "quoted", "C:", "rack", "0f", "DC", "vm"} {
			if strings.Contains(got, part) {
				t.Errorf("%q is still in %q, which was %q", part, got, texts[min(i, len(texts)-1)])
			}
		}
	}
}

func TestARecordsLinesStayReadable(t *testing.T) {
	n := NewNames()
	n.Add(NameHost, "kube-node3")
	n.Add(NameNamespace, "pods") // a field's name
	in := `{"pods":[{"Node":"kube-node3","Why":"say \"kube-node3\" \\"}],"machines":{"kube-node3":{"text":"on 10.0.0.13"}}}` + "\n"
	out := n.JSON([]byte(in + in))
	for line := range strings.Lines(string(out)) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil || v["pods"] == nil || strings.Contains(line, "kube-node3") || strings.Contains(line, "10.0.0.13") {
			t.Errorf("%v: %s", err, line)
		}
	}
}

func TestWhatThePaletteOffersIsReplaced(t *testing.T) {
	n := NewNames()
	n.Learn(&view.Frame{Scopes: &view.Scopes{Contexts: []string{"acme-prod", "acme-test"}, Namespaces: []string{"payments", "default"}}})
	got := n.Line("│ ctx acme-prod │ ctx acme-test │ ns payments │ ns default │")
	if strings.Contains(got, "acme") || strings.Contains(got, "payments") || !strings.Contains(got, "default") {
		t.Error(got)
	}
}

// The pods of a snapshot that closely follows another are looked through, too: while the cluster
// is quiet, no other snapshot comes.
func TestNamespacesOfPodsAreLearnedFromEachSnapshot(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	nodes := []*cluster.Node{{Name: "n1"}}
	pods := []*cluster.Pod{{Key: cluster.Key{Namespace: "acme-ledger", Name: "db-0"}}, {Key: cluster.Key{Namespace: "payments", Name: "web"}}}
	n := NewNames()
	n.Learn(&view.Frame{Snapshot: cluster.NewSnapshot(cluster.Contents{At: at, Nodes: nodes})})
	n.Learn(&view.Frame{Snapshot: cluster.NewSnapshot(cluster.Contents{At: at.Add(300 * time.Millisecond), Nodes: nodes, Pods: pods})})
	if got := n.Text("acme-ledger/db-0 payments/web"); strings.Contains(got, "acme") || strings.Contains(got, "payments") {
		t.Error(got)
	}
}

// An address is replaced with a colon before or after it, too, and as a whole.
func TestAddressesBesideColonsAreReplaced(t *testing.T) {
	n := NewNames()
	n.Add(NameHost, "fd00:aa::12", "[fd00:aa::12]:22")
	for was, left := range map[string]string{
		"fd00:aa::12: no answer": ": no answer", "machine 52:54:00:ab:cd:ef: off": ": off", "address:fd00:aa::12": "address:",
		"machine:52:54:00:12:34:56": "machine:", "ssh fd00:1:2:3:4:5:6:7: no route": ": no route", "[fd00:aa::12]:22": "]:22",
		"::ffff:10.1.2.3": "", "address:10.1.2.3:22": "address:", "a:b:10.1.2.3": "a:b:",
	} {
		got := n.Text(was)
		if !strings.Contains(got, left) || regexp.MustCompile(`fd00|::12|52:54|10\.1|1\.2\.3`).MatchString(got) {
			t.Errorf("%s became %s", was, got)
		}
	}
	for _, stays := range []string{"07:51:39", "at 07:51:39: ready", "::1: refused", "127.0.0.1:22", "2026-03-04T10:20:30.5Z"} {
		if got := n.Text(stays); got != stays {
			t.Errorf("%s became %s", stays, got)
		}
	}
}

// A node may be named after its address, and an account by its number.
func TestNamesWithoutLettersAreReplaced(t *testing.T) {
	n := NewNames()
	n.Add(NameHost, "10-0-0-13", "10.0.0.14", "6443")
	n.AddMachine("123456789012", "17", "10.0.0.15:22")
	got := n.Text("10-0-0-13 123456789012 17 6443 10.0.0.14 10.0.0.15:22")
	for _, name := range []string{"10-0", "123456", "10.0"} {
		if strings.Contains(got, name) {
			t.Errorf("%s is in %s", name, got)
		}
	}
	if !strings.Contains(got, " 17 6443 ") || !strings.HasSuffix(got, ":22") {
		t.Errorf("got %s", got)
	}
}

// A context often has the name of a cluster, an account and a namespace, and characters that
// separate them.
func TestContextsAreReplacedWithTheirParts(t *testing.T) {
	for context, parts := range map[string][]string{
		"payments/api-ocp-acme-example-com:6443/tanaka":             {"payments", "api-ocp-acme-example-com", "tanaka"},
		"arn:aws:eks:ap-northeast-1:123456789012:cluster/acme-prod": {"123456789012", "acme-prod"},
		"gke_acme-project_europe-west1-b_prod":                      {"acme-project", "prod"},
		"kubernetes-admin@acme-prod":                                {"acme-prod"},
		"東京 (acme)":                                                 {"東京", "acme"},
	} {
		for used, f := range map[bool]*view.Frame{true: {Title: view.Title{Cluster: context}}, false: {Scopes: &view.Scopes{Contexts: []string{context}}}} {
			n := NewNames()
			n.Learn(f)
			text := "in " + context + ", of kubernetes-admin: "
			if used { // only the whole name of another one is replaced: its parts may be words
				text += strings.Join(parts, " and ")
			}
			text = n.Text(text)
			for _, part := range parts {
				if strings.Contains(text, part) {
					t.Errorf("%s is in %s", part, text)
				}
			}
			if !strings.HasPrefix(text, "in ") || !strings.Contains(text, ", of kubernetes-admin: ") {
				t.Errorf("%s left %s", context, text)
			}
		}
	}
}

// A context may contain a host whose first label is short.
func TestAHostOfAContextIsReplacedAsAWhole(t *testing.T) {
	n := NewNames()
	n.AddContext("admin@c1.lab.acme.org")
	if got := n.Text("lookup c1.lab.acme.org: no such host"); strings.Contains(got, "acme") {
		t.Errorf("got %s", got)
	}
}

// The redaction leaves the words of Kubernetes that are parts of a context.
func TestPartsOfContextsLeaveTheWordsOfKubernetes(t *testing.T) {
	n := NewNames()
	n.AddContext("io.acme.com/v1.2/Running_control-plane")
	const text = `"phase":"Running","taint":"node.kubernetes.io/unreachable","role":"node-role.kubernetes.io/control-plane","v1":"v1.29.3"`
	if got := n.Text(text); got != text {
		t.Errorf("got %s", got)
	}
}

// The folder of a cluster's records is named after the context; screens and events contain its
// path.
func TestTheFolderOfAContextIsReplaced(t *testing.T) {
	for _, context := range []string{"kubernetes-admin@acme-prod", "acme/lab 7:x", strings.Repeat("acme-prod@", 12), "東京-acme"} {
		frames := []*view.Frame{{Title: view.Title{Cluster: context}}, {Scopes: &view.Scopes{Contexts: []string{context}}}}
		for _, f := range frames {
			n := NewNames()
			n.Learn(f)
			got := n.Line("the report is /var/lib/lightsout/" + FolderName(context) + "/trials/20260101T000000Z/report.html")
			if strings.Contains(got, "acme") || !strings.Contains(got, "/trials/20260101T000000Z/report.html") {
				t.Errorf("%s left %s", context, got)
			}
		}
	}
}

// A name may be cut in its middle or within its domain, and another name may end it; as much as
// is left of it is replaced, at the same width.
func TestCutNamesAreReplaced(t *testing.T) {
	n := NewNames()
	n.Add(NameHost, "gpu-r12-0.siemens-energy.fra1.example.net", "gpu-rack12-fra1-acme-siemens7", "acme-tokyo", "10-0-0-13", "prod-pod", "node-100")
	n.Add(NameNamespace, "payments")
	for _, line := range []string{
		"│ ● llm-0  gpu-r12-0.siemens-ener…  1/1 │", "│ gpu-r…-siemens7 Ready │", "│ gpu-rack…siemens7 │", "│ gpu-r12-0.siem..ple.net │",
		"db-0 on gp…s7: off", "payments/gpu-rack1…", "payments/web on acme-t…siemens7 at 10:00:00", "10-0-0…", "10-0…13",
		"\x1b[1mgpu-rack12-fr\x1b[0m\x1b[7ma1…ens7\x1b[0m",
	} {
		got := n.Line(line)
		if regexp.MustCompile("siem|gpu|acme|s7|10-0|payments|net").MatchString(ansi.Strip(got)) || ansi.StringWidth(got) != ansi.StringWidth(line) {
			t.Errorf("%q became %q", line, got)
		}
	}
	for _, line := range []string{"ready… 2/2", "…pod", "waiting … and", "…", "", "a..b"} {
		if got := n.Line(line); got != line {
			t.Errorf("%q became %q", line, got)
		}
	}
}

// Only the journal, an outage or the end of the session may name a node that somebody has deleted.
func TestNamesOfDeletedNodesAreLearned(t *testing.T) {
	n := NewNames()
	n.Learn(&view.Frame{
		Power:       map[string]view.MachineView{"acme-node1": {LeftOff: true}},
		Outages:     []view.NodeSpan{{Node: "acme-node2"}},
		LeavesAfter: []string{"acme-node3"},
	})
	if got := n.Text("acme-node1, acme-node2, acme-node3"); strings.Contains(got, "acme") {
		t.Error(got)
	}
}

// The screen cuts addresses, too.
func TestCutAddressesAreReplaced(t *testing.T) {
	n := NewNames()
	for line, want := range map[string]string{
		"to http://10.0.0.…":          "to http://xx.x.x.…",
		"off: ssh 192.168.12…":        "off: ssh xxx.xxx.xx…",
		"via …0.0.11:31080":           "via …x.x.xx:xxxxx",
		"fd12:3456:789a…":             "xxxx:xxxx:xxxx…",
		"[fd12:3456:789a:1:2:3…":      "[xxxx:xxxx:xxxx:x:x:x…",
		"mac 52:54:00:12:34:5…":       "mac xx:xx:xx:xx:xx:x…",
		"…:00:12:34:56":               "…:xx:xx:xx:xx",
		"…30.40:22":                   "…xx.xx:xx",
		"v1.36.… and 12.5 and ready…": "xx.xx.… and 12.5 and ready…",
		"10.0.0.12 and T+00:12.4 on…": "",
	} {
		got := n.Line(line)
		if want != "" && got != want || strings.Contains(got, "10.0") {
			t.Errorf("%q: %q", line, got)
		}
	}
}

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
	"lightsout/internal/outage"
	"lightsout/internal/view"
	"lightsout/power"
)

// learned is a Names that has seen these frames.
func learned(frames ...*view.Frame) *Names {
	n := NewNames()
	for _, f := range frames {
		n.Learn(f)
	}
	return n
}

// known is a Names that knows these names of one kind.
func known(kind NameKind, names ...string) *Names {
	n := NewNames()
	n.Add(kind, names...)
	return n
}

func ofContext(context string) *Names {
	return learned(&view.Frame{Title: view.Title{Cluster: context}})
}

func TestNamesAreReplacedInTexts(t *testing.T) {
	note := power.Note{By: "tanaka@jump-7", Back: "lightsout restore --state /srv/customer-9/state, by tanaka@jump-7"}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	nodes := []*cluster.Node{{Name: "n1", ProviderID: "openstack:///0e7d-77aa/n1", Annotations: map[string]string{power.AnnotationSwitchedOff: note.Text()}}}
	pods := []*cluster.Pod{{Key: cluster.Key{Namespace: "acme-ledger", Name: "db-0"}}, {Key: cluster.Key{Namespace: "payments", Name: "web"}}}
	machines := func(of ...power.Machine) map[string]view.MachineView {
		out := map[string]view.MachineView{}
		for i, m := range of {
			out[fmt.Sprint("acme-node", i)] = view.MachineView{Names: view.NamesOf(power.Binding{On: &m})}
		}
		return out
	}
	for _, c := range []struct {
		names      *Names
		text       string
		gone, stay string // what must not be left, and what must
	}{
		{known(NameHost, "gpu-server-17.hpc.example.org", "gpu-server-1", "k8s2"), "gpu-server-17.hpc.example.org:22 gpu-server-17 gpu-server-1 gpu-server-18 k8s2",
			`example|server-17|server-1 |k8s2`, ":22 | gpu-server-18 "},
		{known(NameNamespace, "payments", "default", "load"), "payments/web default load", "payments", "/web default load"},
		{known(NameHost, "10-0-0-13", "6443", "123456789012", "17"), "10-0-0-13 6443 123456789012 17", "10-0|123456", " 6443 | 17"},
		{NewNames(), "192.168.12.7:6443 fe80::1ff:fe23:4567:890a 52:54:00:12:34:56", `192|4567|12:34`, ":6443 "},
		{NewNames(), "fd00:aa::12: no answer, machine:52:54:00:12:34:56: off, [fd00:aa::12]:22, a:b:10.1.2.3, ::ffff:10.1.2.3, address:10.1.2.3:22",
			`fd00|::12|52:54|10\.1|1\.2\.3`, ": no answer, machine:|: off, |]:22, a:b:|address:|:22"},
		{NewNames(), "07:51:39: ready ::1: refused 127.0.0.1:22 2026-03-04T10:20:30.5Z", "ip-|mac-", "07:51:39: ready ::1: refused 127.0.0.1:22 2026-03-04T10:20:30.5Z"},
		// A context has the names of a cluster, an account and a namespace; records have a folder of its name.
		{ofContext("payments/api-ocp-acme-example-com:6443/tanaka"), "payments, api-ocp-acme-example-com, tanaka", "payments|acme|tanaka", ""},
		{ofContext("arn:aws:eks:ap-northeast-1:123456789012:cluster/acme-prod"), "123456789012 acme-prod cluster", "123456|acme", " cluster"},
		{ofContext("kubernetes-admin@acme-prod"), "kubernetes-admin at acme-prod", "acme", "kubernetes-admin at "},
		{ofContext("admin@c1.lab.acme.org"), "lookup c1.lab.acme.org: no such host", "acme", ": no such host"},
		{ofContext("東京 (acme)"), "東京 and acme", "東京|acme", " and "},
		{ofContext("acme/lab 7:x"), "/var/lib/lightsout/" + FolderName("acme/lab 7:x") + "/trials/20260101T000000Z", "acme", "/trials/20260101T000000Z"},
		{ofContext("io.acme.com/v1.2/Running_control-plane"), `"Running" node.kubernetes.io/unreachable node-role.kubernetes.io/control-plane v1.29.3`, "ns-|host-",
			`"Running" node.kubernetes.io/unreachable node-role.kubernetes.io/control-plane v1.29.3`},
		// What frames hold: the palette, snapshots that follow each other, nodes that somebody deleted, notes, machines of any name.
		{learned(&view.Frame{Scopes: &view.Scopes{Contexts: []string{"acme-prod"}, Namespaces: []string{"payments", "default"}}}), "acme-prod payments default", "acme|payments", " default"},
		{learned(&view.Frame{Snapshot: cluster.NewSnapshot(cluster.Contents{At: at, Nodes: nodes})}, &view.Frame{Snapshot: cluster.NewSnapshot(cluster.Contents{At: at, Nodes: nodes, Pods: pods})}),
			"acme-ledger/db-0 payments/web", "acme|payments", "/db-0 "},
		{learned(&view.Frame{Power: machines(power.Machine{}), Outages: []outage.Span{{Node: "acme-node2"}}, LeavesAfter: []string{"acme-node3"}}), "acme-node0 acme-node2 acme-node3", "acme", ""},
		{learned(&view.Frame{Snapshot: cluster.NewSnapshot(cluster.Contents{Nodes: nodes})}), note.Text() + " " + nodes[0].ProviderID, "tanaka|jump-7|customer|0e7d-77aa", ""},
		{learned(&view.Frame{Power: machines(power.Machine{Name: "db server 7", ID: "/DC 1/vm/db server 7"}, power.Machine{Name: `the "big" one`, ID: `C:\vm <&>`},
			power.Machine{Name: "'quoted'", ID: "ディービー"}, power.Machine{Name: "rack:3", ID: "956a0ca1-3198"})}),
			`off: db server 7 (/DC 1/vm/db server 7), the "big" one, C:\vm <&>: timeout, 'quoted', ディービー, rack:3 or 956a0ca1-3198: spot, refused`,
			`db|server|DC|big|one|vm|quoted|ディー|rack|956a`, "off: |: timeout, |: spot, refused"},
	} {
		line, err := json.Marshal(c.text)
		if err != nil {
			t.Fatal(err)
		}
		var kept string
		if err := json.Unmarshal(c.names.JSON(line), &kept); err != nil {
			t.Error(err)
		}
		for _, got := range []string{c.names.Text(c.text), c.names.Line(c.text), kept} {
			if c.gone != "" && regexp.MustCompile(c.gone).MatchString(got) {
				t.Errorf("%q left %q", c.text, got)
			}
			for _, s := range strings.Split(c.stay, "|") {
				if !strings.Contains(got, s) {
					t.Errorf("%q became %q, without %q", c.text, got, s)
				}
			}
		}
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
			if got == s || was[got] != "" && was[got] != s || n.Text(s) != got || len(s) > 5 && len(got) != len(s) {
				t.Fatalf("%s becomes %s; %s does so too", s, got, was[got])
			}
			was[got] = s
		}
	}
}

// Records of one cluster agree, whatever else is in each; those of two clusters don't.
func TestStandInsAreTheClustersOwn(t *testing.T) {
	ofCluster := func(key string, names ...string) *Names {
		n := NewNames()
		n.Add(NameUser, names...) // as of this host
		n.Key = key
		n.Add(NameHost, append(names, "kube-node3", "k8s2", "node-b1", "gpu-1.acme.org", "openstack:///0e7d-77aa/n1")...)
		return n
	}
	const text = "node-b1 k8s2 kube-node3 at 10.0.0.13 gpu-1.acme.org gpu-1 openstack:///0e7d-77aa/n1"
	one, another := ofCluster("a").Text(text), ofCluster("b").Text(text)
	if again := ofCluster("a", "tanaka", "k8s1", "jump").Text(text); again != one || one == another || len(one) != len(text) {
		t.Errorf("%s\n%s\n%s", one, again, another)
	}
}

// A name or an address may be cut, and sequences may lie within it; as much as is left is replaced, at the same width.
func TestLinesOfTheScreenKeepTheirLooksAndWidth(t *testing.T) {
	n := known(NameHost, "kube-node3", "gpu-r12-0.siemens-energy.fra1.example.net", "gpu-rack12-fra1-acme-siemens7", "acme-tokyo", "10-0-0-13")
	n.Add(NameNamespace, "payments")
	sgr := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for _, line := range []string{
		"│\x1b[1;31m▌ kube-no\x1b[0m\x1b[7mde3\x1b[0m │ payments/web │ kube-nod… │ etcd-kube-n…│ paym.. │ ready…",
		"│ ● llm-0  gpu-r12-0.siemens-ener…  1/1 │", "│ gpu-r…-siemens7 Ready │", "│ gpu-r12-0.siem..ple.net │", "db-0 on gp…s7: off", "payments/gpu-rack1…",
		"acme-t…siemens7 at 10:00:00", "10-0…13", "\x1b[1mgpu-rack12-fr\x1b[0m\x1b[7ma1…ens7\x1b[0m",
		"to http://10.0.0.…", "off: ssh 192.168.12…", "via …0.0.11:31080", "[fd12:3456:789a:1:2:3…", "mac 52:54:00:12:34:5…", "…:00:12:34:56",
		"ready… 2/2", "waiting … and", "…", "a..b",
	} {
		got := n.Line(line)
		plain := ansi.Strip(got)
		if fmt.Sprint(sgr.FindAllString(got, -1)) != fmt.Sprint(sgr.FindAllString(line, -1)) || ansi.StringWidth(got) != ansi.StringWidth(line) || !utf8.ValidString(got) {
			t.Errorf("%q became %q", line, got)
		}
		if regexp.MustCompile(`kube|paym|siem|gpu|acme|s7|10-0|net|[1-9]+\.0|192|3456|54:00|12:34`).MatchString(plain) || strings.Contains(line, "ready…") && !strings.Contains(plain, "ready…") {
			t.Errorf("%q shows %s", line, plain)
		}
	}
	if got := known(NameHost, "h1").Text("root@h1"); strings.Contains(got, "h1") {
		t.Errorf("got %q", got)
	}
	n = known(NameHost, "a7")
	for i := range 200 { // its stand-in is longer
		n.Add(NameHost, fmt.Sprintf("b%d", i))
	}
	if got := n.Line("\x1b[1mb123\x1b[0m \x1b[7ma7\x1b[0m"); strings.Contains(got, "a7") || strings.Contains(got, "b123") || strings.Contains(got, "\x1b") {
		t.Errorf("got %q", got)
	}
}

func TestARecordsLinesStayReadable(t *testing.T) {
	n := known(NameHost, "kube-node3")
	n.Add(NameNamespace, "pods") // a field's name
	in := `{"pods":[{"Node":"kube-node3","Why":"say \"kube-node3\" \\"}],"machines":{"kube-node3":{"text":"on\nkube-node3 10.0.0.13"}}}` + "\n"
	out := n.JSON([]byte(in + in))
	for line := range strings.Lines(string(out)) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil || v["pods"] == nil || strings.Contains(line, "kube-node3") || strings.Contains(line, "10.0.0.13") {
			t.Errorf("%v: %s", err, line)
		}
	}
}

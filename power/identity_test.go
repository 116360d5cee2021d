package power

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// elsewhere moves program 2 to host1, with a state folder of its own and an account
// that may not annotate nodes, and sets the cluster that each program believes to be
// on.
func elsewhere(m *model, first, second Cluster) (p, other *program) {
	p = m.programs[0]
	m.programs[2].stop()
	m.loose = true
	other = m.start(2)
	m.programs[2] = other
	p.switcher.Annotations, other.switcher.Annotations = nil, nil
	p.journal.cluster, other.journal.cluster = first, second
	return p, other
}

// One kubeconfig has the certificate authority, and the other goes through a tunnel:
// one of the last two workers stays on, whichever program comes first.
func TestTwoKubeconfigsOfOneClusterExcludeEachOther(t *testing.T) {
	inModel(t, func(t *testing.T, m *model, _ *program) {
		p, other := elsewhere(m, Cluster{Name: "a", CA: "ca", Server: "https://10.0.0.1:6443", UID: "uid-1"},
			Cluster{Name: "b", CA: "url", Server: "https://127.0.0.1:1234", UID: "uid-1"})
		for _, n := range []string{"n1", "n2"} {
			if err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{n}}, &yes{p: p}); err != nil {
				t.Fatal(err)
			}
		}
		var done sync.WaitGroup
		errs := make([]error, 2)
		for i, by := range []*program{p, other} {
			done.Go(func() {
				errs[i] = by.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{[]string{"n3", "n4"}[i]}}, &yes{p: by})
			})
		}
		done.Wait()
		if slices.Contains(reasons(errs[0]), RuleLastWorker) == slices.Contains(reasons(errs[1]), RuleLastWorker) {
			t.Errorf("n3: %v; n4: %v", errs[0], errs[1])
		}
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionOn, Nodes: []string{"n1", "n2", "n3", "n4"}}, &yes{p: p}); err != nil {
			t.Error(err)
		}
	})
}

// While nobody knows the cluster's UID, a tunnel may lead to another one: only a typed yes
// switches off, whether or not nodes carry notes.
func TestWithoutAnIdentityOnlyATypedYesSwitchesOff(t *testing.T) {
	inModel(t, func(t *testing.T, m *model, _ *program) {
		unknown := Cluster{Name: "a", CA: "ca", Server: "https://10.0.0.1:6443"}
		p, _ := elsewhere(m, unknown, unknown)
		off := Request{Action: ActionOff, Nodes: []string{"n1"}}
		for _, store := range []NoteStore{nil, p} {
			p.switcher.Annotations = store
			err := p.switcher.Switch(t.Context(), off, Automatic{})
			if err == nil || !strings.Contains(err.Error(), RuleIdentity) || !p.w.vms["n1"].on {
				t.Errorf("nobody has typed anything: %v", err)
			}
		}
		typed := &yes{p: p}
		if err := p.switcher.Switch(t.Context(), off, typed); err != nil || typed.questions[0].Type != "n1" {
			t.Errorf("%v; the question was %+v", err, typed.questions[0])
		}
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionOn, Nodes: []string{"n1"}}, Automatic{}); err != nil {
			t.Errorf("powering on: %v", err)
		}
	})
}

// One CA, of a company or of Rancher, serves many clusters.
func TestTwoClustersOfOneCAShareNoEvidence(t *testing.T) {
	for name, uid := range map[string][2]string{"their UIDs are known": {"a", "b"}, "they are not": {}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var journals []*Journal
			for i, at := range []string{"https://site-a:6443", "https://site-b:6443"} {
				j := OpenJournal(dir, Cluster{Name: "site", CA: "company", Server: at, UID: uid[i]}, "")
				defer j.Close()
				journals = append(journals, j)
			}
			machine := Machine{Driver: "portal", ID: "vm-n3"}
			e := Entry{Kind: EntryIntent, Op: "0123456789ab", Action: ActionOff, Node: "n3",
				Binding: Binding{Node: NodeRef{Name: "n3", BootID: "boot-of-a"}, Off: &machine, On: &machine}}
			if err := journals[0].append(e); err != nil {
				t.Fatal(err)
			}
			n3 := NodeRef{Name: "n3", BootID: "boot-of-b"}
			if changed, err := journals[1].Saw(Seen{Node: n3, Machine: &machine, State: On, Proof: Proven, RequestedAt: time.Now().Add(time.Hour), Text: "on"}); changed || err != nil {
				t.Errorf("evidence of B's node settles A's machine: %v", err)
			}
			if left, _ := journals[0].LeftOff(); len(left) != 1 {
				t.Errorf("A has forgotten its machine: %+v", left)
			}
		})
	}
}

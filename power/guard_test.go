package power

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// soundPlan shuts down the worker n3 of a cluster with one control-plane node
// and two workers; no rule speaks against it.
func soundPlan() guardInput {
	p := guardInput{
		Action: ActionShutdown, Targets: []string{"n3"},
		ClusterState: ClusterState{
			Age: time.Second,
			Nodes: []Node{
				{NodeRef: NodeRef{Name: "n1", Addresses: []string{"10.0.0.1"}}, ControlPlane: true, Etcd: true, Ready: true},
				{NodeRef: NodeRef{Name: "n2", Addresses: []string{"10.0.0.2"}}, Ready: true, Schedulable: true},
				{NodeRef: NodeRef{Name: "n3", Addresses: []string{"10.0.0.3"}}, Ready: true, Schedulable: true},
			},
			Self: Self{
				Names: []string{"laptop", ""}, Addresses: []string{"192.0.2.7", "10.0.0.30"},
				BastionNames: []string{"bastion"}, BastionAddresses: []string{"198.51.100.1"},
				APIAddresses: []string{"10.0.0.1"},
			},
		},
		Bound: map[string]Bound{},
		Busy:  map[string]Action{},
	}
	for _, b := range bind("ssh", "mdx", "n1", "n2", "n3") {
		p.Bound[b.Node.Name] = Bound{Binding: b}
	}
	return p
}

func TestASoundPlanHasNoFindings(t *testing.T) {
	for _, a := range []Action{ActionShutdown, ActionOff, ActionOn} {
		p := soundPlan()
		p.Action = a
		if got := judge(p); len(got) != 0 {
			t.Errorf("%s: %+v", a, got)
		}
	}
}

func TestEveryRuleOfTheGuard(t *testing.T) {
	rebind := func(p *guardInput, node string, change func(*Bound)) {
		b := p.Bound[node]
		change(&b)
		p.Bound[node] = b
	}
	cases := []struct {
		name     string
		rule     string
		severity Effect
		node     string
		change   func(*guardInput)
		// alsoOn: it holds for powering on, too.
		alsoOn bool
	}{
		{"a control-plane node", RuleControlPlane, Refuse, "n1", func(p *guardInput) { p.Targets = []string{"n1"} }, false},
		{"a worker with etcd", RuleControlPlane, Refuse, "n3", func(p *guardInput) { p.Nodes[2].Etcd = true }, false},
		{"no control plane to be seen", RuleQuorumUnknown, Override, "", func(p *guardInput) { p.Nodes = p.Nodes[1:] }, false},
		{"this machine, by address", RuleSelf, Refuse, "n3", func(p *guardInput) { p.Self.Addresses = []string{"::ffff:10.0.0.3"} }, false},
		{"this machine, by name", RuleSelf, Refuse, "n3", func(p *guardInput) { p.Self.Names = []string{"N3"} }, false},
		{"this machine, by the address of the VM", RuleSelf, Refuse, "n3", func(p *guardInput) {
			rebind(p, "n3", func(b *Bound) { b.Binding.On.Address = "192.0.2.7" })
		}, false},
		{"the bastion, by address", RuleBastion, Refuse, "n3", func(p *guardInput) { p.Self.BastionAddresses = []string{"10.0.0.3"} }, false},
		{"the bastion, by name", RuleBastion, Refuse, "n3", func(p *guardInput) { p.Self.BastionNames = []string{"n3"} }, false},
		{"where the API server answers", RuleAPIServer, Refuse, "n3", func(p *guardInput) { p.Self.APIAddresses = []string{"10.0.0.3"} }, false},
		{"the last Ready worker", RuleLastWorker, Refuse, "", func(p *guardInput) { p.Nodes[1].Ready = false }, false},
		{"the last worker that takes pods", RuleLastWorker, Refuse, "", func(p *guardInput) { p.Nodes[1].Schedulable = false }, false},
		{"all workers", RuleLastWorker, Refuse, "", func(p *guardInput) { p.Targets = []string{"n2", "n3"} }, false},
		{"an old view", RuleStaleView, Refuse, "", func(p *guardInput) { p.Age = stateLimit + time.Millisecond }, false},
		{"a node that is not there", RuleUnknownNode, Refuse, "n9", func(p *guardInput) {
			p.Targets = []string{"n9"}
			p.Bound["n9"] = Bound{Binding: bind("ssh", "mdx", "n9")[0]}
		}, false},
		{"no machine", RuleMachine, Refuse, "n3", func(p *guardInput) { delete(p.Bound, "n3") }, true},
		{"not exactly one machine", RuleMachine, Refuse, "n3", func(p *guardInput) {
			rebind(p, "n3", func(b *Bound) { b.Cannot = errors.New("2 machines match") })
		}, true},
		{"no way to power on", RuleNoWayBack, Override, "n3", func(p *guardInput) {
			rebind(p, "n3", func(b *Bound) { b.Binding.On, b.Binding.OnErr = nil, errors.New("mdx has no machine") })
		}, false},
		{"powering on is not proven", RuleNoWayBack, Override, "n3", func(p *guardInput) {
			rebind(p, "n3", func(b *Bound) { b.Unproven = errors.New("the portal does not answer") })
		}, false},
		{"a machine with another node's name", RuleShared, Refuse, "n3", func(p *guardInput) {
			rebind(p, "n3", func(b *Bound) { b.Binding.On.ID, b.Binding.On.Name = "vm-7", "n1" })
		}, true},
		{"a machine with another node's address", RuleShared, Refuse, "n3", func(p *guardInput) {
			rebind(p, "n3", func(b *Bound) { b.Binding.Off.Address, b.Binding.Off.How = "10.0.0.1", HowConfig })
		}, true},
		{"an annotation against address and name", RuleContradiction, Override, "n3", func(p *guardInput) {
			rebind(p, "n3", func(b *Bound) { b.Binding.Contradiction = "The annotation names vm-9" })
		}, true},
		{"another worker that is silent", RuleLastWorker, Refuse, "", func(p *guardInput) { p.Nodes[1].Presence, p.Nodes[1].Why = Down, "is silent" }, false},
		{"nodes that are not watched", RuleStaleView, Refuse, "", func(p *guardInput) { p.Stale = []string{"nodes are forbidden"} }, false},
		{"no heartbeats to be seen", RuleHeartbeats, Warn, "", func(p *guardInput) { p.Blind = true }, false},
		{"a bastion that can't be asked", RuleWayUnknown, Override, "", func(p *guardInput) { p.Self.Unknown = []string{"The bastion's addresses are not known"} }, false},
		{"a control plane elsewhere", RuleQuorumUnknown, Warn, "", func(p *guardInput) { p.Nodes, p.Limits.ControlPlane = p.Nodes[1:], ControlPlaneElsewhere }, false},
		{"a control plane that is not elsewhere", RuleQuorumUnknown, Override, "", func(p *guardInput) { p.Limits.ControlPlane = ControlPlaneElsewhere }, false},
		{"nothing to write in", RuleJournal, Refuse, "", func(p *guardInput) { p.NoJournal = "no space left on device" }, false},
		{"a cluster whose UID is unknown", RuleIdentity, Override, "", func(p *guardInput) { p.NoIdentity = true }, false},
		{"switched off by somebody else", RuleOther, Override, "n3", func(p *guardInput) { p.Nodes[2].owned.Other.Note.By = "anna@bastion" }, false},
		{"a trial of another program", RuleTrial, Override, "", func(p *guardInput) { p.Trial = "pid 1 of anna@bastion, since 10:00" }, false},
		{"an operation under way", RuleBusy, Refuse, "n3", func(p *guardInput) { p.Busy["n3"] = ActionOn }, false},
		{"an old view, by a tighter limit", RuleStaleView, Refuse, "", func(p *guardInput) { p.Limits.ViewAge, p.Age = 5*time.Second, 6*time.Second }, false},
		{"a limit that is no tighter", RuleStaleView, Refuse, "", func(p *guardInput) { p.Limits.ViewAge, p.Age = time.Hour, time.Minute }, false},
		{"too few Ready workers", RuleLastWorker, Refuse, "", func(p *guardInput) { p.Limits.KeepReady = 2 }, false},
		{"the last Ready worker, whatever is to be kept", RuleLastWorker, Refuse, "", func(p *guardInput) { p.Limits.KeepReady, p.Nodes[1].Ready = -1, false }, false},
		{"a protected node", RuleProtected, Refuse, "n3", func(p *guardInput) { p.Limits.Protect = []string{"n3"} }, false},
		{"a protected node that the cluster does not have", RuleProtected, Warn, "", func(p *guardInput) { p.Limits.Protect = []string{"n30"} }, false},
		{"no override where it is not allowed", RuleNoWayBack, Refuse, "n3", func(p *guardInput) {
			p.Limits.NoOverride = true
			rebind(p, "n3", func(b *Bound) { b.Unproven = errors.New("the portal does not answer") })
		}, false},
		{"read-only mode", RuleReadOnly, Refuse, "", func(p *guardInput) { p.ReadOnly = true }, true},
		{"a dry run", RuleDryRun, Warn, "", func(p *guardInput) { p.DryRun = true }, true},
		{"nothing chosen", RuleNothing, Refuse, "", func(p *guardInput) { p.Targets = nil }, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, a := range []Action{ActionShutdown, ActionOff, ActionOn} {
				p := soundPlan()
				p.Action = a
				c.change(&p)
				var found *Finding
				got := judge(p)
				for i := range got {
					if got[i].Rule == c.rule {
						found = &got[i]
					}
				}
				if a == ActionOn && !c.alsoOn {
					if worst(got) > Warn {
						t.Errorf("powering on is held up by %+v", got)
					}
					continue
				}
				if found == nil || found.Effect != c.severity || found.Node != c.node || !strings.HasSuffix(found.Text, ".") {
					t.Fatalf("%s: got %+v, want %s", a, got, c.rule)
				}
				if worst(got) != c.severity {
					t.Errorf("effect %v with %+v", worst(got), got)
				}
			}
		})
	}
}

// The refusal to take the last workers names how many would be left, why others do not
// count, and how many must be left.
func TestTheRefusalToTakeTheLastWorkersNamesTheReason(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*guardInput)
		want   string
	}{
		"none left of 1": {func(p *guardInput) { p.Nodes[1].Ready = false },
			"This would leave no Ready worker that takes pods; leave one on."},
		"none left of 2": {func(p *guardInput) { p.Limits.KeepReady, p.Targets = 2, []string{"n2", "n3"} },
			"This would leave 0 Ready workers that take pods; guards.keep_ready requires 2."},
		"one left of 2": {func(p *guardInput) { p.Limits.KeepReady = 2 },
			"This would leave 1 Ready worker that takes pods; guards.keep_ready requires 2."},
		"a silent one": {func(p *guardInput) { p.Nodes[1].Presence, p.Nodes[1].Why = Down, "is silent" },
			"This would leave no Ready worker that takes pods (n2 is silent); leave one on."},
		"a cordoned one": {func(p *guardInput) { p.Nodes[1].Schedulable = false },
			"This would leave no Ready worker that takes pods (n2 takes no pods: it is cordoned or tainted, or admits none); leave one on."},
	} {
		p := soundPlan()
		c.change(&p)
		if got := judge(p); len(got) != 1 || got[0].Text != c.want {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

func TestANodeThatIsOffAlreadyDoesNotCountAsAWorkerTaken(t *testing.T) {
	p := soundPlan()
	p.Nodes[1].Ready, p.Nodes[2].Ready = false, false
	if got := judge(p); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestAddressesAreComparedWhole(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"10.0.0.1", "10.0.0.1", true}, {"10.0.0.1", "10.0.0.10", false}, {"::1", "0:0:0:0:0:0:0:1", true},
		{"", "", false}, {"name", "name", false}, {"10.0.0.1", "::ffff:10.0.0.1", true},
	} {
		if got := SameIP(c.a, c.b); got != c.same {
			t.Errorf("SameIP(%q, %q) = %v", c.a, c.b, got)
		}
	}
}

func TestLimitsOnlyTighten(t *testing.T) {
	for _, good := range []Limits{{}, {ViewAge: stateLimit}, {ViewAge: time.Second, KeepReady: 3, Protect: []string{"n"}, NoOverride: true}} {
		if err := good.Check(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	for field, bad := range map[string]Limits{
		"view_age": {ViewAge: stateLimit + time.Second}, "guards.view_age": {ViewAge: -time.Second}, "keep_ready": {KeepReady: -1}, "protect": {Protect: []string{""}},
		"is not a name of a node": {Protect: []string{"node-c*"}}, `"node-a1 "`: {Protect: []string{"node-a1 "}},
	} {
		if err := bad.Check(); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// An address that each machine has, or that several nodes have, refuses nothing: docker0's,
// loopback's, a router's in front of them. One that refuses is named.
func TestAddressesThatProveNothingRefuseNothing(t *testing.T) {
	give := func(addresses ...string) func(*guardInput) {
		return func(p *guardInput) {
			for i := range p.Nodes {
				p.Nodes[i].Addresses = append(p.Nodes[i].Addresses, addresses...)
			}
			p.Self = Self{Addresses: addresses, BastionAddresses: addresses, APIAddresses: addresses}
		}
	}
	at := func(how string, addresses ...string) func(*guardInput) {
		return func(p *guardInput) {
			give("127.0.0.1")(p)
			for i, name := range []string{"n2", "n3"} {
				b := p.Bound[name]
				b.Binding.Off.Address, b.Binding.Off.How = addresses[i], how
				p.Bound[name] = b
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*guardInput)
		want   string
	}{
		"docker0": {give("172.17.0.1"), ""},
		"docker0 of one node": {func(p *guardInput) {
			give()(p)
			give("172.17.0.1")(p)
			p.Nodes[0].Addresses, p.Nodes[1].Addresses = nil, nil
		}, ""},
		"link-local":           {give("169.254.1.1", "fe80::1"), ""},
		"a router's":           {give("203.0.113.9"), ""},
		"forwarded ports here": {at(HowConfig, "127.0.0.1", "127.0.0.1"), ""},
		"forwarded ports there": {func(p *guardInput) {
			at(HowConfig, "10.9.9.9", "10.9.9.9")(p)
			p.Self.BastionAddresses = []string{"10.9.9.9"}
		}, ""},
		"NAT of VirtualBox": {func(p *guardInput) {
			at(HowName, "10.0.2.15", "10.0.2.15")(p)
			p.Nodes[1].Addresses, p.Nodes[2].Addresses = []string{"10.0.2.15"}, []string{"10.0.2.15"}
		}, ""},
		"the first of a node, whoever else has it": {func(p *guardInput) { give("10.0.0.3")(p) }, "n3 (10.0.0.3) is the machine that this program runs on."},
		"the bastion's": {func(p *guardInput) { p.Self.BastionAddresses = []string{"10.0.0.3"} }, "n3 (10.0.0.3) is the bastion that every connection goes through."},
		"another node's": {func(p *guardInput) { at(HowAddress, "10.0.0.2", "10.0.0.2")(p) },
			"The machine of n3 is 10.0.0.2, the name or an address of n2; name the right one under power.nodes."},
	} {
		p := soundPlan()
		c.change(&p)
		got := ""
		for _, f := range judge(p) {
			if f.Effect == Refuse {
				got += f.Text
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A machine that an annotation calls by another node's name or address is that
// node's, however it is written.
func TestAMachineCalledLikeAnotherNodeIsItsMachine(t *testing.T) {
	for _, id := range []string{"KUBE-CP1", "kube-cp1.", "10.0.0.10"} {
		for how, calledSo := range map[string]bool{HowName: false, HowConfig: true} {
			g := &guard{guardInput: guardInput{ClusterState: ClusterState{Nodes: []Node{{NodeRef: NodeRef{Name: "n1"}}, {NodeRef: NodeRef{Name: "kube-cp1", Addresses: []string{"10.0.0.10"}}}}}}}
			if other, _, so := g.anothers("n1", Binding{Off: &Machine{Driver: "exec", ID: id, How: how}}); other != "kube-cp1" || so != calledSo {
				t.Errorf("%s, named by %q: %q, %v", id, how, other, so)
			}
		}
	}
}

// The question warns that another operator has switched the machine off and should
// power it on.
func TestTheQuestionWarnsBeforePoweringOnAnotherOperatorsMachine(t *testing.T) {
	on := Machine{Driver: "portal", ID: "vm-n3"}
	p := guardInput{
		Action: ActionOn, Targets: []string{"n3"}, ClusterState: ClusterState{Nodes: []Node{{NodeRef: NodeRef{Name: "n3"}, owned: Ownership{Owner: Others, Other: NodeNote{Note: Note{By: "anna@bastion"}}}}}},
		Bound: map[string]Bound{"n3": {Binding: Binding{Node: NodeRef{Name: "n3"}, On: &on}}},
	}
	found := judge(p)
	if len(found) != 1 || found[0].Rule != RuleOther || found[0].Effect != Warn || !strings.Contains(found[0].Text, "anna@bastion") {
		t.Errorf("%+v", found)
	}
}

// A command runs with the address in the question.
func TestAChangedAddressNeedsANewAnswer(t *testing.T) {
	asked := func(address string) Question {
		m := Machine{Driver: "exec", ID: "n3", Params: map[string]string{ParamAddress: address}}
		return Question{Request: Request{Action: ActionOff, Nodes: []string{"n3"}}, Bindings: []Binding{{Node: NodeRef{Name: "n3"}, Off: &m, On: &m}}}
	}
	if changed := worse(asked("10.0.0.3"), asked("10.0.0.3")); len(changed) > 0 {
		t.Errorf("for the same address: %v", changed)
	}
	if changed := worse(asked("10.0.0.3"), asked("10.0.0.4")); len(changed) != 1 {
		t.Errorf("for another address: %v", changed)
	}
}

// A configuration that allows no override forbids switching off, but never keeps a
// machine off.
func TestNoOverrideDelaysNoPowerOn(t *testing.T) {
	for _, a := range []Action{ActionShutdown, ActionOn} {
		p := soundPlan()
		p.Action, p.Limits.NoOverride = a, true
		b := p.Bound["n3"]
		b.Binding.Contradiction = "The annotation names vm-9"
		p.Bound["n3"] = b
		if got := judge(p); (worst(got) == Refuse) != (a == ActionShutdown) {
			t.Errorf("%s: %+v", a, got)
		}
	}
}

// bootDriver reaches systems with these boot IDs, by machine.
type bootDriver struct {
	*fakeDriver
	boots map[string]string
}

func (d bootDriver) Preflight(context.Context, Action, Machine) error { return nil }

func (d bootDriver) BootID(_ context.Context, m Machine) (string, error) { return d.boots[m.ID], nil }

// An ssh configuration, a DNS or a bastion leads an address to another machine. Its boot ID
// shows that, and lightsout refuses.
func TestAnotherMachineBehindTheAddressIsNotShutDown(t *testing.T) {
	d := bootDriver{newFake("ssh", allAbilities, "n1", "n2", "n3", "n4"), map[string]string{"n1": "boot-1", "n2": "boot-2", "n4": "boot-4"}} // n3 has none
	f, _ := testFleet(t, Config{}, d)
	targets := bind("ssh", "ssh", "n1", "n2", "n3", "n4")
	targets[3].Node.BootID = ""
	found := (&Switcher{Fleet: f}).tryOut(t.Context(), ActionShutdown, targets, map[string]Bound{})
	if len(found) != 3 || found[0].Node != "n2" || found[0].Effect != Refuse || found[0].Rule != RuleContradiction ||
		!strings.Contains(found[0].Text, "reaches a system with the boot ID boot-2, and node n2 reports boot-1") {
		t.Fatalf("%+v", found)
	}
	for i, text := range []string{1: "the system that ssh reaches has no boot ID", 2: "node n4 reports no boot ID"} {
		if text != "" && (found[i].Effect != Warn || !strings.Contains(found[i].Text, text)) {
			t.Errorf("%+v", found[i])
		}
	}
}

// blindDriver's preflight fails, although the machine would obey.
type blindDriver struct{ bootDriver }

func (blindDriver) Preflight(context.Context, Action, Machine) error {
	return errors.New("sudo does not allow it")
}

func TestAFailedPreflightHidesNoOtherMachine(t *testing.T) {
	d := blindDriver{bootDriver{newFake("ssh", allAbilities, "n1", "n2"), map[string]string{"n1": "boot-1", "n2": "boot-2"}}}
	f, _ := testFleet(t, Config{}, d)
	found := (&Switcher{Fleet: f}).tryOut(t.Context(), ActionShutdown, bind("ssh", "ssh", "n1", "n2"), map[string]Bound{})
	if len(found) != 2 || found[0].Effect != Warn || found[1].Node != "n2" || found[1].Rule != RuleContradiction {
		t.Errorf("%+v", found)
	}
}

// A machine that could not be compared before the question is compared before the request.
func TestAnotherMachineIsNotShutDownAfterTheQuestion(t *testing.T) {
	d := bootDriver{newFake("ssh", allAbilities, "n1", "n2"), map[string]string{"n1": "boot-1", "n2": "boot-2"}}
	f, _ := testFleet(t, Config{}, d)
	err := f.do(t.Context(), ActionShutdown, bind("ssh", "ssh", "n1", "n2"), nil, nil, nil)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil || !strings.Contains(err.Error(), "node n2 reports boot-1") || len(d.machines["n2"].calls) > 0 || len(d.machines["n1"].calls) == 0 {
		t.Errorf("n1 %v, n2 %v: %v", d.machines["n1"].calls, d.machines["n2"].calls, err)
	}
}

package power

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// killedWhileOff switches a node off by a program that is killed as soon as the
// request is sent, and starts the next one in a state folder of its own.
func killedWhileOff(t *testing.T, m *model, node string) error {
	t.Helper()
	p := m.programs[2]
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err := p.switcher.Switch(ctx, Request{Action: ActionOff, Nodes: []string{node}}, &yes{p: p})
	p.stop()
	m.programs[2] = m.start(2)
	return err
}

// Nobody may annotate, the driver knows no state, each run has a state folder
// of its own and is killed: what this host has noted keeps the last worker on.
func TestWhatTheHostHasNotedKeepsTheLastWorkerOn(t *testing.T) {
	inModel(t, func(t *testing.T, m *model, _ *program) {
		m.programs[2].stop()
		m.loose = true
		m.programs[2] = m.start(2)
		for _, n := range []string{"n1", "n2", "n3", "n4"} {
			err := killedWhileOff(t, m, n)
			if refused := slices.Contains(reasons(err), RuleLastWorker); refused != (n == "n4") {
				t.Errorf("%s: %v", n, err)
			}
		}
		// What is brought back is noted no more, whoever does it.
		p := m.programs[0]
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionOn, Nodes: []string{"n1", "n2", "n3"}}, &yes{p: p}); err != nil {
			t.Fatal(err)
		}
		if noted := p.switcher.Registered(); len(noted) > 0 {
			t.Errorf("still noted: %v", noted)
		}
	})
}

// A note that somebody wrote by hand, or that another program did, says when it
// was written or that it does not.
func TestANoteWithoutATimeSaysSo(t *testing.T) {
	if said := ReadMark("held for the technician").String(); strings.Contains(said, "0001") || !strings.Contains(said, "held for the technician at a time it does not say") {
		t.Error(said)
	}
}

// A node that was switched off with another state folder, and is back by hand,
// has a note that nobody of those who see it wrote: it does not count.
func TestANoteDoesNotOutliveTheTruth(t *testing.T) {
	for name, back := range map[string]func(w *modelWorld, v *vm){
		"booted again": func(_ *modelWorld, v *vm) { v.boot++ },
		"heard for longer than a shutdown takes": func(*modelWorld, *vm) {
			time.Sleep(CarriedOutWithin)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inModel(t, func(t *testing.T, m *model, p *program) {
				other := m.programs[2]
				if err := other.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}}, &yes{p: other}); err != nil {
					t.Fatal(err)
				}
				other.stop() // and never comes back
				p.w.mu.Lock()
				v := p.w.vms["n1"]
				v.on, v.since, v.ours = true, time.Now(), false
				p.w.mu.Unlock()
				time.Sleep(readyAfterBoot)
				view, _ := p.Look(t.Context())
				if others := p.switcher.Sweep(view.Nodes); len(others) != 1 || others[0].Node != "n1" {
					t.Errorf("before it is proven: %v", others)
				}
				back(p.w, v)
				time.Sleep(time.Second)
				q, err := p.switcher.Preview(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}})
				if err != nil || NeedsOverride(q.Findings) || q.Left != 3 {
					t.Errorf("%v, %+v, %d left", err, q.Findings, q.Left)
				}
				view, _ = p.Look(t.Context())
				if others := p.switcher.Sweep(view.Nodes); len(others) > 0 || p.w.marks["n1"] != (Mark{}) {
					t.Errorf("noted by %v, the node by %v", others, p.w.marks["n1"])
				}
				m.programs[2] = m.start(2)
			})
		})
	}
}

// A journal that is lost has taken with it what is off: the notes are all that is
// left, and those are not of the journal that comes in its place.
func TestANoteOutlivesTheJournal(t *testing.T) {
	inModel(t, func(t *testing.T, m *model, p *program) {
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}}, &yes{p: p}); err != nil {
			t.Fatal(err)
		}
		p.stop()
		if err := os.Remove(p.switcher.Journal.Path()); err != nil {
			t.Fatal(err)
		}
		p = m.start(0)
		m.programs[0] = p
		for range 2 {
			view, _ := p.Look(t.Context())
			if others := p.switcher.Sweep(view.Nodes); len(others) != 1 || others[0].Node != "n1" || p.w.marks["n1"] == (Mark{}) {
				t.Errorf("noted: %v; on the node: %v", others, p.w.marks["n1"])
			}
		}
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionOn, Nodes: []string{"n1"}}, &yes{p: p}); err != nil {
			t.Fatal(err)
		}
		if noted := p.switcher.Registered(); p.w.marks["n1"] != (Mark{}) || len(noted) > 0 {
			t.Errorf("it is back, and noted: %v, %v", p.w.marks["n1"], noted)
		}
	})
}

// Who powers on what another has switched off takes the note off.
func TestWhoBringsItBackTakesTheNoteOff(t *testing.T) {
	inModel(t, func(t *testing.T, m *model, p *program) {
		other := m.programs[2]
		if err := other.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}}, &yes{p: other}); err != nil {
			t.Fatal(err)
		}
		if p.w.marks["n1"] == (Mark{}) {
			t.Fatal("no note")
		}
		time.Sleep(time.Minute)
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionOn, Nodes: []string{"n1"}}, &yes{p: p}); err != nil {
			t.Fatal(err)
		}
		if m := p.w.marks["n1"]; m != (Mark{}) {
			t.Errorf("still noted: %v", m)
		}
	})
}

// A machine that is noted on its node and on this host is named once.
func TestWhatIsNotedTwiceIsSaidOnce(t *testing.T) {
	inModel(t, func(t *testing.T, m *model, p *program) {
		other := OpenJournal(filepath.Join(m.root, "other"), p.cluster, "")
		defer other.Close()
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}}, &yes{p: p}); err != nil {
			t.Fatal(err)
		}
		if noted := p.switcher.Registered()["n1"]; noted != p.w.marks["n1"] {
			t.Errorf("the host has noted %v, the node %v", noted, p.w.marks["n1"])
		}
		for _, later := range []time.Duration{0, time.Second} { // as older programs noted it
			view, _ := p.Look(t.Context())
			for i := range view.Nodes {
				for k := range view.Nodes[i].Marks {
					view.Nodes[i].Marks[k].At = view.Nodes[i].Marks[k].At.Add(later)
				}
			}
			s := &Switcher{Fleet: p.switcher.Fleet, Journal: other}
			if others := s.Sweep(view.Nodes); len(others) != 1 {
				t.Errorf("%v later: %v", later, others)
			}
		}
	})
}

// A note names the command that brings the machine back, with the state folder.
func TestANoteSaysHowToBringTheMachineBack(t *testing.T) {
	inModel(t, func(t *testing.T, m *model, p *program) {
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}}, &yes{p: p}); err != nil {
			t.Fatal(err)
		}
		mark := p.w.marks["n1"]
		want := fmt.Sprintf("lightsout restore --state %s, by %s", filepath.Join(m.root, "a"), mark.By)
		if mark.Back != want || mark.Boot != "one-n1-boot-1" {
			t.Errorf("%+v", mark)
		}
		for way, want := range map[string]string{
			"": "lightsout restore --config /etc/site.yaml --state /var/lights",
			"lightsout restore --config /my.yaml --bastion b":                 "lightsout restore --config /my.yaml --bastion b --state /var/lights",
			"lightsout restore --config /etc/site.yaml --state '/var/lights'": "lightsout restore --config /etc/site.yaml --state '/var/lights'",
		} {
			s := &Switcher{Journal: &Journal{path: "/var/lights/" + JournalName, config: "/etc/site.yaml"}, WayBack: way}
			if got := s.me().Back; got != want+", by "+mark.By {
				t.Errorf("%q with %q", got, way)
			}
		}
	})
}

// A machine that came back since it was noted, and is switched off again before
// its node is Ready, is noted anew: the old note is over as soon as the node is
// called Ready, which it is for a while after that, too.
func TestANoteOfAnEarlierBootGivesWay(t *testing.T) {
	step := func(kind string, program, nodes, number int) modelStep {
		return modelStep{slices.Index(stepKinds, kind), program, nodes, number}
	}
	err := runModel(t, memoryDir(t), []modelStep{
		step("nothing", 0, 1, 0), // the runs of program 2 have a state folder each, and know no states
		step("switch", 0, 8, 10), step("switch", 1, 2, 94), step("kill", 0, 13, 59), step("answer", 0, 8, 70),
		step("by hand", 0, 8, 49), step("switch", 0, 12, 1), step("kill", 0, 13, 79), step("advance", 2, 13, 2),
		step("by hand", 1, 1, 74), step("switch", 0, 1, 1),
	}, "")
	if err != nil {
		t.Error(err)
	}
}

// A register that goes on for long has its newest notes, and the old ones that
// still hold.
func TestALongRegisterHasEveryNote(t *testing.T) {
	r := register{OpenLocks(filepath.Join(t.TempDir(), "locks")), Cluster{Name: "c"}}
	put := func(node string, m Mark) {
		t.Helper()
		if err := r.Note(t.Context(), node, func(Mark) (Mark, bool) { return m, true }); err != nil {
			t.Fatal(err)
		}
	}
	stays := Mark{By: "somebody"}
	put("n1", stays)
	for i := range 60 {
		last := Mark{By: fmt.Sprint(i), Back: strings.Repeat("x", 100_000)}
		put("n2", last)
		if got := r.read(); got["n1"] != stays || got["n2"] != last {
			t.Fatalf("after %d notes: n1 is noted by %q, n2 by %q", i+1, got["n1"].By, got["n2"].By)
		}
	}
	put("n2", Mark{})
	if got := r.read(); len(got) != 1 || got["n1"] != stays {
		t.Errorf("%d notes are left", len(got))
	}
}

// A node that boots while it is asked about is asked about again: the note would
// name the boot before, and be taken for over.
func TestABootSinceTheQuestionIsAskedAbout(t *testing.T) {
	one := bind("mdx", "mdx", "n1")
	one[0].Node.BootID = "boot-1"
	two := slices.Clone(one)
	two[0].Node.BootID = "boot-2"
	for _, c := range []struct {
		action Action
		now    []Binding
		want   int
	}{{ActionOff, one, 0}, {ActionOff, two, 1}, {ActionOn, two, 0}} {
		r := Request{Action: c.action, Nodes: []string{"n1"}}
		if got := worse(Question{Request: r, Bindings: one}, Question{Request: r, Bindings: c.now}); len(got) != c.want {
			t.Errorf("%s: %q", c.action, got)
		}
	}
}

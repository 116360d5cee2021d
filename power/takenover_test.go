package power

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// Another journal has switched a machine off since this one did: the machine stays off, and
// is named with who did, until somebody chooses it.
func TestRestoreOwnLeavesWhatAnotherJournalHasSwitchedOffSince(t *testing.T) {
	inModel(t, func(t *testing.T, _ *model, p *program) {
		nodes := []string{"n1", "n2"}
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: nodes}, &yes{p: p}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		theirs := Note{By: "tanaka@jump-7", Journal: "theirs", At: time.Now(), Back: "lightsout restore, by tanaka@jump-7"}
		add := func(had Note) (Note, bool) { return together(append([]Note{theirs}, had.all()...)), true }
		if err := p.Change(t.Context(), "n1", add); err != nil {
			t.Fatal(err)
		}
		err := p.switcher.RestoreOwn(t.Context(), Request{Nodes: nodes}, Automatic{})
		var failed *ActionError
		if !errors.As(err, &failed) || len(failed.Failed) != 1 || !strings.Contains(failed.Failed["n1"], "tanaka@jump-7") {
			t.Errorf("%v", err)
		}
		is := func(node string) bool {
			p.w.mu.Lock()
			defer p.w.mu.Unlock()
			p.w.settle()
			return p.w.vms[node].on
		}
		if is("n1") || !is("n2") {
			t.Errorf("n1 is on: %v, n2 is on: %v", is("n1"), is("n2"))
		}
		if err := p.switcher.Restore(t.Context(), Request{Nodes: []string{"n1"}}, Automatic{}); err != nil || !is("n1") {
			t.Errorf("chosen: %v", err)
		}
	})
}

// A note from before this journal's request, and one of an older copy of this journal, take
// nothing over.
func TestOnlyALaterNoteOfAnotherJournalTakesOver(t *testing.T) {
	at := time.Now()
	l := LeftOff{Entry: Entry{Node: "n1"}, RequestedAt: at}
	for _, c := range []struct {
		note NodeNote
		want bool
	}{
		{NodeNote{Node: "n1", Note: Note{At: at.Add(time.Second)}}, true},
		{NodeNote{Node: "n1", Note: Note{At: at.Add(-time.Second)}}, false},
		{NodeNote{Node: "n2", Note: Note{At: at.Add(time.Second)}}, false},
		{NodeNote{Node: "n1", Note: Note{At: at.Add(time.Second)}, Older: true}, false},
	} {
		if c.note.Since(l) != c.want {
			t.Errorf("%+v", c.note)
		}
	}
}

// The failures of Restore join those that RestoreOwn left out, and nothing is lost.
func TestWhatWasLeftOutHidesNoOtherFailure(t *testing.T) {
	for name, err := range map[string]error{
		"one": &ActionError{Action: ActionOn, Failed: map[string]string{"n2": "it is busy"}},
		"two": errors.Join(&ActionError{Action: ActionOn, Failed: map[string]string{"n2": "it is busy"}}, errors.New("the journal is damaged")),
	} {
		all := (&ActionError{Action: ActionOn, Failed: map[string]string{"n1": "it is somebody else's"}}).with(err)
		var failed *ActionError
		if !errors.As(all, &failed) || len(failed.Failed) != 2 || (name == "two") != strings.Contains(all.Error(), "damaged") {
			t.Errorf("%s: %v", name, all)
		}
	}
}

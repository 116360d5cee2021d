package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/restore"
	"lightsout/power"
)

// What restore does with each node, and asks about alone, by what it knows.
func TestPlanRestore(t *testing.T) {
	const away, command = "of cluster b: off", "lightsout restore --context b"
	now := time.Now()
	off := func(node string) offMachine {
		return offMachine{LeftOff: power.LeftOff{Entry: power.Entry{Node: node, At: now}, Before: outage.Before{Asked: now}}, reading: power.Reading{State: power.Off, Proof: power.Proven}}
	}
	note := func(node string, at time.Time) power.NodeNote {
		return power.NodeNote{Node: node, Note: power.Note{By: "anna@other-host", At: at}}
	}
	for name, row := range map[string]struct {
		facts restoreFacts
		want  string // node, what to do, "?" if it is asked about alone
		left  string // in an error about what is left
	}{
		"nothing": {},
		"machines and a cordon": {restoreFacts{off: []offMachine{off("n3"), off("n4")}, cordoned: []string{"n4"}}, "n3 power on, n4 power on, n4 uncordon",
			"off by the journal: n3, n4; power on with: lightsout restore"},
		"one machine of two operations":       {restoreFacts{off: []offMachine{off("n3"), off("n3")}}, "n3 power on", ""},
		"another's machine":                   {restoreFacts{notes: []power.NodeNote{note("n7", now)}}, "n7 power on?", "others have asked n7 to go off: "},
		"switched off by another before":      {restoreFacts{off: []offMachine{off("n3")}, notes: []power.NodeNote{note("n3", now.Add(-time.Hour))}}, "n3 power on", ""},
		"switched off by another since":       {restoreFacts{off: []offMachine{off("n3"), off("n4")}, notes: []power.NodeNote{note("n3", now.Add(time.Hour))}}, "n3 power on?, n4 power on", "others have asked n3 to go off: "},
		"off, and nobody names who did it":    {restoreFacts{unnamed: []power.NodeNote{{Node: "n5"}}}, "n5 power on?", "nobody knows who has switched off n5; to power on: lightsout restore n5"},
		"a cordon alone":                      {restoreFacts{cordoned: []string{"n4"}}, "n4 uncordon", "still cordoned: n4; uncordon with: lightsout restore"},
		"machines that another call restores": {restoreFacts{elsewhere: []restoredElsewhere{{"n3", away, command}, {"n8", away, command}}}, "n3 left as it is: another call restores it, n8 left as it is: another call restores it", "n3 n8 of cluster b: off; restore with: lightsout restore --context b n3 n8\n"},
	} {
		row.facts.at = now
		var got []string
		items := planRestore(row.facts, restore.Caller{Answers: true})
		for _, i := range items {
			does := map[restore.Do]string{restore.Leave: "left as it is: " + i.Reason, restore.Together: "power on", restore.Alone: "power on?"}[i.Do]
			if i.Kind == restore.Cordon {
				does = "uncordon"
			}
			got = append(got, i.Node+" "+does)
		}
		var left strings.Builder
		for _, err := range leftErrors(items, "lightsout restore") {
			left.WriteString(err.Error() + "\n")
		}
		if strings.Join(got, ", ") != row.want || !strings.Contains(left.String(), row.left) || (left.Len() > 0) != (row.want != "") {
			t.Errorf("%s: %v\n%s", name, got, left.String())
		}
	}
}

// A machine and a cordon of one node stay two, also when this call is about neither.
func TestAPlanKeepsTheMachineAndTheCordonOfANode(t *testing.T) {
	f := restoreFacts{off: []offMachine{{LeftOff: power.LeftOff{Entry: power.Entry{Node: "n3"}}}}, cordoned: []string{"n3"}}
	if items := planRestore(f, restore.Caller{Named: []string{"n9"}}); len(items) != 2 || len(leftErrors(items, "lightsout restore")) != 2 {
		t.Errorf("%+v", items)
	}
}

// An annotation that another operator has left on a node ends when the node has been
// Ready for longer than the request could take.
func TestAnAnnotationOnANodeThatIsReadyForLongEnds(t *testing.T) {
	c := throughATunnel(t)
	c.uid = "uid-a"
	r := c.restorer(t, c.uid)
	defer r.close()
	for _, row := range []struct {
		ago, heard time.Duration
		stays      bool
	}{
		{power.CarriedOutWithin - time.Minute, 0, true},
		{power.CarriedOutWithin + 6*time.Minute, 5 * time.Minute, false},
		{48 * time.Hour, 48 * time.Hour, true}, // nobody marks the node NotReady
	} {
		mark := power.Note{By: "anna", At: time.Now().Add(-row.ago)}
		n := &cluster.Node{Name: "n1", Ready: cluster.TriTrue, Renewed: time.Now().Add(-row.heard), Annotations: map[string]string{power.AnnotationSwitchedOff: mark.Text()}}
		others := othersNotes(nil, r.journal, false, justListed([]*cluster.Node{n}, nil))
		if slices.ContainsFunc(others, func(n power.NodeNote) bool { return n.Node == "n1" }) != row.stays {
			t.Errorf("%s after it was written, heard %s ago: %+v", row.ago, row.heard, power.Others)
		}
	}
}

package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/power"
)

// What restore does with each node, and asks about alone, by what it knows.
func TestPlanRestore(t *testing.T) {
	const away = " of cluster b: off; restore with: lightsout restore --context b"
	now := time.Now()
	off := func(node string) offMachine {
		return offMachine{LeftOff: power.LeftOff{Entry: power.Entry{Node: node, At: now}, Before: outage.Before{Asked: now}}, reading: power.Reading{State: power.Off, Proof: power.Proven}}
	}
	note := func(node string, at time.Time) power.NodeNote {
		return power.NodeNote{Node: node, Note: power.Note{By: "anna@other-host", At: at}}
	}
	for name, row := range map[string]struct {
		facts facts
		want  string // node, what to do, "?" if it is asked about alone
		left  string // in an error about what is left
	}{
		"nothing": {},
		"machines and a cordon": {facts{off: []offMachine{off("n3"), off("n4")}, cordoned: []string{"n4"}}, "n3 power on, n4 power on, n4 uncordon",
			"still off: n3, n4; power on with: lightsout restore"},
		"one machine of two operations":       {facts{off: []offMachine{off("n3"), off("n3")}}, "n3 power on", ""},
		"another's machine":                   {facts{notes: []power.NodeNote{note("n7", now)}}, "n7 power on?", "others have switched off n7: "},
		"switched off by another before":      {facts{off: []offMachine{off("n3")}, notes: []power.NodeNote{note("n3", now.Add(-time.Hour))}}, "n3 power on", ""},
		"switched off by another since":       {facts{off: []offMachine{off("n3"), off("n4")}, notes: []power.NodeNote{note("n3", now.Add(time.Hour))}}, "n3 power on?, n4 power on", "others have switched off n3: "},
		"off, and nobody names who did it":    {facts{unnamed: []power.NodeNote{{Node: "n5"}}}, "n5 power on?", "nobody knows who has switched off n5; to power on: lightsout restore n5"},
		"a cordon alone":                      {facts{cordoned: []string{"n4"}}, "n4 uncordon", "still cordoned: n4; uncordon with: lightsout restore"},
		"machines that another call restores": {facts{elsewhere: []item{{node: "n3", kind: elsewhere, why: away}, {node: "n8", kind: elsewhere, why: away}}}, "n3 leave: another call restores it, n8 leave: another call restores it", "n3 n8 of cluster b: off; restore with: lightsout restore --context b n3 n8\n"},
	} {
		row.facts.at = now
		var got []string
		items := planRestore(row.facts, call{terminal: true})
		for _, i := range items {
			got = append(got, i.node+" "+string(i.do)+map[bool]string{true: "?"}[i.ask == askAlone])
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

// What restore does with one node, and whom it asks, by what it found out and how it was called.
func TestTheDecisionAboutANode(t *testing.T) {
	for name, row := range map[string]struct {
		call call
		kind kind
		do   do
		ask  ask
	}{
		"ours":                            {call{terminal: true}, ours, doPowerOn, askTogether},
		"ours, without a terminal":        {call{}, ours, doPowerOn, askTogether}, // askFor gives the error
		"ours, with --yes":                {call{yes: true}, ours, doPowerOn, askNobody},
		"ours, and another is named":      {call{named: []string{"n9"}, yes: true}, ours, leaveUnnamed, askNobody},
		"a cordon":                        {call{terminal: true}, cordoned, doUncordon, askTogether},
		"a cordon, named, with --yes":     {call{named: []string{"n3"}, yes: true}, cordoned, doUncordon, askNobody},
		"a cordon, and another is named":  {call{named: []string{"n9"}}, cordoned, leaveUnnamed, askNobody},
		"another's":                       {call{terminal: true}, others, doPowerOn, askAlone},
		"another's, without a terminal":   {call{}, others, leaveUnasked, askNobody},
		"another's, with --yes":           {call{yes: true, terminal: true}, others, leaveUnasked, askNobody},
		"another's, named":                {call{named: []string{"n3"}}, others, doPowerOn, askAlone},
		"another's, named, with --yes":    {call{named: []string{"n3"}, yes: true}, others, doPowerOn, askNobody},
		"another's, and another is named": {call{named: []string{"n9"}, terminal: true}, others, leaveUnnamed, askNobody},
		"another's since":                 {call{yes: true}, takenOver, leaveUnasked, askNobody},
		"another's since, at a terminal":  {call{terminal: true}, takenOver, doPowerOn, askAlone},
		"nobody's":                        {call{yes: true}, nobodys, leaveUnasked, askNobody},
		"another call's":                  {call{terminal: true}, elsewhere, leaveAway, askNobody},
		"another call's, named":           {call{named: []string{"n3"}, yes: true}, elsewhere, leaveAway, askNobody},
	} {
		if i := row.call.decide(item{node: "n3", kind: row.kind}); i.do != row.do || i.ask != row.ask {
			t.Errorf("%s: %s, %d", name, i.do, i.ask)
		}
	}
}

// A machine and a cordon of one node stay two, also when this call is about neither.
func TestAPlanKeepsTheMachineAndTheCordonOfANode(t *testing.T) {
	f := facts{off: []offMachine{{LeftOff: power.LeftOff{Entry: power.Entry{Node: "n3"}}}}, cordoned: []string{"n3"}}
	if items := planRestore(f, call{named: []string{"n9"}}); len(items) != 2 || len(leftErrors(items, "lightsout restore")) != 2 {
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

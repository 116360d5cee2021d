package restore

import (
	"testing"

	"lightsout/power"
)

// What restoring does with one node, by what is known of it and who restores.
func TestTheDecisionAboutANode(t *testing.T) {
	all, asked, this, other := Caller{}, Caller{Answers: true}, Caller{Named: []string{"n3"}}, Caller{Named: []string{"n9"}, Answers: true}
	const unnamed, unasked, away = "this call names other nodes", "this call does not name it, and nobody answers a question about it", "another call restores it"
	for name, row := range map[string]struct {
		caller Caller
		kind   Kind
		owner  power.Owner
		do     Do
		reason string
	}{
		"ours":                            {all, Machine, power.Ours, Together, ""},
		"ours, and somebody answers":      {asked, Machine, power.Ours, Together, ""},
		"ours, and another is named":      {other, Machine, power.Ours, Leave, unnamed},
		"a cordon":                        {all, Cordon, power.Ours, Together, ""},
		"a cordon, named":                 {this, Cordon, power.Ours, Together, ""},
		"a cordon, and another is named":  {other, Cordon, power.Ours, Leave, unnamed},
		"another's":                       {all, Machine, power.Others, Leave, unasked},
		"another's, and somebody answers": {asked, Machine, power.Others, Alone, ""},
		"another's, named":                {this, Machine, power.Others, Alone, ""},
		"another's, and another is named": {other, Machine, power.Others, Leave, unnamed},
		"another's since":                 {all, Machine, power.TakenOver, Leave, unasked},
		"another's since, and answers":    {asked, Machine, power.TakenOver, Alone, ""},
		"nobody's":                        {all, Machine, power.Nobody, Leave, unasked},
		"another call's":                  {asked, Elsewhere, power.Nobody, Leave, away},
		"another call's, named":           {this, Elsewhere, power.Nobody, Leave, away},
	} {
		if d := row.caller.Decide("n3", row.kind, power.Ownership{Owner: row.owner}); d.Do != row.do || d.Reason != row.reason {
			t.Errorf("%s: %d, %q", name, d.Do, d.Reason)
		}
	}
}

package power

import "testing"

// What restoring does with one node, by what is known of it and who restores.
func TestTheDecisionAboutANode(t *testing.T) {
	all, asked, this, other := RestoreCaller{}, RestoreCaller{Answers: true}, RestoreCaller{Named: []string{"n3"}}, RestoreCaller{Named: []string{"n9"}, Answers: true}
	const unnamed, unasked, away = "this call names other nodes", "this call does not name it, and nobody answers a question about it", "another call restores it"
	for name, row := range map[string]struct {
		caller RestoreCaller
		kind   RestoreKind
		owner  Owner
		do     RestoreDo
		reason string
	}{
		"ours":                            {all, RestoreMachine, Ours, RestoreTogether, ""},
		"ours, and somebody answers":      {asked, RestoreMachine, Ours, RestoreTogether, ""},
		"ours, and another is named":      {other, RestoreMachine, Ours, RestoreLeave, unnamed},
		"a cordon":                        {all, RestoreCordon, Ours, RestoreTogether, ""},
		"a cordon, named":                 {this, RestoreCordon, Ours, RestoreTogether, ""},
		"a cordon, and another is named":  {other, RestoreCordon, Ours, RestoreLeave, unnamed},
		"another's":                       {all, RestoreMachine, Others, RestoreLeave, unasked},
		"another's, and somebody answers": {asked, RestoreMachine, Others, RestoreAlone, ""},
		"another's, named":                {this, RestoreMachine, Others, RestoreAlone, ""},
		"another's, and another is named": {other, RestoreMachine, Others, RestoreLeave, unnamed},
		"another's since":                 {all, RestoreMachine, TakenOver, RestoreLeave, unasked},
		"another's since, and answers":    {asked, RestoreMachine, TakenOver, RestoreAlone, ""},
		"nobody's":                        {all, RestoreMachine, Nobody, RestoreLeave, unasked},
		"another call's":                  {asked, RestoreElsewhere, Nobody, RestoreLeave, away},
		"another call's, named":           {this, RestoreElsewhere, Nobody, RestoreLeave, away},
	} {
		if d := row.caller.Decide("n3", row.kind, Ownership{Owner: row.owner}); d.Do != row.do || d.Reason != row.reason {
			t.Errorf("%s: %d, %q", name, d.Do, d.Reason)
		}
	}
}

package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lightsout/power"
)

// Own powers on the machines of nodes that nobody has chosen one by one, whatever r's action: it leaves out
// those that DecideOwn leaves. owners says, by node, who has switched them off. FailedNodes of the error has
// those that it leaves out, too.
func Own(ctx context.Context, s *power.Switcher, owners map[string]power.Ownership, r power.Request, ask power.Asker) error {
	r.Action = power.ActionOn
	taken := map[string]string{}
	for _, n := range r.Nodes {
		if by := owners[n]; DecideOwn(n, by).Do == Leave {
			taken[n] = fmt.Sprintf("lightsout leaves %s off: it %s", power.Clean(n), by.SwitchedOff())
			if r.Report != nil { // the others may take their time
				r.Report(power.Progress{At: time.Now(), Action: power.ActionOn, Node: n, Stage: power.StageFailed, Text: taken[n]})
			}
		}
	}
	if len(taken) == 0 {
		return s.Switch(ctx, r, ask)
	}
	leftOut := &power.ActionError{Action: power.ActionOn, Failed: taken}
	r.Nodes = slices.DeleteFunc(slices.Clone(r.Nodes), func(n string) bool { return taken[n] != "" })
	if len(r.Nodes) == 0 {
		return leftOut
	}
	return errors.Join(leftOut, s.Switch(ctx, r, ask))
}

package power

import (
	"slices"
	"strings"
	"testing"
)

// Another lightsout on this host holds the cluster's lock: the annotation of a machine that is on stays, and
// lightsout reports that.
func TestAnAnnotationThatStaysIsReported(t *testing.T) {
	inModel(t, func(t *testing.T, _ *model, p *program) {
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}}, &yes{p: p}); err != nil {
			t.Fatal(err)
		}
		free, err := p.switcher.Fleet.cfg.Locks.take(t.Context(), clusterLock(p.cluster))
		if err != nil {
			t.Fatal(err)
		}
		var reported []string
		err = p.switcher.Switch(t.Context(), Request{Action: ActionOn, Nodes: []string{"n1"}, Report: func(pr Progress) { reported = append(reported, pr.Text) }}, &yes{p: p})
		free()
		if err != nil || !slices.ContainsFunc(reported, func(text string) bool { return strings.Contains(text, "could not check its annotation") }) {
			t.Errorf("%v; reported %q", err, reported)
		}
	})
}

package plan

import (
	"cmp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Rollout restarts a deployment's rollout and waits until it is complete.
type Rollout struct {
	// Deployment, namespace/name; empty: the plan's.
	Deployment string
	Within     time.Duration // 0: ten minutes
}

func decodeRollout(k kind, n *yaml.Node) (Action, error) {
	r := &Rollout{}
	var err error
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return r, nil
	case n.Kind == yaml.ScalarNode:
		r.Deployment, err = decodeDeployment(n, "deployment")
		return r, err
	case n.Kind != yaml.MappingNode:
		return nil, errorAt(n.Line, "rollout must be the name of a deployment like default/nginx, or nothing for the plan's own, and this is %s", is(n))
	}
	g, err := k.group(n, "a rollout")
	if err != nil {
		return nil, err
	}
	return r, cmp.Or(field(g, "deployment", &r.Deployment, decodeDeployment), field(g, "within", &r.Within, decodeTime))
}

// Kind is "rollout".
func (r *Rollout) Kind() string { return "rollout" }

// Subjects names the deployment, if it is not the plan's.
func (r *Rollout) Subjects() ([]string, string) { return nil, r.Deployment }

func (r *Rollout) title() string { return strings.TrimSuffix("rollout of "+r.Deployment, " of ") }

// Text names the deployment to restart.
func (r *Rollout) Text() string {
	return "restart the rollout of " + theDeployment(r.Deployment) + inTime(r.Within)
}

// theDeployment names a deployment; empty is the plan's.
func theDeployment(name string) string { return cmp.Or(name, "the deployment") }

func (r *Rollout) value() any { return r.Deployment }

func (r *Rollout) check(*checker, *Step) {}

// Begin restarts the rollout.
func (ro *Rollout) Begin(r Runner, _ string) Poll { return r.Rollout(ro.Deployment, ro.Within) }

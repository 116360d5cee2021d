package plan

import (
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

var rolloutKind = kind{
	name: "rollout", meant: "restart", fields: "deployment within", decode: decodeRollout,
	help: `  rollout  nothing (the plan's deployment), ns/name, or {deployment: ns/name, within: 10m}
`,
}

func decodeRollout(n *yaml.Node) (Action, error) {
	r := &Rollout{}
	var err error
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return r, nil
	case n.Kind == yaml.ScalarNode:
		r.Deployment, err = decodeDeployment(n)
		return r, err
	case n.Kind != yaml.MappingNode:
		return nil, errorAt(n.Line, "rollout must be the name of a deployment like default/nginx, or nothing for the plan's own, and this is %s", is(n))
	}
	g, err := fields(n, "a rollout", "deployment", "within")
	if err != nil {
		return nil, err
	}
	if f, ok := g["deployment"]; ok {
		if r.Deployment, err = decodeDeployment(f.Value); err != nil {
			return nil, err
		}
	}
	r.Within, err = optionalTime(g, "within", 0)
	return r, err
}

// Kind is "rollout".
func (r *Rollout) Kind() string { return rolloutKind.name }

// Subjects names the deployment, if it is not the plan's.
func (r *Rollout) Subjects() ([]string, string) { return nil, r.Deployment }

func (r *Rollout) title() string { return strings.TrimSuffix("rollout of "+r.Deployment, " of ") }

// Text says what is restarted.
func (r *Rollout) Text() string {
	of := "the deployment"
	if r.Deployment != "" {
		of = r.Deployment
	}
	return "restart the rollout of " + of + inTime(r.Within)
}

func (r *Rollout) value() string {
	var f flow
	if r.Deployment != "" {
		f.add("deployment", word(r.Deployment))
	}
	f.time("within", r.Within, 0)
	return f.String()
}

func (r *Rollout) check(c *checker, _ *Step) {
	c.rollout = true
}

// Begin restarts the rollout.
func (ro *Rollout) Begin(r Runner, _ string) Poll { return r.Rollout(ro.Deployment, ro.Within) }

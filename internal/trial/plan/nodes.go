package plan

import "slices"

// Nodes are the names of all nodes that the plan switches off, sorted.
func (p *Plan) Nodes() []string {
	var out []string
	for _, s := range p.Steps {
		if s.Off != nil {
			out = append(out, s.Off.Nodes...)
		}
	}
	return slices.Compact(sorted(out))
}

// CheckNodes finds the first node that the plan names and that is not known,
// as an *Error with the line of the step. similar are the names from which a
// better one is suggested. Nothing may be switched before it has passed.
func (p *Plan) CheckNodes(known func(name string) bool, similar []string) error {
	for _, s := range p.Steps {
		var nodes []string
		switch {
		case s.Off != nil:
			nodes = s.Off.Nodes
		case s.On != nil:
			nodes = s.On.Nodes
		case s.Wait != nil:
			nodes = s.Wait.Nodes
		case s.Cordon != nil:
			nodes = s.Cordon.Nodes
		case s.Drain != nil:
			nodes = s.Drain.Nodes
		case s.Uncordon != nil:
			nodes = s.Uncordon.Nodes
		}
		for _, n := range nodes {
			if !known(n) {
				return missing(s.Line, "node", n, similar)
			}
		}
	}
	for _, e := range p.Expect {
		if e.Subject != "" && !contains(ofDeployment, e.Measure) && !known(e.Subject) {
			return missing(e.Line, "node", e.Subject, similar)
		}
	}
	return nil
}

// CheckDeployments does for deployments (namespace/name) what CheckNodes does
// for nodes.
func (p *Plan) CheckDeployments(known func(name string) bool, similar []string) error {
	if p.Deployment != "" && !known(p.Deployment) {
		return missing(p.deploymentLine, "deployment", p.Deployment, similar)
	}
	for _, s := range p.Steps {
		d := ""
		switch {
		case s.Wait != nil:
			d = s.Wait.Deployment
		case s.Rollout != nil:
			d = s.Rollout.Deployment
		}
		if d != "" && !known(d) {
			return missing(s.Line, "deployment", d, similar)
		}
	}
	for _, e := range p.Expect {
		if e.Subject != "" && contains(ofDeployment, e.Measure) && !known(e.Subject) {
			return missing(e.Line, "deployment", e.Subject, similar)
		}
	}
	return nil
}

func missing(line int, kind, name string, similar []string) error {
	const most = 6
	switch near := suggest(name, similar); {
	case near != "":
		return errorAt(line, "the cluster has no %s %s; did you mean %s?", kind, quote(name), quote(near))
	case len(similar) > 0 && len(similar) <= most:
		quoted := make([]string, len(similar))
		for i, s := range similar {
			quoted[i] = quote(s)
		}
		return errorAt(line, "the cluster has no %s %s; it has %s", kind, quote(name), and(quoted))
	}
	return errorAt(line, "the cluster has no %s %s", kind, quote(name))
}

package simulator

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"lightsout/internal/trial/plan"
)

// outage is a trial: its plan, and the nodes that it switches.
type outage struct {
	plan  *plan.Plan
	nodes []string
	// allows is how long the plan allows clients to wait in vain; 0: there is no limit.
	allows time.Duration
}

// newOutage returns a plan without questions that switches nodes off one after the
// other. byGuests: no driver can cut the power.
func newOutage(nodes []string, byGuests bool, r *rand.Rand) *outage {
	var b strings.Builder
	fmt.Fprintf(&b, "name: outage\ndeployment: %s\nsteps:\n", web)
	for _, n := range nodes {
		how := "shutdown"
		if !byGuests && chance(r, 50) {
			how = "plug"
		}
		fmt.Fprintf(&b, "- off: {nodes: [%s], how: %s}\n- pause: 5s\n", n, how)
	}
	fmt.Fprintf(&b, "- on: [%s]\n", strings.Join(nodes, ", "))
	return &outage{plan: parsed(b.String()), nodes: nodes}
}

// newOutageOfClients returns a plan that waits for the effects of an outage while clients
// send requests.
func newOutageOfClients(node string, byGuests bool) *outage {
	how := "plug"
	if byGuests {
		how = "shutdown"
	}
	const text = `name: clients
deployment: %s
steps:
- load: {hold: 3, background: true}
  name: clients
- pause: 10s
- off: {nodes: [%[2]s], how: %[3]s}
- wait: {for: detected, within: 2m}
- on: [%[2]s]
- wait: {for: ready, within: 3m}
- pause: 20s
- stop: all
expect:
- error_window: {max: 45s}
  step: clients
`
	return &outage{plan: parsed(fmt.Sprintf(text, web, node, how)), nodes: []string{node}, allows: 45 * time.Second}
}

func parsed(text string) *plan.Plan {
	p, err := plan.Parse([]byte(text))
	if err != nil {
		panic(fmt.Errorf("%v in\n%s", err, text))
	}
	return p
}

// trial is `lightsout trial run PLAN --yes` without a terminal. A signal ends it,
// unless it ends before.
func (x *site) trial(st *stateDir, r *rand.Rand) {
	a := x.start(st, "trial", x.anyWay(st))
	nodes := pick(x.w.workers(), 2, r)
	p := newOutage(nodes, x.guests, r)
	if chance(r, 40) {
		p = newOutageOfClients(nodes[0], x.guests)
	}
	x.w.tell(a.p.name, "$ lightsout trial run outage.yaml --yes  (on %s, state %s)", st.host.name, st.name)
	x.session(a, p)
}

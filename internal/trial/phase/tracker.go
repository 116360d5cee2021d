package phase

import (
	"cmp"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/internal/outage"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// Load is the subject of the row of the error window.
const Load = "load"

// Tracker keeps the phases of one session. Of a node that is switched off a second
// time after its return, and of a deployment then, the rows are those of the last outage.
// A Tracker is owned by one goroutine.
type Tracker struct {
	deployment cluster.Key
	zero       time.Time
	snapshot   *cluster.Snapshot
	// atZero is the newest snapshot at zero; an empty one if nobody looked before began.
	atZero *cluster.Snapshot
	began  time.Time
	// booted are the snapshots that first showed the newest boot of a node since zero, by the node's name.
	booted map[string]*cluster.Snapshot
	// all are the outages of nodes in the order in which they were switched off, and nodes the last
	// one of each node; names are those of nodes, sorted.
	all   []*node
	nodes map[string]*node
	names []string
	// waves has the deployment in each wave of outages: the next one begins with a node that is switched
	// off after all nodes were asked to return.
	waves      []*service
	unforecast bool // nodes have been switched whose First is not worked out yet
	forecast   time.Time
	now        time.Time // of the newest look
	failures   failures
	off        []string // off in forecast.Outage
	lowest     *int     // see Lowest
	disrupted  time.Time
}

// node is a node that was switched off once: its outage, with the rows of it.
type node struct {
	name    string
	outage  outage.Outage
	rows    rows
	last    *cluster.Node
	well    *cluster.Snapshot // the newest that shows it Ready after its return; nil before that
	tainted bool              // has had a taint by which its pods are evicted
	wave    *service
	// graceful is the kubelet's shutdownGracePeriod when it was shut down.
	graceful time.Duration
}

// off is when its driver was asked to switch it off.
func (n *node) off() time.Time { return n.outage.At[outage.StepAsked] }

// on is when its driver was asked to power it on, or when it booted before that; zero until then.
func (n *node) on() time.Time { return n.outage.At[outage.StepOn] }

// rows holds a row for each phase of one subject.
type rows map[string]*row

// of returns the row of a phase, and adds it if there is none.
func (all rows) of(name string) *row {
	all[name] = cmp.Or(all[name], &row{})
	return all[name]
}

// at is when a phase was observed; zero if it was not.
func (all rows) at(name string) (at time.Time) {
	if r := all[name]; r != nil {
		at = r.when.By
	}
	return at
}

// seen reports whether a phase was observed.
func (all rows) seen(name string) bool { return !all.at(name).IsZero() }

// row is one phase of one subject: its forecast, when it came, and whether it is expected.
type row struct {
	predicted, first forecast.Interval
	when             cluster.When
	source           time.Time // that its object gives
	from             time.Time // of an error window
	// why it is not expected; empty when it is. never: the phase cannot come.
	why   string
	never bool
	notes []string
	// before: it was so before the machine went off.
	before bool
}

// seen reports whether the phase was observed.
func (r *row) seen() bool { return !r.when.IsZero() }

// seenOr is when it was observed, or the forecast if it was not.
func (r *row) seenOr() forecast.Interval {
	if !r.seen() {
		return r.predicted
	}
	return forecast.Interval{From: r.when.After, To: r.when.By}
}

func (r *row) explain(text string) {
	if text != "" && !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

// explainBlind notes that nobody saw when the phase came.
func (r *row) explainBlind() {
	if !r.when.Exact() {
		r.explain("seen after a blind span")
	}
}

// NewTracker makes a Tracker. deployment may be the zero Key: then there are no
// rows of a deployment.
func NewTracker(deployment cluster.Key) *Tracker {
	t := &Tracker{deployment: deployment, nodes: map[string]*node{}, booted: map[string]*cluster.Snapshot{}, waves: []*service{{rows: rows{}}}}
	t.failures.runs, t.failures.all = map[int]*Run{}, loadgen.NewWindow()
	return t
}

// service is the deployment in the present wave of outages.
func (t *Tracker) service() *service { return t.waves[len(t.waves)-1] }

// row is the row of a phase of a subject in its last outage; nil if there is none.
func (t *Tracker) row(name, subject string) *row {
	switch n := t.nodes[subject]; {
	case name == view.PhaseErrors:
		return &t.failures.row
	case name != view.PhaseReplaced && name != view.PhaseRestored && n != nil:
		return n.rows[name]
	case subject == t.deployment.String():
		return t.service().rows[name]
	}
	return nil
}

// Zero starts the clock at the first power-off request. s is the newest Snapshot. Only the first
// call counts.
func (t *Tracker) Zero(at time.Time, s *cluster.Snapshot) {
	if !t.zero.IsZero() {
		return
	}
	t.zero = at
	t.Disrupted(at)
	t.snapshot, t.atZero = s, s
	t.waves[0].start(s, t.deployment, (*cluster.Pod).Serving)
}

// Disrupted records that the first drain or power-off begins. Only the first call counts.
func (t *Tracker) Disrupted(at time.Time) { t.disrupted = cmp.Or(t.disrupted, at) }

// Began is the first look at the cluster, if that came after zero; otherwise the zero time.
func (t *Tracker) Began() time.Time { return t.began }

// Down replaces the names of the nodes whose machines are off, or on their way off, although
// the API server may call them Ready: no forecast places pods there.
func (t *Tracker) Down(nodes []string) { t.off = nodes }

// Switched records the request to switch a node's machine. Zero comes before it.
func (t *Tracker) Switched(name string, a power.Action, at time.Time) {
	n := t.nodes[name]
	if a == power.ActionOn {
		if n != nil {
			t.returns(n, at)
		}
		return
	}
	if n != nil && n.on().IsZero() {
		return // asked for again
	}
	if len(t.nodes) > 0 && !slices.ContainsFunc(t.names, func(name string) bool { return t.nodes[name].on().IsZero() }) {
		t.waves = append(t.waves, &service{rows: rows{}})
		t.service().start(t.snapshot, t.deployment, (*cluster.Pod).Serving)
	}
	if n == nil {
		t.names = append(t.names, name)
		slices.Sort(t.names)
	}
	was, before := t.snapshot, outage.Before{Asked: at}
	switch late := at.Before(was.At); { // the recorder notices it some time after that
	case late && n != nil && n.well != nil:
		was = n.well
	case late:
		was = t.atZero
		if s := t.booted[name]; s != nil && !s.At.After(at) {
			was = s
		}
	}
	n = &node{name: name, rows: rows{}, wave: t.service()}
	t.nodes[name], t.all = n, append(t.all, n)
	t.unforecast = true
	n.last = was.Node(name)
	before.ID = was.Boot(n.last).ID
	n.outage.Apply(outage.Fact{Kind: outage.Listed, Before: before})
	if n.last == nil {
		return
	}
	if a == power.ActionShutdown {
		n.graceful = was.Settings.ShutdownGrace.Value
		if k := n.last.Kubelet; k != nil {
			n.graceful = k.ShutdownGrace
		}
	}
	n.before()
}

// returns records when a node's driver was asked to power it on, or when it booted before that.
func (t *Tracker) returns(n *node, at time.Time) {
	if n.on().IsZero() {
		n.outage.Apply(outage.Fact{Kind: outage.Sent, At: at})
	}
}

// WasOff reports whether a node was switched off.
func (t *Tracker) WasOff(name string) bool { return t.nodes[name] != nil }

// before records the phases that had come before a node went off.
func (n *node) before() {
	at0 := func(name, note string) {
		r := n.rows.of(name)
		r.when, r.before = cluster.At(n.off()), true
		r.explain(note)
	}
	if n.last.Ready != cluster.TriTrue {
		// Nobody sees the control plane notice this outage.
		n.outage.Apply(outage.Fact{Kind: outage.Seen, At: n.off()})
		n.rows.of(view.PhaseDetected).explain("not seen: it was not Ready before")
	}
	if n.last.ReadyEndpoints == 0 {
		at0(view.PhaseEndpointsOut, "no endpoint on it was ready before")
	}
	for _, taint := range n.last.Taints {
		if cluster.Evicts(taint.Key + ":" + taint.Effect) {
			n.tainted = true
			at0(view.PhaseTainted, "was tainted before")
		}
	}
}

// down names the nodes of the present wave.
func (t *Tracker) down() []string {
	return slices.DeleteFunc(slices.Clone(t.names), func(name string) bool { return !isDown(t, name) })
}

// up reports whether the newest snapshot shows the node Ready.
func (n *node) up() bool { return n.last != nil && n.last.Ready == cluster.TriTrue }

// isDown reports whether the node is one of the present wave.
func isDown(t *Tracker, name string) bool {
	n := t.nodes[name]
	return n != nil && n.wave == t.service()
}

// Power records a reading of a machine.
func (t *Tracker) Power(name string, r power.Reading) {
	n := t.nodes[name]
	if n == nil || r.State != power.Off || r.Arrived.Before(n.off()) {
		return
	}
	row := n.rows.of(view.PhaseOff)
	if !n.on().IsZero() && r.Arrived.After(n.on()) {
		return
	}
	if !row.seen() {
		row.when = cluster.At(r.Arrived)
		if !t.watched(n.off()) {
			row.when.After = t.zero
		}
	}
	if r.Proof == power.Proven {
		n.outage.Apply(outage.Fact{Kind: outage.MachineOff, At: r.RequestedAt})
	}
	if r.Proof == power.Proven || len(row.notes) == 0 {
		row.notes = []string{r.With(r.Proof.String())}
	}
	row.explainBlind()
}

// AllEvicted reports whether the eviction of the node's pods has begun and every
// pod on it that is to be evicted is being deleted.
func (t *Tracker) AllEvicted(name string) bool {
	if _, seen := t.Observed(view.PhaseEvicted, name); !seen {
		return false
	}
	o, ok := forecast.Outage(t.snapshot, []string{name}, t.off, t.zero).Node(name)
	return ok && o.Pods == 0
}

// Why is the reason, in one sentence, why a phase is not expected to come; empty if it is expected,
// or if nothing is known about it. never: it cannot come at all, and not only its time is unknown.
func (t *Tracker) Why(name, subject string) (why string, never bool) {
	t.forecastFirst()
	if r := t.row(name, subject); r != nil && !r.seen() {
		return r.why, r.why != "" && r.never
	}
	return "", false
}

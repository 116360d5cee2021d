// Package survey finds the nodes that a cluster cannot spare. In a cluster.Snapshot it
// loses every node, every zone, every group of nodes and, on request, every pair of
// nodes, one after the other; or, instead, certain nodes together. It switches nothing.
//
//	r, err := survey.Make(ctx, snapshot, survey.Options{Pairs: true})
//	r.Spare()                  // "Can spare, one at a time: node-c1; node-a2 only if default/database may wait"
//	r.Write(w, survey.HTML, 0) // or Table, JSON
//
// This package chooses the losses, judges each one, and writes the pages. Package
// cluster/place forecasts where pods go.
package survey

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/cluster/place"
	"lightsout/internal/text"
)

// Options is the input of a survey.
type Options struct {
	// Pairs adds the loss of every pair of nodes.
	Pairs bool
	// By lists label keys whose values are failure domains, besides zones.
	By []string
	// Min is how many pods of a workload are needed, and enough, by its key.
	Min map[cluster.Key]int
	// Off names nodes whose machines are off, although the API server may call them Ready.
	Off []string
	// Together names nodes that exist: the survey has one loss, that of all of them at once. None: it has every loss.
	Together []string
}

// Kinds of losses.
const (
	Node = "node"
	Pair = "pair"
	Zone = "zone"
)

// Loss is the forecast for the cluster when some nodes are lost.
type Loss struct {
	// Sort is Node (also of Options.Together), Pair, Zone or a label key; Name is the lost object.
	Sort  string   `json:"kind"`
	Name  string   `json:"name"`
	Nodes []string `json:"nodes"`
	// Losses counts the additional pods without a node or a replacement while the nodes are away, and Preempted
	// those that others displace.
	place.Losses
	Preempted place.Range `json:"preempted"`
	// Held: there is no control plane, or it does not evict the pods of some of the nodes, for the
	// reason in Rule, and so nobody replaces them.
	Held bool `json:"held,omitempty"`
	// Workloads lists those that do not recover fully, first those of which pods get no node or are not
	// created, each by the share of its pods that it keeps.
	Workloads []Workload `json:"workloads,omitempty"`
	// Victims lists the workloads with preempted pods.
	Victims []place.Victim `json:"victims,omitempty"`
	// Broken lists the violated minimums and Budgets the violated disruption budgets, a
	// sentence each.
	Broken  []string `json:"broken,omitempty"`
	Budgets []string `json:"budgets,omitempty"`
	// Until lists the deployments with no pod left, or with fewer than a minimum or a disruption budget requires, until the control
	// plane replaces their pods; not those that keep no more for good.
	Until []Left `json:"until_replaced,omitempty"`
	// Rule describes what delays or prevents evictions, if anything does.
	Rule string `json:"rule,omitempty"`
	// ToSpare lets the cluster spare the nodes, by the same forecast; no change was found if it is empty, and none was looked for if it is nil.
	ToSpare *Remedy `json:"to_spare,omitempty"`

	// counts are the pods above without those of workloads that keep their stated minimum.
	counts place.Losses
	planes int // how many more control-plane nodes keep a quorum
}

// Workload is a workload that does not recover fully.
type Workload struct {
	place.Workload
	// Slots is how many requests one of its pods serves at once; 0 without a limit.
	Slots int `json:"slots,omitempty"`
	// Min is how many pods are enough, as stated; nil: nobody did.
	Min *int `json:"min,omitempty"`
	// Least is what it keeps at any time, also until pods are replaced.
	Least int `json:"least"`
}

// Left is what a deployment has left of the pods that it wants.
type Left struct {
	cluster.Key
	Left   int `json:"left"`
	Wanted int `json:"wanted"`
}

func (l Left) String() string { return fmt.Sprintf("%s %d/%d", l.Key, l.Left, l.Wanted) }

// Title names what is lost, with its kind unless it is a node.
func (l *Loss) Title() string { return strings.TrimPrefix(l.Sort+" "+l.Name, Node+" ") }

// enough reports whether the workload keeps its stated minimum.
func (w *Workload) enough() bool { return w.Min != nil && w.After.Low >= *w.Min }

// TooMuch reports whether the cluster cannot spare these nodes: some pods get no node, the
// control plane does not evict them, or a minimum or a disruption budget is violated. Pods of
// a workload that keeps its minimum do not count.
func (l *Loss) TooMuch() bool {
	return l.counts.Pending.High > 0 || l.counts.Missing.High > 0 || l.Held || len(l.Broken)+len(l.Budgets) > 0
}

// Partial reports whether the cluster can spare these nodes, except for pods that have no
// certain replacement while the nodes are away: they wait for their node, no controller is
// known to replace them, or their Job fails.
func (l *Loss) Partial() bool {
	return !l.TooMuch() && (l.counts.Stuck.High > 0 || l.counts.Orphans.High > 0 || l.counts.Over.High > 0)
}

// Spare is whether the cluster can spare the nodes: yes, no, or partial.
func (l *Loss) Spare() string {
	if l.TooMuch() {
		return "no"
	}
	return map[bool]string{true: "partial", false: "yes"}[l.Partial()]
}

// MarshalJSON adds Spare.
func (l *Loss) MarshalJSON() ([]byte, error) {
	type plain Loss
	return json.Marshal(struct {
		Spare string `json:"spare"`
		*plain
	}{l.Spare(), (*plain)(l)})
}

// Report is the result of a survey.
type Report struct {
	Context string    `json:"context,omitempty"`
	At      time.Time `json:"at"` // time of the Snapshot
	// Nodes is the number of nodes in the cluster; Waiting is the number of pods that
	// wait for a node already.
	Nodes   int `json:"nodes"`
	Waiting int `json:"waiting"`
	// Losses lists all losses of nodes, zones and groups, and the pairs: with more than MapMost
	// workers only those that are too much. Pairs is the number of pairs that the survey tried,
	// PartialPairs how many of them are Partial.
	Losses       []Loss `json:"losses"`
	Pairs        int    `json:"pairs"`
	PartialPairs int    `json:"partial_pairs"`
	// Down names the nodes that are down already, which the survey does not lose. The forecast
	// of each loss moves their pods as well; DownPending counts those that get no node even without a loss.
	Down        []string    `json:"down,omitempty"`
	DownPending place.Range `json:"down_pending"`
	// Cordoned names the nodes that are cordoned, also those that are down.
	Cordoned []string `json:"cordoned,omitempty"`
	// Unknown lists what the survey could not take into account.
	Unknown []string `json:"unknown,omitempty"`
	// Names are the names of the nodes that the survey loses, for the heat map.
	Names []string `json:"names"`

	planes  []string // the nodes of the control plane
	waiting []string // workloads of pods that wait already
}

// Kinds decide where pods go. Without the first four, the pods and the objects that replace them, a survey knows nothing.
var Kinds = append([]cluster.Kind{cluster.KindPod, cluster.KindDeployment, cluster.KindStatefulSet, cluster.KindDaemonSet, cluster.KindNode, cluster.KindLease}, cluster.PlaceKinds...)

// WhyUnknown returns, in one sentence, why nobody can tell where the pods of a Snapshot go: lightsout has not read one of Kinds
// yet, or may not read one of the first four. It is empty otherwise.
func WhyUnknown(s *cluster.Snapshot) string {
	return cluster.WhyUnknown(s, append(slices.DeleteFunc(slices.Clone(Kinds), func(k cluster.Kind) bool { return !s.Unread(k) }), Kinds[:4]...)...)
}

// Make runs a survey. The error reports that ctx ended, or names a minimum of a workload
// without pods.
func Make(ctx context.Context, s *cluster.Snapshot, q Options) (*Report, error) {
	if err := q.known(s); err != nil {
		return nil, err
	}
	r := &Report{Context: s.Context, At: s.At, Down: forecast.Down(s, q.Off)}
	jobs := r.losses(s, q)
	lone := len(jobs)
	n := len(r.Names)
	if q.Pairs {
		r.Pairs = n * (n - 1) / 2
	}
	var next atomic.Int64
	found := make([]*asker, min(runtime.GOMAXPROCS(0), 8))
	var wg sync.WaitGroup
	for k := range found {
		wg.Go(func() {
			a := newAsker(s, q, r, Remedy{})
			found[k] = a
			for i := int(next.Add(1)) - 1; i < lone+n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if i < lone { // the largest, which are the last, first
					a.ask(&jobs[lone-1-i], 0)
				} else if q.Pairs {
					a.row(r.Names, i-lone)
				}
			}
		})
	}
	wg.Wait()
	r.Losses = jobs
	r.add(found)
	for _, x := range r.answers() {
		found[0].remedies(ctx, x.tooMuch.losses)
	}
	if ctx.Err() != nil {
		return nil, errors.New("the survey was interrupted")
	}
	return r, nil
}

// add adds what the askers found out about pairs and about the cluster as it is.
func (r *Report) add(found []*asker) {
	var pairs []Loss
	for _, a := range found {
		pairs, r.PartialPairs = append(pairs, a.pairs...), r.PartialPairs+a.partials
	}
	slices.SortFunc(pairs, func(a, b Loss) int { return cmp.Compare(a.Name, b.Name) })
	r.Losses = append(r.Losses, pairs...)
	now := found[0].now
	r.Unknown, r.Waiting, r.DownPending = now.Unknown, now.Waiting, now.Homeless()
	r.waiting = text.Each(slices.SortedFunc(maps.Keys(found[0].w.Waiting()), cluster.Key.Compare), cluster.Key.String)
}

// known returns an error that names a workload with a minimum but without pods.
func (q *Options) known(s *cluster.Snapshot) error {
	left := maps.Clone(q.Min)
	for _, p := range s.Pods() {
		delete(left, p.Workload().Key)
	}
	for key := range left {
		return fmt.Errorf("the minimum names %s, which has no pods", key)
	}
	return nil
}

// losses lists the losses of nodes, zones and groups, and names the nodes. A zone or group loses its
// nodes of the control plane as well.
func (r *Report) losses(s *cluster.Snapshot, q Options) (out []Loss) {
	groups := map[[2]string][]string{}
	for _, n := range s.Nodes() {
		if !n.Gone.IsZero() {
			continue
		}
		r.Nodes++
		if n.Unschedulable {
			r.Cordoned = append(r.Cordoned, n.Name)
		}
		if n.ControlPlane {
			r.planes = append(r.planes, n.Name)
		}
		if !n.ControlPlane && !r.isDown(n.Name) {
			r.Names = append(r.Names, n.Name)
			out = append(out, Loss{Sort: Node, Name: n.Name, Nodes: []string{n.Name}})
		}
		if n.Zone != "" {
			k := [2]string{Zone, strings.TrimPrefix(n.Zone, "/")}
			groups[k] = append(groups[k], n.Name)
		}
		labels := place.ParseLabels(n.Labels)
		for _, key := range q.By {
			if v, ok := labels[key]; ok && key != corev1.LabelTopologyZone { // zones are lost anyway
				groups[[2]string{key, v}] = append(groups[[2]string{key, v}], n.Name)
			}
		}
	}
	if len(q.Together) > 0 {
		return []Loss{{Sort: Node, Name: strings.Join(q.Together, " + "), Nodes: q.Together}}
	}
	var more []Loss
	for k, nodes := range groups {
		if slices.ContainsFunc(nodes, func(n string) bool { return !r.isDown(n) }) {
			more = append(more, Loss{Sort: k[0], Name: k[1], Nodes: nodes})
		}
	}
	slices.SortFunc(more, func(a, b Loss) int { return cmp.Or(cmp.Compare(a.Sort, b.Sort), cmp.Compare(a.Name, b.Name)) })
	return append(out, more...)
}

func (r *Report) isDown(node string) bool { return slices.Contains(r.Down, node) }

// out divides the nodes that take no pods into those that are down, down and cordoned, and only cordoned.
func (r *Report) out() [][]string {
	up := func(n string) bool { return !r.isDown(n) }
	down := slices.DeleteFunc(slices.Clone(r.Down), func(n string) bool { return slices.Contains(r.Cordoned, n) })
	return [][]string{down, slices.DeleteFunc(slices.Clone(r.Cordoned), up), slices.DeleteFunc(slices.Clone(r.Cordoned), r.isDown)}
}

// Of returns the losses of one sort; those of the zones also by their label.
func (r *Report) Of(sort string) (out []*Loss) {
	if sort == corev1.LabelTopologyZone {
		sort = Zone
	}
	for i := range r.Losses {
		if r.Losses[i].Sort == sort {
			out = append(out, &r.Losses[i])
		}
	}
	return out
}

// Requirements are the arguments that Unmet accepts.
var Requirements = []string{"n-1", "n-2", "zone"}

// Unmet is the reason in one sentence why the cluster does not meet a requirement: it can't
// spare a node (n-1), a node or a pair (n-2), or a zone, counting the requested minimums, or
// it has none to lose. It is empty if the cluster meets the requirement.
func (r *Report) Unmet(requirement string) string {
	sort, none := Node, "there are no worker nodes to lose"
	switch requirement {
	case "n-2":
		sort, none = Pair, "there are no two worker nodes to lose"
	case "zone":
		sort, none = Zone, "no node has a zone (label "+corev1.LabelTopologyZone+")"
	}
	if sort == Pair && r.Pairs == 0 || sort != Pair && len(r.Of(sort)) == 0 {
		return none
	}
	if not := r.cantSpare(sort, map[string]string{Pair: Node}[sort]); not != "" {
		return "can't spare " + not
	}
	return ""
}

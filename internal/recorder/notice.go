package recorder

import (
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/report"
	"lightsout/internal/text"
	"lightsout/internal/view"
)

// State is the stage of an outage that a notice is about.
type State string

// States of an outage in notices.
const (
	StateBegan   State = "began"
	StateChanged State = "changed" // there are new signs
	StateEnded   State = "ended"
)

// Notice is what hooks receive: the command as JSON on its standard input.
type Notice struct {
	State    State           `json:"state"`
	Sentence string          `json:"sentence"`
	Severity record.Severity `json:"severity"`
	Cluster  string          `json:"cluster"`
	Zero     time.Time       `json:"zero"`
	Ended    time.Time       `json:"ended,omitzero"`
	// Record is the folder of the record; Report the path of its report, once it exists.
	Record string `json:"record"`
	Report string `json:"report,omitempty"`
}

// Health is what a recorder saw and did at a time.
type Health struct {
	At time.Time
	// Connected: the API server answers. Recording: there is an outage. Leads: this recorder reports it.
	Connected, Recording, Leads bool
}

const (
	// noticeEvery is the least time between two notices of an outage, and noticesMost their
	// number.
	noticeEvery = 5 * time.Second
	noticesMost = 20
)

// tidings is what notices of an outage have told: its sentence without pods, how bad it is, and that pods
// lack.
type tidings struct {
	sentence string
	severity record.Severity
	lack     bool
}

// notifySigns sends a notice of the outage, of later signs and of the first pods that lack, if this
// recorder leads.
func (o *incident) notifySigns(s *cluster.Snapshot, now time.Time) {
	severity, _, clients := o.severity()
	pods := report.Lacking(o.r.lacking(s))
	is := tidings{o.soFar(clients, ""), severity, o.tidings.lack || pods != ""}
	if !o.r.lead.leads || is == o.tidings || o.notices >= noticesMost || now.Sub(o.notified) < noticeEvery {
		return
	}
	sentence := o.soFar(clients, pods)
	if err := o.r.rolling.Err(); err != nil {
		sentence += " lightsout cannot write its record: " + oneLine(err) + "."
	}
	state := StateChanged
	if o.notices == 0 {
		state = StateBegan
	}
	o.notices, o.notified, o.tidings, o.found.Severity = o.notices+1, now, is, severity
	o.notify(state, sentence, "")
}

// soFar is report.SoFar, of the newest outage first.
func (o *incident) soFar(clients, pods string) string {
	said := report.SoFar(o.signs[o.newest:], clients, pods)
	if o.newest > 0 {
		said += " This continues the record begun at " + o.zero.UTC().Format(time.TimeOnly) + " UTC: " + report.SoFar(o.signs[:o.newest], "", "")
	}
	return said
}

// lacking are the deployments and StatefulSets that have fewer pods than they should and than they had when
// all was well.
func (r *Recorder) lacking(s *cluster.Snapshot) (lost []report.Workload) {
	if r.calm == nil {
		return nil
	}
	add := func(ref cluster.Ref, had, has, of int) {
		if has < min(had, of) {
			lost = append(lost, report.Workload{Ref: ref, Lowest: has, Of: of})
		}
	}
	for _, d := range s.Deployments() {
		if was := r.calm.Deployment(d.Key); was != nil && d.Gone.IsZero() {
			add(cluster.Ref{Kind: cluster.KindDeployment, Key: d.Key}, was.Available, d.Available, d.Replicas)
		}
	}
	for _, w := range s.Workloads(cluster.KindStatefulSet) {
		ref := cluster.Ref{Kind: w.Kind, Key: w.Key}
		if was := r.calm.Workload(ref); was != nil {
			add(ref, was.Ready, w.Ready, w.Desired)
		}
	}
	return lost
}

// notify reports the outage: the end to hooks too, unless this recorder has told them nothing.
func (o *incident) notify(state State, sentence, path string) {
	n := Notice{State: state, Sentence: sentence, Severity: o.found.Severity, Zero: o.zero, Record: o.dir, Report: path}
	if state == StateEnded {
		n.Ended = o.r.opt.Now()
	}
	o.r.report(n, o.notices > 0)
}

// report prints a notice, and gives it to the hooks.
func (r *Recorder) report(n Notice, hooks bool) {
	r.opt.Print(n.Sentence)
	n.Cluster = r.opt.Cluster
	if hooks && r.opt.Notify != nil {
		r.opt.Notify(n)
	}
}

// signEvent is a sign on the timeline.
func signEvent(x record.Sign) view.Event {
	e := view.NewEvent(view.CodeOutageSign, x.Kind.Named(x.Subject), view.Facts{Sign: x.Kind, Action: x.Action})
	e.At, e.Seen = x.At, x.Noticed
	if x.Kind.OfNode() {
		e.Kind = string(cluster.KindNode)
	}
	return e
}

// oneLine is the text of an error in a sentence.
func oneLine(err error) string { return text.Clean(strings.ReplaceAll(err.Error(), "\n", "; "), 300) }

const (
	// unledAfter is how long a recorder must see no change of the Lease until it reports
	// outages without holding it: the leader may be gone together with the API server.
	unledAfter = time.Minute
	// standbyWaits is how much longer a recorder that reports nothing goes on with a record.
	// It takes over from a leader that ended within less, and then reports the end.
	standbyWaits = 30 * time.Second
)

// lead is whether this recorder reports outages, and when it saw the Lease change last.
type lead struct {
	leads   bool
	changed time.Time
}

// takeLead finds whether this recorder reports outages: without a Lease, if it was the holder
// when it saw the Lease last, or if it has not seen the Lease change for unledAfter.
func (r *Recorder) takeLead(now time.Time) {
	if r.opt.Lease == nil {
		r.lead.leads = true
		return
	}
	l := r.opt.Lease()
	r.lead.changed = slices.MaxFunc([]time.Time{r.lead.changed, l.Renewed}, time.Time.Compare)
	unled := now.Sub(r.lead.changed) >= unledAfter
	r.lead.leads = l.Mine || unled
	f := view.Facts{Name: l.Holder}
	switch {
	case l.Mine:
		f.Reported = "it holds the lease"
	case unled:
		f.Reported = "nobody seems to renew the lease"
	case l.Holder == "":
		return
	}
	e := view.NewEvent(view.CodeLeads, "recorder", f)
	role := e.Sentence()
	if l.Err != "" {
		role += "; " + l.Err
	}
	if r.said.news("role", role) {
		r.s.Say(e)
		r.opt.Print("this recorder " + role)
	}
}

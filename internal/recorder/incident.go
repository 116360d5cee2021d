package recorder

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/internal/record"
	"lightsout/internal/report"
	"lightsout/internal/trial/phase"
	"lightsout/internal/view"
	"lightsout/power"
)

// unchangedMost bounds a record whose alerts go on: it ends when none fired or resolved for this
// many times Options.Steady.
const unchangedMost = 12

// incident is the outage that is being recorded. Its zero is the time of its first sign.
type incident struct {
	r       *Recorder
	dir     string
	zero    time.Time
	tracker *phase.Tracker
	focus   cluster.Key
	down    map[string]bool // the nodes of the outage that are down
	nodes   map[string]bool // all of them
	// sum is what is known for the summary, and found for its part on an outage without a trial.
	sum   record.Summary
	found record.Unplanned
	// open are the requests of each run that were in flight when the record ended.
	open map[int]int
	// notices are how many there were, notified and inNotice when the newest was and its signs.
	notices  int
	notified time.Time
	inNotice int
}

// newIncident makes the incident whose record begins in dir, with the requests that have ended.
func newIncident(r *Recorder, dir string, s *cluster.Snapshot, zero time.Time, past record.Past) *incident {
	o := &incident{
		r: r, dir: dir, zero: zero, focus: r.s.Focus(), down: map[string]bool{}, nodes: map[string]bool{},
	}
	o.sum = record.Summary{
		Version: record.SummaryVersion, Name: "outage", Pace: cmp.Or(r.opt.Pace, "real"), Cluster: r.opt.Cluster, Server: s.ServerVersion,
		Deployment: o.focus.String(), Started: r.opt.Now(), Zero: zero,
	}
	o.sum.Settings = forecast.Settings(cmp.Or(r.calm, s), o.focus)
	o.tracker = phase.NewTracker(o.focus)
	before := r.calm
	if before == nil { // nobody knows how things were before
		before = cluster.NewSnapshot(cluster.Contents{})
	}
	o.tracker.Observe(before, o.sum.Started)
	o.tracker.Zero(zero, before)
	if r.opt.Load != nil {
		o.tracker.FailsWithin(r.opt.Load.FailsWithin(r.opt.Load.Run().Spec))
	}
	if !past.From.IsZero() {
		o.found.RequestsFrom = &past.From
		o.unseen(fmt.Sprintf("the recorder had forgotten the requests that ended before %s UTC: they are neither counted nor in requests.jsonl", past.From.UTC().Format("15:04:05")))
	}
	past.Each(o.tracker.Request)
	r.opt.Print("an outage began; its record is " + dir)
	return o
}

// unseen adds a sentence to those on things that the recorder did not see.
func (o *incident) unseen(sentence string) { o.found.Unseen = append(o.found.Unseen, sentence) }

// follow takes a snapshot with its new signs. It ends the record when the deployment is whole, no
// alert shows and none fired or resolved for a while; see steady, unchangedMost and standbyWaits.
func (o *incident) follow(s *cluster.Snapshot, news []record.Sign, now time.Time) {
	r := o.r
	before := len(o.nodes)
	for _, x := range news {
		o.sign(x)
	}
	if len(o.nodes) > before {
		o.sum.Forecast = r.s.Outlook(slices.Sorted(maps.Keys(o.down)))
	}
	o.findReturned(s, now)
	o.tracker.Observe(s, now)
	if s.Link.State == cluster.LinkLive {
		if n := forecast.Unscheduled(s); len(o.down) > 0 {
			o.sum.Pending = &n
		}
	}
	o.notifySigns(now)
	quiet := now.Sub(r.alerts.changed)
	if !r.leads {
		quiet -= standbyWaits
	}
	over := quiet >= o.steady() && !r.alerts.showing && o.whole(s)
	if over || quiet >= unchangedMost*r.opt.Steady {
		o.finish(now)
	}
}

// sign records a sign. The zero is already set: see Recorder.begin.
func (o *incident) sign(x record.Sign) {
	o.found.Signs = append(o.found.Signs, x)
	if x.Kind.OfNode() {
		o.nodeDown(x.Subject, cmp.Or(o.r.switched[x.Subject].how, power.ActionOff), x.At)
	}
	o.r.s.Say(signEvent(x))
}

// nodeDown adds a node that went down, or whose machine was switched off, at that time.
func (o *incident) nodeDown(node string, how power.Action, at time.Time) {
	o.down[node], o.nodes[node] = true, true
	o.tracker.Switched(node, how, at)
	o.tracker.Power(node, o.r.s.Machine(node).Reading) // it may have been read before the record began
	o.r.s.WantKubelets(node)
}

// ownSteady bounds Options.Steady for the operator's own outage: nodes that are switched on again
// are back, and do not come and go.
const ownSteady = 30 * time.Second

// steady is for how long no alert must show until the outage is over.
func (o *incident) steady() time.Duration {
	if o.found.Signs[0].Kind == view.SignSwitchedOff {
		return min(ownSteady, o.r.opt.Steady)
	}
	return o.r.opt.Steady
}

// whole reports whether all pods of the deployment are available.
func (o *incident) whole(s *cluster.Snapshot) bool {
	d := s.Deployment(o.focus)
	return d == nil || d.Available >= d.Replicas
}

// findReturned finds the nodes of the outage that are back. One that was deleted is not.
func (o *incident) findReturned(s *cluster.Snapshot, now time.Time) {
	if s.Link.State != cluster.LinkLive {
		return
	}
	for name := range o.down {
		if n := s.Node(name); n != nil && n.Gone.IsZero() && !o.r.alerts.down(name) {
			delete(o.down, name)
			o.tracker.Switched(name, power.ActionOn, now)
		}
	}
}

// finish ends the record, and writes its summary and reports. The alerts that still fire, and
// requests that were in flight until now, begin no other record.
func (o *incident) finish(now time.Time) {
	r := o.r
	r.muted = append(r.muted, mute{signs: []view.Sign{view.SignRequests}, from: o.zero, to: now})
	r.accept()
	down := r.alerts.tell(func(a *alert) bool { return a.state == firing })
	r.s.Say(view.NewEvent(view.CodeOutageOver, "outage", view.Facts{Seconds: now.Sub(r.alerts.changed).Seconds(), Nodes: down}))
	r.rolling.Offer(r.s.Publish())
	failed := r.rest(now)
	r.incident = nil
	sum := o.summary(now, down)
	for _, err := range []error{failed, sum.Write(o.dir, r.opt.Names)} {
		if err != nil {
			r.opt.Print(fmt.Sprintf("the record %s is not complete: %v", o.dir, err))
		}
	}
	r.unlock()
	severity := sum.Unplanned.Severity
	var sentence string
	r.s.Async(report.Within, func(context.Context) (err error) {
		sentence, err = report.Write(o.dir)
		return err
	}, func(err error) {
		if err != nil {
			r.opt.Print("the reports can't be written: " + err.Error())
			o.notify(StateEnded, "The outage is over. lightsout cannot write its reports: "+oneLine(err)+".", severity, "")
			return
		}
		path := filepath.Join(o.dir, record.HTMLFile)
		o.notify(StateEnded, sentence, severity, path)
		r.opt.Print("the report is " + path)
	})
}

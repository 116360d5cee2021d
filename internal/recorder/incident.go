package recorder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/internal/outage"
	"lightsout/internal/record"
	"lightsout/internal/report"
	"lightsout/internal/text"
	"lightsout/internal/trial/phase"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// unchangedMost bounds a record whose alerts go on: it ends when none fired or resolved for this
// many times Options.Steady.
const unchangedMost = 12

// operatorSteady bounds Options.Steady for an outage that the operator caused: nodes that are switched on
// again do not come and go.
const operatorSteady = 30 * time.Second

// incident is the outage that is being recorded.
type incident struct {
	r       *Recorder
	dir     string
	unlock  func() // opt.Dir
	first   rule   // of the alert that began it
	zero    time.Time
	tracker *phase.Tracker
	focus   cluster.Key
	// nodes are those of the outage; each has the name of its machine if the operator switched that off.
	nodes map[string]string
	// sum is what is known for the summary, and found for its part on an outage without a trial.
	sum   record.Summary
	found record.Unplanned
	signs []view.Event // on the timeline
	// newest counts the signs before the newest outage in the record: when it began, none of theirs showed any more.
	newest int
	// open are the requests of each run that were in flight when the record ended, if some had been for so long that
	// they may hang.
	open map[int]int
	// notices are how many there were, notified when the newest was, and tidings what they told.
	notices  int
	notified time.Time
	tidings  tidings
}

// Topics of what is printed once: an outage that can't be recorded, one that is over for now.
const unrecorded, recovered = "unrecorded", "recovered"

// begin begins the record of an outage. If it can't, it reports that once, and the next look tries
// again.
func (r *Recorder) begin(s *cluster.Snapshot, due []*alert) {
	o, past, err := r.open(due[0])
	switch {
	case err == nil:
		r.newest, r.incident = o.dir, o
		o.begin(s, past)
	case !r.said.news(unrecorded, "once"):
	case errors.Is(err, errTaken):
		r.opt.Print("another lightsout records this outage, in " + r.opt.Dir)
	default:
		signs := text.Each(due, func(a *alert) view.Event { return signEvent(a.Sign) })
		sentence := report.SoFar(signs, "", "") + " lightsout cannot record it: " + oneLine(err) + "."
		r.report(Notice{State: StateBegan, Severity: record.SeverityUnknown, Zero: due[0].At, Sentence: sentence}, r.lead.leads)
	}
}

// open makes the folder of a record, with the past.
func (r *Recorder) open(first *alert) (o *incident, past record.Past, err error) {
	o = &incident{r: r, first: rules[first.kind], zero: first.At, focus: r.s.Focus(), nodes: map[string]string{}}
	o.unlock, err = r.lock(o.first.cause)
	if err != nil {
		return o, past, err
	}
	r.trim()
	o.dir, err = record.NewSessionDir(r.opt.Dir, o.zero)
	if err == nil {
		r.follow(r.ended.Change(func() func(loadgen.Record) {
			err = r.rolling.Spill(o.dir, o.zero)
			past = r.rolling.Past(o.zero)
			return r.rolling.Request
		}))
		if err == nil {
			return o, past, nil
		}
		_ = os.RemoveAll(o.dir) // the next look makes another
	}
	o.unlock()
	return o, past, err
}

// begin begins to follow the outage, with the requests that have ended since its zero.
func (o *incident) begin(s *cluster.Snapshot, past record.Past) {
	r := o.r
	o.sum = record.Summary{
		Version: record.SummaryVersion, Name: "outage", Pace: cmp.Or(r.opt.Pace, "real"), Cluster: r.opt.Cluster, Server: s.ServerVersion,
		Deployment: o.focus.String(), Started: r.opt.Now(), Zero: o.zero, Settings: forecast.Settings(cmp.Or(r.calm, s), o.focus),
	}
	before := cmp.Or(r.calm, cluster.NewSnapshot(cluster.Contents{})) // perhaps nobody knows how things were
	o.tracker = phase.NewTracker(o.focus)
	o.tracker.Observe(before, o.sum.Started)
	o.tracker.Zero(o.zero, before)
	if r.opt.Load != nil {
		o.tracker.FailsWithin(r.opt.Load.FailsWithin(r.opt.Load.Run().Spec))
	}
	if !past.From.IsZero() {
		o.found.RequestsFrom = &past.From
		o.unseen(fmt.Sprintf("the recorder had forgotten the requests that ended before %s UTC: they are neither counted nor in requests.jsonl", past.From.UTC().Format("15:04:05")))
	}
	past.Each(o.tracker.Request)
	r.opt.Print("an outage began; its record is " + o.dir)
}

// unseen adds a sentence to those on things that the recorder did not see.
func (o *incident) unseen(sentence string) { o.found.Unseen = append(o.found.Unseen, sentence) }

// follow takes a snapshot with the alerts that fire. It ends the record when the deployment is whole, no
// alert shows and none fired or resolved for a while; see operatorSteady, unchangedMost and standbyWaits.
func (o *incident) follow(s *cluster.Snapshot, due []*alert, now time.Time) {
	r := o.r
	before := len(o.nodes)
	if len(due) > 0 && !r.alerts.has(func(x *alert) bool { return x.stage == firing }) {
		o.newest = len(o.signs)
	}
	for _, x := range due {
		x.stage, x.Noticed, r.alerts.changed = firing, now, now
		o.found.Signs = append(o.found.Signs, x.Sign)
		o.signs = append(o.signs, signEvent(x.Sign))
		if x.Kind.OfNode() {
			off, own := r.switched[x.Subject]
			o.nodes[x.Subject] = cmp.Or(map[bool]string{true: r.s.Machine(x.Subject).Machine}[own], o.nodes[x.Subject])
			o.tracker.Switched(x.Subject, cmp.Or(off.Action, power.ActionOff), x.At)
			o.tracker.Power(x.Subject, r.s.Machine(x.Subject).Reading) // it may have been read before the record began
			r.s.WantKubelets(x.Subject)
		}
		r.s.Say(signEvent(x.Sign))
	}
	down := o.down(s)
	if len(o.nodes) > before {
		o.sum.Forecast = r.s.Outlook(down)
	}
	for node := range o.nodes {
		if !slices.Contains(down, node) {
			o.tracker.Switched(node, power.ActionOn, now)
		}
	}
	if len(down) > 0 { // until all are back
		o.sum.Pending = new(forecast.Unscheduled(s))
	}
	o.tracker.Observe(s, now)
	o.notifySigns(s, now)
	if r.alerts.alarm() || len(r.lacking(s)) > 0 {
		delete(r.said, recovered)
	} else if r.said.news(recovered, "once") {
		r.printUnseen("no sign of the outage shows any more, and all pods are available; the record ends when that has been so for " + text.Span(o.steady()))
	}
	quiet := now.Sub(r.alerts.changed)
	if !r.lead.leads {
		quiet -= standbyWaits
	}
	d := s.Deployment(o.focus)
	over := quiet >= o.steady() && !r.alerts.alarm() && (d == nil || d.Available >= d.Replicas)
	if over || quiet >= unchangedMost*r.opt.Steady {
		o.finish(now, quiet)
	}
}

// steady is for how long no alert may fire or resolve before the record ends.
func (o *incident) steady() time.Duration {
	if o.first.cause == outage.Operator {
		return min(o.r.opt.Steady, operatorSteady)
	}
	return o.r.opt.Steady
}

// down names the nodes of the outage that are not back: an alert says that one is down, or it was deleted.
func (o *incident) down(s *cluster.Snapshot) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(o.nodes)), func(node string) bool {
		n := s.Node(node)
		return n != nil && n.Gone.IsZero() && !o.r.alerts.down(node)
	})
}

// finish ends the record, and writes its summary and reports. The alerts that still fire, and
// requests that were in flight until now, begin no other record. Nothing was new for so long; 0: it is cut short.
func (o *incident) finish(now time.Time, quiet time.Duration) {
	r := o.r
	r.muted = append(r.muted, mute{why: duringRecord, from: o.zero, to: now, stage: muted})
	down := r.alerts.leave(func(a *alert) bool { return a.stage == firing })
	r.s.Say(view.NewEvent(view.CodeOutageOver, "outage", view.Facts{Seconds: quiet.Seconds(), Nodes: down}))
	r.rolling.Offer(r.s.Publish())
	var failed error
	r.follow(r.ended.Change(func() func(loadgen.Record) { // those that end later are in flight
		failed = r.rolling.Rest()
		if o.waiting() { // else those in flight are of the time after the record
			o.open = record.InFlight(r.opt.Load, maps.Keys(r.loads))
		}
		return r.rolling.Request
	}))
	r.incident = nil
	o.summarize(now)
	if err := errors.Join(failed, o.sum.Write(o.dir, r.opt.Names)); err != nil {
		r.opt.Print(fmt.Sprintf("the record %s is not complete: %s", o.dir, oneLine(err)))
	}
	o.unlock()
	var sentence string
	r.s.Async(report.Within, func(context.Context) (err error) {
		sentence, err = report.Write(o.dir)
		return err
	}, func(err error) {
		defer r.trim()
		if err != nil {
			o.notify(StateEnded, "The outage is over. lightsout cannot write its reports: "+oneLine(err)+".", "")
			return
		}
		path := filepath.Join(o.dir, record.HTMLFile)
		o.notify(StateEnded, sentence, path)
		r.opt.Print("the report is " + path)
	})
}

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
	"lightsout/loadgen"
	"lightsout/power"
)

const (
	// unchangedMost bounds a record whose signs still show: it ends when none came or went
	// for this many times Options.Steady.
	unchangedMost = 12
	// noticeEvery is the least time between two notices of an outage, and noticesMost their
	// number.
	noticeEvery = 5 * time.Second
	noticesMost = 20
)

// outage is the outage that is being recorded.
type outage struct {
	r        *Recorder
	dir      string
	unlock   func()
	zero     time.Time
	began    time.Time
	tracker  *phase.Tracker
	focus    cluster.Key
	signs    []record.Sign
	down     map[string]bool // the nodes of the outage that are down
	nodes    map[string]bool // all of them
	settings []record.Setting
	server   string
	forecast []string
	lowest   *int
	pending  *int
	// loads are the requests from zero on by the generator's numbers. inRow are the failures in
	// a row, in the order in which they ended; mostInRow are the most of them, in that order or in
	// the one in which they were sent, which Recorder.row has.
	loads            map[int]*load
	inRow, mostInRow int
	// open are the requests of each run that were in flight when the record ended.
	open map[int]int
	// from is from when on the record has all requests, if that is after zero.
	from *time.Time
	// final is the severity in the summary; empty until the record ends.
	final record.Severity
	// slowest is the longest time that a request took that was ok.
	slowest time.Duration
	missed  []string // a sentence for each thing that the recorder did not see
	// Notices so far, the time of the newest, the signs and the severity in it, and the
	// sentence and the severity that hooks received last.
	notices                int
	notified               time.Time
	inNotice               int
	reported, lastSeverity record.Severity
	lastNotice             string
	// noticing: a notice is being written. over: the record has ended.
	noticing, over bool
	// withheld: another recorder was to report the beginning.
	withheld bool
}

// newOutage makes the outage whose record begins in dir, with the requests that have ended.
func newOutage(r *Recorder, dir string, s *cluster.Snapshot, zero time.Time, past record.Past) *outage {
	o := &outage{
		r: r, dir: dir, zero: zero, began: r.opt.Now(), focus: r.s.Focus(), down: map[string]bool{}, nodes: map[string]bool{},
		server: s.ServerVersion, loads: map[int]*load{},
	}
	before := r.calm
	if before == nil {
		before = s
	}
	o.settings = forecast.Settings(before, o.focus)
	o.tracker = phase.NewTracker(o.focus)
	o.tracker.Observe(before, o.began)
	o.tracker.Zero(zero, before)
	for _, pause := range r.pauses {
		if pause.To.After(zero) {
			o.tracker.StoodStill(pause)
		}
	}
	if r.opt.Load != nil {
		o.tracker.FailsWithin(r.opt.Load.FailsWithin(r.opt.Load.Run().Spec))
	}
	if o.late() {
		o.unseen(fmt.Sprintf("the recorder started at %s UTC, after the outage began; it did not see what happened before", r.began.UTC().Format("15:04:05")))
	}
	if !past.From.IsZero() {
		o.from = &past.From
		o.unseen(fmt.Sprintf("the recorder had forgotten the requests that ended before %s UTC: they are neither counted nor in requests.jsonl, and only the severity takes them into account", past.From.UTC().Format("15:04:05")))
	}
	for _, t := range r.replicas {
		if t.Subject.Key == o.focus && !t.Seen.Before(zero) {
			o.available(t.Available)
		}
	}
	r.replicas = nil
	past.Each(o.request)
	r.opt.Print("an outage began; its record is " + dir)
	return o
}

// lateFrom is how long after the zero a recorder may begin and still have seen all: the
// zero is the last good heartbeat or answer, and what failed, failed later.
const lateFrom = 2 * time.Second

// late reports whether the recorder began after the outage.
func (o *outage) late() bool { return o.r.began.Sub(o.zero) > lateFrom }

// load is a run of the generator during an outage.
type load struct {
	totals   loadgen.Totals
	from, to time.Time
}

// unseen adds a sentence to those on things that the recorder did not see.
func (o *outage) unseen(sentence string) { o.missed = append(o.missed, sentence) }

// request counts the end of a request.
func (o *outage) request(q loadgen.Record) {
	o.tracker.Request(q)
	l := o.loads[q.Run]
	if l == nil {
		l = &load{from: q.Scheduled}
		o.loads[q.Run] = l
	}
	l.totals.Count(q)
	l.to = q.End
	switch {
	case q.Class.Failed():
		o.inRow++
		o.mostInRow = max(o.mostInRow, o.inRow)
	case q.Class == loadgen.ClassOK:
		o.inRow = 0
		o.slowest = max(o.slowest, q.End.Sub(q.CountedAt()))
	}
}

// follow takes a snapshot with its new signs. It ends the record when no sign shows and
// none came or went for Options.Steady, once the newest notice is written; see also
// unchangedMost and standbyWaits.
func (o *outage) follow(s *cluster.Snapshot, news []record.Sign, now time.Time) {
	r := o.r
	before := len(o.nodes)
	for _, x := range news {
		o.sign(s, x)
	}
	if len(o.nodes) > before {
		o.forecast = r.s.Outlook(slices.Sorted(maps.Keys(o.down)))
	}
	o.findReturned(s, now)
	o.tracker.Observe(s, now)
	if s.Link.State == cluster.LinkLive {
		if d := s.Deployment(o.focus); d != nil {
			o.available(d.Available)
		}
		if n := forecast.Unscheduled(s); len(o.down) > 0 {
			o.pending = &n
		}
	}
	if o.mostInRow < downLeast {
		inFlight := o.secondsInFlight()
		r.requests(now)
		o.countRow(inFlight)
	}
	o.notifySigns(now)
	quiet := now.Sub(r.signs.changed)
	if !r.leads {
		quiet -= standbyWaits
	}
	if !o.noticing && quiet >= r.opt.Steady && (!r.signs.showing() || quiet >= unchangedMost*r.opt.Steady) {
		o.finish(now)
	}
}

// available counts that so many pods of the deployment were available. The watch delivers
// several changes at once after a lost link, and only the transitions have each of them.
func (o *outage) available(n int) {
	if o.lowest == nil || n < *o.lowest {
		o.lowest = &n
	}
}

// sign records a sign. The zero is already set: see Recorder.begin.
func (o *outage) sign(s *cluster.Snapshot, x record.Sign) {
	o.signs = append(o.signs, x)
	if x.Kind.OfNode() {
		o.down[x.Subject], o.nodes[x.Subject] = true, true
		o.tracker.Switched(x.Subject, power.ActionOff, x.At)
		o.r.s.WantKubelets(x.Subject)
	}
	o.r.s.Say(signEvent(x))
}

// signEvent is a sign on the timeline.
func signEvent(x record.Sign) view.Event {
	e := view.NewEvent(view.CodeOutageSign, cmp.Or(x.Subject, view.SignSubjects[x.Kind]), view.Facts{Sign: x.Kind})
	e.At, e.Seen = x.At, x.Noticed
	if x.Kind.OfNode() {
		e.Kind = string(cluster.KindNode)
	}
	return e
}

// sentenceOf describes signs that no record contains.
func sentenceOf(signs []record.Sign, failed bool) string {
	r := &record.Record{}
	for _, x := range signs {
		r.Events = append(r.Events, signEvent(x))
	}
	return report.SoFar(r, failed)
}

// findReturned finds the nodes of the outage that are back. One that was deleted is not.
func (o *outage) findReturned(s *cluster.Snapshot, now time.Time) {
	if s.Link.State != cluster.LinkLive {
		return
	}
	for name := range o.down {
		if n := s.Node(name); n != nil && n.Gone.IsZero() && !o.r.signs.nodeDown(name) {
			delete(o.down, name)
			o.tracker.Switched(name, power.ActionOn, now)
		}
	}
}

// notifySigns sends a notice of the outage, and of later signs, if this recorder leads.
func (o *outage) notifySigns(now time.Time) {
	if !o.r.leads {
		o.withheld = true
		return
	}
	if o.noticing || o.inNotice == len(o.signs) && o.reported == o.severity() || o.notices >= noticesMost || o.notices > 0 && now.Sub(o.notified) < noticeEvery {
		return
	}
	state := StateChanged
	switch {
	case o.notices == 0 && o.withheld:
		state = StateTakeover
	case o.notices == 0:
		state = StateBegan
	}
	o.notices, o.notified, o.inNotice, o.reported = o.notices+1, now, len(o.signs), o.severity()
	o.noticing = true
	var rec *record.Record
	o.r.s.Async(report.Within, func(context.Context) (err error) {
		rec, err = record.Open(o.dir)
		return err
	}, func(err error) {
		o.noticing = false
		if o.over {
			return // hooks have the end of the outage, or will: nothing may follow it
		}
		var sentence string
		if err == nil && len(report.SignsIn(rec)) > 0 {
			sentence = report.SoFar(rec, o.failed() > 0)
		} else { // it cannot be written, or not be read
			sentence = sentenceOf(o.signs, o.failed() > 0)
		}
		if err := o.r.rolling.Err(); err != nil {
			sentence += " lightsout cannot write its record: " + oneLine(err) + "."
		}
		o.reported = o.severity()
		if sentence == o.lastNotice && o.reported == o.lastSeverity {
			return
		}
		o.lastNotice, o.lastSeverity = sentence, o.reported
		if state == StateTakeover {
			sentence += " This recorder took over: another one may have reported the outage before."
		}
		o.notify(state, sentence, "")
	})
}

// notify prints a sentence and gives it to the hooks: the end too, unless this recorder
// has reported nothing.
func (o *outage) notify(state State, sentence string, path string) {
	o.r.opt.Print(sentence)
	if o.r.opt.Notify != nil && o.notices > 0 {
		n := Notice{State: state, Sentence: sentence, Severity: o.severity(), Cluster: o.r.opt.Cluster, Zero: o.zero, Record: o.dir, Report: path}
		if state == StateEnded {
			n.Ended = o.r.opt.Now()
		}
		o.r.opt.Notify(n)
	}
}

// inFlight returns the requests of each run that have not ended. One that is just being
// recorded may count.
func (o *outage) inFlight() map[int]int {
	open := map[int]int{}
	if o.r.opt.Load == nil {
		return open
	}
	for run := range o.r.specs {
		if n := o.r.opt.Load.RunTotals(run).InFlight(); n > 0 {
			open[run] = n
		}
	}
	return open
}

// finish ends the record, and writes its summary and reports.
func (o *outage) finish(now time.Time) {
	r := o.r
	o.over = true
	down := r.signs.settle(&r.probes, now)
	r.s.Say(view.NewEvent(view.CodeOutageOver, "outage", view.Facts{Seconds: now.Sub(r.signs.changed).Seconds(), Nodes: down}))
	r.rolling.Offer(r.s.Publish())
	inFlight := o.secondsInFlight()
	failed := r.rest(now)
	r.outage = nil
	o.countRow(inFlight)
	sum := o.summary(now, down)
	o.final = sum.Unplanned.Severity
	for _, err := range []error{failed, sum.Write(o.dir, r.opt.Names)} {
		if err != nil {
			r.opt.Print(fmt.Sprintf("the record %s is not complete: %v", o.dir, err))
		}
	}
	writes(r.opt.Dir, "")
	var sentence string
	r.s.Async(report.Within, func(context.Context) (err error) {
		defer o.unlock()
		sentence, err = report.Write(o.dir)
		return err
	}, func(err error) {
		if err != nil {
			r.opt.Print("the reports can't be written: " + err.Error())
			o.notify(StateEnded, "The outage is over. lightsout cannot write its reports: "+oneLine(err)+".", "")
			return
		}
		path := filepath.Join(o.dir, record.HTMLFile)
		o.notify(StateEnded, sentence, path)
		r.opt.Print("the report is " + path)
	})
}

// sumLoads adds the requests of each run that have ended since the zero, and those in flight.
func (o *outage) sumLoads(sum *record.Summary) {
	for run := range o.open {
		if o.loads[run] == nil {
			o.loads[run] = &load{from: o.zero, to: sum.Ended}
		}
	}
	for _, run := range slices.Sorted(maps.Keys(o.loads)) {
		l := o.loads[run]
		from, to := l.from.Sub(o.zero).Seconds(), l.to.Sub(o.zero).Seconds()
		counts := l.totals.Counts()
		counts.Scheduled, counts.InFlight = counts.Scheduled+o.open[run], o.open[run]
		sum.Load = append(sum.Load, record.Load{
			Step: o.r.specs[run].Text(), Run: run, Sent: counts.Scheduled - counts.Unsent, Counts: counts,
			Failures: record.FailuresOf(o.tracker.Window(run), o.zero), Started: &from, Ended: &to,
		})
		sum.Ledger.Add(counts)
	}
}

// summary sums the outage up.
func (o *outage) summary(now time.Time, down []string) *record.Summary {
	r := o.r
	sum := &record.Summary{
		Version: record.SummaryVersion, Name: "outage", Pace: cmp.Or(r.opt.Pace, "real"), Cluster: r.opt.Cluster, Server: o.server, Deployment: o.focus.String(),
		Started: o.began, Zero: o.zero, Ended: now, Settings: o.settings, Outages: o.tracker.Outages(), Forecast: o.forecast,
		LowestAvailable: o.lowest, Pending: o.pending,
		Unplanned: &record.Unplanned{Severity: o.severity(), Signs: o.signs, Unseen: o.missed, RequestsFrom: o.from},
	}
	for _, p := range o.tracker.Table() {
		if p.Observed != nil && o.late() && *p.Observed <= r.began.Sub(o.zero).Seconds() {
			if p.Predicted == nil && p.Name == view.PhaseReplaced {
				continue // a report would conclude that it never came
			}
			p.Observed, p.From, p.Inside, p.Note = nil, nil, nil, "before the recorder began"
			p.HiddenFrom = nil
		}
		// Nobody switched a machine, and a node may come back without a boot.
		if p.Name != view.PhaseOff && (p.Name != view.PhaseBooted || p.Observed != nil) {
			sum.Phases = append(sum.Phases, p)
		}
	}
	r.clock.End(r.opt.Now)
	sum.ClockSet = r.clock.Since(o.zero).Seconds()
	o.sumLoads(sum)
	sum.Ledger.Balanced = sum.Ledger.Adds()
	if o.late() {
		sum.Blind = append(sum.Blind, record.Blind{To: r.began.Sub(o.zero).Seconds(), Why: "the recorder had not begun", StoodStill: true})
	}
	for _, b := range o.tracker.Blind() {
		if b.To.IsZero() {
			b.To = now
		}
		sum.Blind = append(sum.Blind, record.Blind{From: b.From.Sub(o.zero).Seconds(), To: b.To.Sub(o.zero).Seconds(), Why: b.Why, StoodStill: b.StoodStill})
	}
	planned := r.signs.wentByPlan(o.zero)
	for _, name := range slices.Sorted(maps.Keys(planned)) {
		sum.Unplanned.Planned = append(sum.Unplanned.Planned, name+", by "+planned[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.signs.booted)) {
		if _, is := planned[name]; !is && !o.nodes[name] && !r.signs.booted[name].Before(o.zero) {
			o.unseen(name + " booted, and the recorder did not see it go down")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.down)) {
		why := " was still down when the record ended"
		if !slices.Contains(down, name) {
			why = " was deleted"
		}
		o.unseen(name + why + ": its return is not in this record")
	}
	sum.Unplanned.Unseen = o.missed
	return sum
}

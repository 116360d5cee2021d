package recorder

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/clock"
	"lightsout/internal/record"
	"lightsout/internal/session"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// Recorder notices and records outages, as the guest of a session: see session.Guest.
type Recorder struct {
	opt     Options
	s       Session
	rolling *record.Rolling
	ended   record.Ended // all requests
	health  record.Health
	// clock notices when the wall clock is set.
	clock clock.Steps
	loads map[int]session.LoadStarted // by the generator's numbers

	alerts   alerts
	requests requests
	// muted are the mutes of cordons and of records that have ended; see mutesNow.
	muted mutes
	// switched are the nodes whose machines the operator of the screen has had asked to go off, with the request.
	switched map[string]power.Progress
	incident *incident // nil: there is none
	newest   string    // the folder of the newest record
	// calm is the newest snapshot without an alert that may fire: how things were before an outage;
	// usual the newest one without any alert.
	calm, usual *cluster.Snapshot
	looked      time.Time // for alerts
	running     time.Time // when observe began last
	trimmed     time.Time
	lead        lead
	said        said
}

// said is what the recorder printed last on some topics.
type said map[string]string

// news reports whether a line is new on a topic.
func (s said) news(topic, line string) bool {
	was := s[topic]
	s[topic] = line
	return line != was
}

// New makes a Recorder for a session.
func New(s Session, opt Options) *Recorder {
	r := &Recorder{
		opt: opt, s: s, rolling: record.NewRolling(opt.Timeline, opt.PastBytes, opt.Past, opt.Now), loads: map[int]session.LoadStarted{},
		alerts:   alerts{open: map[key]*alert{}, resolved: map[kind]time.Time{}},
		requests: requests{every: opt.Every}, switched: map[string]power.Progress{}, lead: lead{changed: opt.Now()}, said: said{},
	}
	r.rolling.Redact(opt.Names)
	r.ended.Change(func() func(loadgen.Record) { return r.rolling.Request })
	return r
}

// printUnseen shows the operator a line, unless a screen shows the same.
func (r *Recorder) printUnseen(line string) {
	if r.opt.Trial == nil {
		r.opt.Print(line)
	}
}

// trialRuns reports whether a trial keeps the record now.
func (r *Recorder) trialRuns() bool { return r.opt.Trial != nil && r.opt.Trial() }

// Record keeps a request that has ended. It is safe for concurrent use.
func (r *Recorder) Record(q loadgen.Record) bool {
	r.ended.Record(q)
	return false // observe takes it: thousands a second must not each take a turn
}

// Handle handles what happens in the session.
func (r *Recorder) Handle(e session.Event) {
	o := r.incident
	switch e := e.(type) {
	case *cluster.Snapshot:
		r.observe(e)
	case session.PlannedOff:
		r.printUnseen(fmt.Sprintf("%s was switched off as planned, by %s: failures of the service that begin within %s, or within %s of its return, begin no record",
			e.Node, e.By, text.Span(plannedSettles), text.Span(plannedReturn)))
	case power.Progress:
		if e.Action != power.ActionOn {
			r.switched[e.Node] = e
		} else if o != nil {
			o.tracker.Switched(e.Node, power.ActionOn, e.At)
		}
	case session.Reading:
		if o != nil {
			o.tracker.Power(e.Node, e.Reading)
		}
	case cluster.Transition:
		if e.Change == cluster.ChangeCordon { // or uncordoned
			r.muted = append(r.muted, mute{why: cordoned, from: e.When.By, to: e.When.By.Add(cordonCalm), stage: muted})
		}
	case session.LoadStarted:
		r.loads[e.Number] = e
		if o != nil {
			o.tracker.FailsWithin(r.opt.Load.FailsWithin(e.Spec))
		}
	}
}

// lookEvery is the least time between two searches for signs, which cost more in a larger
// cluster.
const lookEvery = time.Second / 2

// observe searches a new snapshot for signs, also once a second.
func (r *Recorder) observe(s *cluster.Snapshot) {
	now := r.opt.Now()
	r.clock.Look(now)
	r.awake(now)
	r.takeLead(now)
	if r.opt.Health != nil {
		r.opt.Health(Health{now, s.Link.State == cluster.LinkLive, r.incident != nil, r.lead.leads})
	}
	first := r.looked.IsZero()
	looks := r.incident != nil || now.Sub(r.looked).Abs() >= lookEvery
	if first {
		looks = r.sees(s)
	}
	r.follow(r.ended.Take())
	if !looks {
		return
	}
	r.looked = now
	r.usual = cmp.Or(r.usual, s)
	due := r.alerts.look(facts{Recorder: r, s: s, now: now, mutes: r.mutesNow(now)})
	// Machines of which no alert reports any more that they are off are forgotten.
	maps.DeleteFunc(r.switched, func(node string, _ power.Progress) bool { return r.alerts.open[key{machineOff, node}] == nil })
	if first {
		old := r.alerts.leave(func(a *alert) bool { return now.Sub(a.At) > r.opt.Past })
		if len(old) > 0 {
			r.printUnseen(fmt.Sprintf("down for longer than %s when the recorder began, and in no record of it: %s", text.Span(r.opt.Past), text.List(old)))
		}
	}
	r.judge(s, due, now)
	if r.incident != nil && now.Sub(r.trimmed) >= time.Minute {
		r.trim()
	}
}

// judge begins an incident, or follows it, with the alerts that are due.
func (r *Recorder) judge(s *cluster.Snapshot, due []*alert, now time.Time) {
	if r.trialRuns() {
		return // its record has the outage
	}
	if r.incident == nil && len(due) > 0 {
		r.begin(s, due)
	}
	switch {
	case r.incident != nil:
		r.incident.follow(s, due, now)
	case !r.alerts.alarm():
		r.calm = s
		delete(r.said, unrecorded)
		if !r.alerts.has(func(a *alert) bool { return a.stage == muted }) && s.Link.State == cluster.LinkLive {
			r.usual = s
		}
	}
}

// judgedBy are the kinds by which an outage shows.
var judgedBy = []cluster.Kind{cluster.KindNode, cluster.KindLease, cluster.KindPod, cluster.KindEndpointSlice}

// sees reports whether the recorder begins with a snapshot: the first that has all kinds which may
// still come, and the nodes unless they are forbidden. It prints what the recorder does not see, and
// once why it waits.
func (r *Recorder) sees(s *cluster.Snapshot) bool {
	var unread []string
	wait, why := s.Link.State != cluster.LinkLive, s.Access[cluster.KindNode].Err
	if s.Link.State == cluster.LinkDisconnected {
		why = s.Link.Err
	}
	for _, k := range judgedBy {
		if a := s.Access[k]; !a.Synced {
			unread = append(unread, fmt.Sprintf("%s (%s)", k, cmp.Or(a.Err, "forbidden")))
			wait = wait || !a.Forbidden && (a.Err == "" || k == cluster.KindNode)
		}
	}
	switch {
	case wait && why != "" && r.said.news("unseen", "why"):
		r.printUnseen("lightsout has not seen the cluster yet, and notices no outage before it has: " + why)
	case wait:
	case len(unread) > 0:
		r.printUnseen("lightsout has not read these kinds, and notices no outage by them: " + strings.Join(unread, ", ") + "; lightsout check tests the rights")
	default:
		r.printUnseen("the cluster is in view: outages are noticed from now on")
	}
	return !wait
}

// awake begins, and reports a time in which an outage may have gone unnoticed. The timeline has
// it from the session.
func (r *Recorder) awake(now time.Time) {
	switch pause := clock.Pause(now, r.running); {
	case r.running.IsZero():
		r.startProbes()
	case pause > 0:
		r.printUnseen(fmt.Sprintf("lightsout did not run for %s: it noticed no outage in that time", text.Span(pause)))
	}
	r.running = now
}

// startProbes starts the requests of the recorder's own.
func (r *Recorder) startProbes() {
	if r.opt.Load == nil || r.opt.Every == 0 {
		return
	}
	spec := loadgen.Spec{Shape: loadgen.Rate, PerSecond: float64(time.Second) / float64(r.opt.Every)}
	number, at, err := r.s.StartLoad(spec)
	if err != nil {
		r.opt.Print("lightsout sends no requests: " + err.Error())
	}
	r.loads[number] = session.LoadStarted{Number: number, Spec: spec, At: at}
}

// follow follows requests that have ended.
func (r *Recorder) follow(ended []loadgen.Record) {
	mutes := r.mutesOfRequests()
	for _, q := range ended {
		r.requests.note(&q, mutes)
		if r.incident != nil {
			r.incident.tracker.Request(q)
		}
	}
	now := r.opt.Now()
	noticed := !r.requests.first.IsZero() && r.mutesOfRequests().over(key{kind: requestsFail}, r.requests.began(now), now, now) == pending
	if noticed && r.said.news("requests", "noticed") {
		r.opt.Print("requests answered: failures are noticed from now on")
	}
}

// Newest returns the folder of the newest record; empty if there is none.
func (r *Recorder) Newest() string { return r.newest }

// Yield ends the record under way, because a trial begins one.
func (r *Recorder) Yield() { r.cut("a trial began during the outage: the trial's record has the rest") }

// cut ends the record under way before the end of the outage.
func (r *Recorder) cut(why string) {
	if o := r.incident; o != nil {
		now := r.opt.Now()
		switch quiet := now.Sub(r.alerts.changed); {
		case r.alerts.alarm():
			o.unseen(why)
		case quiet < o.steady():
			o.unseen(fmt.Sprintf("what came later than %s after the last sign: the recording was stopped before %s without one", text.Span(quiet), text.Span(o.steady())))
		}
		o.finish(now, 0)
	}
}

// Show gives a frame to the record.
func (r *Recorder) Show(f *view.Frame) {
	f.RecordsOutage = r.incident != nil
	defer r.rolling.Offer(f) // nothing may change it later
	err := r.rolling.Err()
	if r.incident == nil && err == nil {
		return
	}
	if e, changed := r.health.Observe("the outage's record", err, r.rolling.Lost()); changed {
		r.opt.Timeline.Add(e)
		r.printUnseen(e.Text)
	}
	if err != nil {
		f.Recording, f.RecordErr = false, fmt.Sprintf("the outage's record can't be written: %v", err)
	}
}

// Running reports whether an outage is being recorded.
func (r *Recorder) Running() bool { return r.incident != nil }

// End ends the record under way.
func (r *Recorder) End() {
	r.follow(r.ended.Take())
	r.cut("the recorder was stopped before the end of the outage")
	if err := r.rolling.Close(); err != nil {
		r.opt.Print(err.Error())
	}
}

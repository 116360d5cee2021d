package recorder

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
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
	opt      Options
	s        Session
	rolling  *record.Rolling
	alerts   alerts
	plans    plans
	requests requests
	usual    usual
	// muted are the mutes of cordons and of records that have ended; see mutesNow.
	muted    mutes
	incident *incident // nil: there is none
	// switched are the nodes whose machines the operator of the screen has switched off.
	switched map[string]switchedOff
	health   record.Health
	// clock notices when the wall clock is set.
	clock clock.Steps
	// calm is the newest snapshot without an alert that may fire.
	calm    *cluster.Snapshot
	looked  time.Time // for alerts
	running time.Time // when observe began last
	trimmed time.Time
	// saidUnseen: it has printed why it has not seen the cluster.
	saidUnseen bool

	specs  map[int]loadgen.Spec // by the generator's numbers
	newest string               // the folder of the newest record
	// unlock unlocks opt.Dir, while a screen writes a record there.
	unlock func()
	// unrecorded: it has reported that it can't record the present outage.
	unrecorded bool
	// leads: this recorder reports outages. led is when the Lease changed last, role the
	// newest sentence about it; see lead.
	leads bool
	led   time.Time
	role  string

	ended record.Ended // all requests
}

// New makes a Recorder for a session.
func New(s Session, opt Options) *Recorder {
	r := &Recorder{
		opt: opt, s: s, led: opt.Now(), rolling: record.NewRolling(opt.Timeline, opt.PastBytes, opt.Past, opt.Now), specs: map[int]loadgen.Spec{},
		alerts: alerts{open: map[key]*alert{}, resolved: map[kind]time.Time{}}, usual: usual{served: map[cluster.Key]bool{}},
		requests: requests{every: opt.Every}, switched: map[string]switchedOff{}, plans: plans{},
	}
	r.rolling.Redact(opt.Names)
	r.ended.Change(func() func(loadgen.Record) { return r.rolling.Request })
	return r
}

// Handle handles what happens in the session.
func (r *Recorder) Handle(e session.Event) {
	switch e := e.(type) {
	case *cluster.Snapshot:
		r.observe(e)
	case session.Switching:
		r.switching(e.Action, e.Bindings)
	case session.PowerOnSent:
		if r.incident != nil {
			r.incident.tracker.Switched(e.Node, power.ActionOn, e.At)
		}
	case session.Reading:
		if r.incident != nil {
			r.incident.tracker.Power(e.Node, e.Reading)
		}
	case cluster.Transition:
		if e.Change == cluster.ChangeCordon { // or uncordoned
			r.muted = append(r.muted, mute{kind: podsWait, from: e.When.By, to: e.When.By.Add(cordonCalm)})
		}
	case session.LoadStarted:
		r.loadStarted(e.Number, e.Spec)
	}
}

// switchedOff is when and how the operator switched a machine off.
type switchedOff struct {
	at  time.Time
	how power.Action
}

// switching follows the operator's switching off of machines.
func (r *Recorder) switching(a power.Action, bindings []power.Binding) {
	if a == power.ActionOn {
		return
	}
	now := r.opt.Now()
	r.alerts.changed = now
	for _, b := range bindings {
		r.switched[b.Node.Name] = switchedOff{now, a}
		if r.incident != nil {
			r.incident.nodeDown(b.Node.Name, a, now)
		}
	}
}

// findOn forgets the machines that are on again, and whose nodes are back or deleted.
func (r *Recorder) findOn(s *cluster.Snapshot, now time.Time) {
	maps.DeleteFunc(r.switched, func(node string, _ switchedOff) bool {
		down := slices.ContainsFunc(s.Unwell(now), func(n *cluster.Node) bool { return n.Name == node && n.Gone.IsZero() })
		return r.s.Machine(node).Busy == "" && !r.s.LeftOff(node) && !down
	})
}

// observe searches a new snapshot for signs, also once a second.
func (r *Recorder) observe(s *cluster.Snapshot) {
	now := r.opt.Now()
	if r.opt.Status != nil {
		defer func() { r.opt.Status.observe(s, r.incident != nil, r.leads, now) }()
	}
	r.clock.Look(now)
	if r.running.IsZero() {
		r.startProbes()
	}
	r.awake(now)
	r.lead(now)
	r.follow(r.ended.Take())
	first := r.looked.IsZero()
	if first && !r.sees(s) || r.incident == nil && now.Sub(r.looked).Abs() < lookEvery {
		return
	}
	r.looked = now
	if s.Link.State == cluster.LinkLive {
		r.sayPlanned(r.plans.follow(s, r.alerts.down, now))
		r.findOn(s, now)
	}
	r.usual.learn(s)
	due := r.alerts.look(facts{Recorder: r, s: s, now: now, mutes: r.mutesNow(now)})
	if first {
		r.sayDown(r.alerts.tell(func(a *alert) bool { return now.Sub(a.At) > r.opt.Past }))
	}
	r.judge(s, due, now)
	if (r.opt.Kept == nil || r.incident != nil) && now.Sub(r.trimmed) >= time.Minute {
		r.trim(now)
	}
}

// judge begins an incident, or follows it, with the alerts that are due.
func (r *Recorder) judge(s *cluster.Snapshot, due []*alert, now time.Time) {
	if r.opt.Kept != nil && r.opt.Kept() {
		// The trial's record has them, but not nodes that it did not switch.
		r.alerts.tell(func(a *alert) bool { return a.kind != nodeDown })
		return
	}
	if r.incident == nil && len(due) > 0 {
		r.begin(s, due, now)
	}
	switch {
	case r.incident != nil:
		r.incident.follow(s, r.alerts.fire(due, now), now)
	case !r.alerts.showing:
		r.calm, r.unrecorded = s, false
	}
}

// pauseLeast is the least time between two calls of observe, normally a second, that the
// recorder reports. A stopped process, a suspended machine or a starved host is the cause.
const pauseLeast = 10 * time.Second

// awake reports a time in which an outage may have gone unnoticed. The timeline has
// it from the session.
func (r *Recorder) awake(now time.Time) {
	if age := clock.Age(now, r.running); !r.running.IsZero() && age >= pauseLeast {
		r.tell(fmt.Sprintf("lightsout did not run for %s: it noticed no outage in that time", text.Span(age)))
	}
	r.running = now
}

// lookEvery is the least time between two searches for signs, which cost more in a larger
// cluster.
const lookEvery = time.Second / 2

// sayDown prints which nodes had been down for too long when the recorder began.
func (r *Recorder) sayDown(nodes []string) {
	if len(nodes) > 0 {
		r.tell(fmt.Sprintf("down for longer than %s when the recorder began, and in no record of it: %s", text.Span(r.opt.Past), text.List(nodes)))
	}
}

// sayPlanned reports on the timeline which machines somebody switches off by plan.
func (r *Recorder) sayPlanned(went []string) {
	if r.opt.Kept != nil {
		return
	}
	for _, node := range went {
		by := r.plans[node].note.By
		e := view.NewEvent(view.CodePlannedOff, node, view.Facts{Name: by})
		e.Kind = string(cluster.KindNode)
		r.s.Say(e)
		r.opt.Print(fmt.Sprintf("%s was switched off as planned, by %s", node, by))
	}
}

// tell prints a line, unless a screen shows the same.
func (r *Recorder) tell(line string) {
	if r.opt.Kept == nil {
		r.opt.Print(line)
	}
}

// startProbes starts the requests of the recorder's own.
func (r *Recorder) startProbes() {
	if r.opt.Load == nil || r.opt.Every == 0 {
		return
	}
	spec := loadgen.Spec{Shape: loadgen.Rate, PerSecond: float64(time.Second) / float64(r.opt.Every)}
	number, _, err := r.s.StartLoad(spec)
	if err != nil {
		r.opt.Print("lightsout sends no requests: " + err.Error())
	}
	r.specs[number] = spec
}

// begin begins the record of an outage. If it can't, the next look tries again.
func (r *Recorder) begin(s *cluster.Snapshot, due []*alert, now time.Time) {
	dir, past, err := r.open(due[0].At, due[0].kind == machineOff, now)
	if err != nil {
		r.sayUnrecorded(due, err)
		return
	}
	r.newest, r.unrecorded = dir, false
	r.incident = newIncident(r, dir, s, due[0], past)
}

// sayUnrecorded reports, once, an outage that cannot be recorded here.
func (r *Recorder) sayUnrecorded(due []*alert, why error) {
	if r.unrecorded {
		return
	}
	r.unrecorded = true
	if errors.Is(why, errTaken) {
		r.opt.Print("another lightsout records this outage, in " + r.opt.Dir)
		return
	}
	var signs []record.Sign
	for _, a := range due {
		signs = append(signs, a.Sign)
	}
	sentence := sentenceOf(signs, "") + " lightsout cannot record it: " + oneLine(why) + "."
	r.opt.Print(sentence)
	if r.opt.Notify != nil && r.leads {
		r.opt.Notify(Notice{State: StateBegan, Severity: record.SeverityUnknown, Cluster: r.opt.Cluster, Zero: signs[0].At, Sentence: sentence})
	}
}

// open makes the folder of a record, with the past.
func (r *Recorder) open(zero time.Time, own bool, now time.Time) (dir string, past record.Past, err error) {
	if err := r.lock(own); err != nil {
		return dir, past, err
	}
	r.trim(now)
	if dir, err = record.NewSessionDir(r.opt.Dir, zero); err == nil {
		if past, err = r.spill(dir, zero); err == nil {
			return dir, past, nil
		}
		_ = os.RemoveAll(dir) // the next look makes another
	}
	r.unlock()
	return dir, past, err
}

// lock locks, on a screen, the folder of all records for one of them. The operator's own outage is
// recorded in any case: another recorder mutes it.
func (r *Recorder) lock(own bool) error {
	r.unlock = func() {}
	if r.opt.Kept == nil {
		return nil
	}
	unlock, err := Lock(r.opt.Dir)
	switch {
	case err == nil:
		r.unlock = unlock
	case own && errors.Is(err, errTaken):
		return nil
	}
	return err
}

// Newest returns the folder of the newest record; empty if there is none.
func (r *Recorder) Newest() string { return r.newest }

// Yield ends the record under way, because a trial begins one.
func (r *Recorder) Yield() { r.cut("a trial began during the outage: the trial's record has the rest") }

// cut ends the record under way before the end of the outage.
func (r *Recorder) cut(why string) {
	if r.incident == nil {
		return
	}
	if r.alerts.showing {
		r.incident.unseen(why)
	}
	r.incident.finish(r.opt.Now())
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
		r.tell(e.Text)
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

// trim removes the oldest records if all of them are too large.
func (r *Recorder) trim(now time.Time) {
	r.trimmed = now
	writing := ""
	if r.incident != nil {
		writing = r.incident.dir
	}
	gone, err := trim(r.opt.Dir, r.opt.KeepBytes, writing)
	for _, dir := range gone {
		r.opt.Print("removed the oldest record, for the room: " + dir)
	}
	if err != nil {
		r.opt.Print(err.Error())
	}
}

// UnderWay returns nil: a recorder carries out no trial.
func (r *Recorder) UnderWay() any { return nil }

// WillUncordon reports false: a recorder changes nothing.
func (r *Recorder) WillUncordon(string) bool { return false }

package recorder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"lightsout/cluster"
	"lightsout/internal/clock"
	"lightsout/internal/record"
	"lightsout/internal/report"
	"lightsout/internal/text"
	"lightsout/internal/trial/phase"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// Options holds the parts and settings of a Recorder.
type Options struct {
	// Cluster and Pace stand in the summaries; an empty Pace is real.
	Cluster, Pace string
	// Dir is the folder of the records.
	Dir string
	// Timeline is the session's.
	Timeline *record.Timeline
	// Load is the session's generator; nil if there is none. Every is the interval between
	// two requests of the recorder's own; 0 sends none, and then failures begin no outage:
	// the operator may send more than the service can answer.
	Load  *loadgen.Generator
	Every time.Duration
	// Past is how much of the time before an outage is kept, in at most PastBytes.
	Past      time.Duration
	PastBytes int
	// Steady is how long no sign must show, come or go until an outage is over.
	Steady time.Duration
	// KeepBytes bounds the size of all records; the oldest are removed first.
	KeepBytes int64
	// Notify receives what the hooks report. It must not block. Nil reports nothing.
	Notify func(Notice)
	// Lease returns the newest state of the Lease by which several recorders choose the one
	// that reports. Each records. Nil: there is no other recorder.
	Lease func() cluster.LeaseState
	// Status receives what the recorder sees; nil receives nothing.
	Status *Status
	// Print shows the operator a line.
	Print func(line string)
	// Kept is set on a screen, where an operator switches machines: it reports whether
	// their outage or trial is being recorded. The screen locks Dir for each record.
	Kept func() bool
	// Returning maps the nodes that lightsout powered on before the recorder began to when it
	// did: a node that still boots is no outage. It may be nil.
	Returning map[string]time.Time
	// Names are replaced in the records; nil: none.
	Names *record.Names
	// Now is the clock.
	Now func() time.Time
}

// Session is the part of the session that a Recorder needs: see session.Controls. None of
// it changes the cluster or a machine.
type Session interface {
	Async(within time.Duration, work func(context.Context) error, then func(error))
	Publish() *view.Frame
	Say(ev view.Event)
	Snapshot() *cluster.Snapshot
	Focus() cluster.Key
	Outlook(nodes []string) []string
	WantKubelets(nodes ...string)
	StartLoad(spec loadgen.Spec) (number int, started time.Time, err error)
}

// Recorder notices and records outages, as the guest of a session: see session.Guest.
type Recorder struct {
	bystander
	opt     Options
	s       Session
	rolling *record.Rolling
	signs   signs
	probes  probes
	row     row     // of the requests that have ended
	outage  *outage // nil: there is none
	health  record.Health
	// clock notices when the wall clock is set.
	clock clock.Steps
	// calm is the newest snapshot without a sign.
	calm *cluster.Snapshot
	// replicas are the newest changes of the deployment's available pods while there is no outage.
	replicas []cluster.Transition
	// began is when the recorder saw the cluster first.
	began   time.Time
	looked  time.Time     // for signs
	running time.Time     // when Observe began last
	pauses  []phase.Blind // the newest spans in which the recorder stood still
	trimmed time.Time
	probing time.Time // since when it sends requests
	// saidAPI and saidRequests: it has printed that the API server, or that requests, do not
	// answer from the beginning.
	saidAPI, saidRequests bool
	// away: the API server did not answer at first. answered: requests have succeeded, which it
	// has not printed yet.
	away, answered bool
	specs          map[int]loadgen.Spec // by the generator's numbers
	newest         string               // the folder of the newest record
	lock           sharedLock           // of opt.Dir
	reads          bool                 // reportInterrupted is at work
	taken          bool                 // another recorder records the present outage
	failed         *Notice              // what hooks know of the present outage, which cannot be recorded
	// leads: this recorder reports outages. led is when the Lease changed last, role the
	// newest sentence about it, leaseErr the newest error; see lead.
	leads    bool
	led      time.Time
	role     string
	leaseErr string

	mu    sync.Mutex
	ended []loadgen.Record // requests that the next Observe takes
}

// New makes a Recorder for a session.
func New(s Session, opt Options) *Recorder {
	r := &Recorder{opt: opt, s: s, led: opt.Now(), rolling: record.NewRolling(opt.Timeline, opt.PastBytes, opt.Past, opt.Now), specs: map[int]loadgen.Spec{}, row: row{}}
	r.rolling.Redact(opt.Names)
	r.signs, r.probes = newSigns(opt.Past), newProbes(opt.Every)
	r.signs.returning(opt.Returning, opt.Now())
	return r
}

// Tracks reports that the recorder wants all transitions and requests.
func (r *Recorder) Tracks() bool { return true }

// Transition follows a change in the cluster.
func (r *Recorder) Transition(t cluster.Transition) {
	r.signs.transition(t)
	replicas := t.Change == cluster.ChangeReplicas
	switch {
	case r.outage != nil:
		if replicas && t.Subject.Key == r.outage.focus {
			r.outage.available(t.Available)
		}
	case replicas && t.Subject.Key == r.s.Focus():
		r.replicas = append(r.replicas[max(0, len(r.replicas)-replicasKept+1):], t)
	}
}

// replicasKept is how many changes of the available pods a recorder remembers: an outage begins
// before the recorder notices its first sign.
const replicasKept = 200

// Switching follows the operator's switching off of machines. During an outage these
// nodes belong to it; otherwise another record has them.
func (r *Recorder) Switching(a power.Action, bindings []power.Binding) {
	if a != power.ActionOn {
		for _, b := range bindings {
			r.signs.switched[b.Node.Name] = true
		}
	}
}

// PowerOnSent does nothing: the recorder judges by what the cluster shows.
func (r *Recorder) PowerOnSent(string, time.Time) {}

// Observe searches a new snapshot for signs, also once a second.
func (r *Recorder) Observe(s *cluster.Snapshot) {
	now := r.opt.Now()
	if r.opt.Status != nil {
		defer func() { r.opt.Status.observe(s, r.outage != nil, r.leads, now) }()
	}
	r.clock.Look(now)
	r.awake(now)
	r.lead(now)
	r.startProbes()
	r.requests(now)
	r.sayWaits(s, now)
	if r.began.IsZero() {
		r.away = r.away || s.Link.State == cluster.LinkDisconnected
		if !seen(s) {
			return
		}
		r.began = now
		if r.away { // the kubelets could not reach the API server either
			r.signs.apiBack = now
		}
		r.reportInterrupted()
		if r.opt.Kept == nil {
			r.opt.Print(inView(s))
		}
		r.sayAnswered()
	}
	if r.outage == nil && now.Sub(r.looked).Abs() < lookEvery {
		return
	}
	r.looked = now
	news := r.signs.observe(s, &r.probes, r.outage != nil, now)
	switch {
	case r.opt.Kept == nil:
		r.sayPlanned()
	case r.opt.Kept():
		r.signs.leave(news)
		return
	case r.outage == nil:
		clear(r.signs.switched)
	}
	switch {
	case r.outage != nil:
		r.outage.follow(s, news, now)
	case len(news) > 0:
		r.begin(s, news, now)
	case !r.signs.showing():
		r.calm = s
		r.endFailed(now)
	}
	if (r.opt.Kept == nil || r.outage != nil) && now.Sub(r.trimmed) >= time.Minute {
		r.trim(now)
	}
}

// pauseLeast is the least time between two calls of Observe, normally a second, that the
// recorder reports. A stopped process, a suspended machine or a starved host is the cause.
const pauseLeast = 10 * time.Second

// pausesKept is how many pauses a recorder remembers: an outage that it notices after a pause
// may have begun before.
const pausesKept = 20

// awake keeps and reports a time in which an outage may have gone unnoticed. The timeline has
// it from the session.
func (r *Recorder) awake(now time.Time) {
	if span, ok := phase.Pause(r.running, now); ok {
		r.pauses = append(r.pauses[max(0, len(r.pauses)+1-pausesKept):], span)
		if age := clock.Age(now, r.running); r.opt.Kept == nil && age >= pauseLeast {
			r.opt.Print(fmt.Sprintf("lightsout did not run for %s: it noticed no outage in that time", text.Span(age)))
		}
	}
	r.running = now
}

// lookEvery is the least time between two searches for signs, which cost more in a larger
// cluster.
const lookEvery = time.Second / 2

// sayPlanned reports on the timeline which machines somebody switches off by plan.
func (r *Recorder) sayPlanned() {
	for _, n := range r.signs.newlyPlanned() {
		e := view.NewEvent(view.CodePlannedOff, n.node, view.Facts{Name: n.note.By})
		e.Kind = string(cluster.KindNode)
		r.s.Say(e)
		r.opt.Print(fmt.Sprintf("%s was switched off as planned, by %s", n.node, n.note.By))
		if err := keepPlanned(r.opt.Dir, n, r.opt.Now()); err != nil {
			r.opt.Print(err.Error())
		}
	}
}

// startProbes starts the requests, once.
func (r *Recorder) startProbes() {
	if !r.probing.IsZero() || r.opt.Load == nil || r.opt.Every == 0 {
		return
	}
	r.probing = r.opt.Now()
	spec := loadgen.Spec{Shape: loadgen.Rate, PerSecond: float64(time.Second) / float64(r.opt.Every)}
	number, _, err := r.s.StartLoad(spec)
	if err != nil {
		r.opt.Print("lightsout sends no requests: " + err.Error())
	}
	r.specs[number] = spec
}

// begin begins the record of an outage.
func (r *Recorder) begin(s *cluster.Snapshot, news []record.Sign, now time.Time) {
	if r.reads {
		r.signs.forget(news) // the next Observe tries again
		return
	}
	unlock, err := func() {}, error(nil)
	if r.opt.Kept != nil {
		unlock, err = r.lock.take(r.opt.Dir)
	}
	dir, past := "", record.Past{}
	if err == nil {
		r.trim(now)
		dir, err = record.NewSessionDir(r.opt.Dir, news[0].At)
		if err == nil {
			if past, err = r.spill(dir, news[0].At, now); err != nil {
				_ = os.RemoveAll(dir) // the next Observe makes another
			}
		}
		if err != nil {
			unlock()
		}
	}
	if err != nil {
		// The signs stay new, and the next Observe tries again.
		r.signs.forget(news)
		if errors.Is(err, errTaken) {
			if !r.taken {
				r.opt.Print("another lightsout records this outage, in " + r.opt.Dir)
			}
			r.taken = true
		} else if e, changed := r.health.Observe("the outage's record", err, 0); changed {
			r.s.Say(e)
			r.opt.Print(e.Text)
		}
		r.notifyFailed(news, err)
		return
	}
	writes(r.opt.Dir, filepath.Base(dir))
	r.newest, r.taken, r.failed = dir, false, nil
	r.outage = newOutage(r, dir, s, news[0].At, past)
	r.outage.unlock = unlock
	r.outage.follow(s, news, now)
}

// reportInterrupted reports the records that a killed screen left. A recorder does that
// before it begins.
func (r *Recorder) reportInterrupted() {
	if r.opt.Kept == nil || !exists(r.opt.Dir) {
		return
	}
	r.reads = true
	var left []Interruption
	r.s.Async(report.Within, func(context.Context) error {
		unlock, err := Lock(r.opt.Dir)
		if err == nil {
			left = Interrupted(r.opt.Dir)
			unlock()
		}
		return err
	}, func(error) { // begin reports the error, if there is an outage
		r.reads = false
		for _, x := range left {
			r.opt.Print(x.Sentence)
		}
	})
}

// Newest returns the folder of the newest record; empty if there is none.
func (r *Recorder) Newest() string { return r.newest }

// Recording reports whether an outage is being recorded.
func (r *Recorder) Recording() bool { return r.outage != nil }

// Yield ends the record under way, because a trial begins one.
func (r *Recorder) Yield() { r.cut("a trial began during the outage: the trial's record has the rest") }

// cut ends the record under way before the end of the outage.
func (r *Recorder) cut(why string) {
	if r.outage != nil {
		r.outage.unseen(why)
		r.outage.finish(r.opt.Now())
	}
}

// Show gives a frame to the record.
func (r *Recorder) Show(f *view.Frame) {
	f.RecordsOutage = f.RecordsOutage || r.outage != nil
	defer r.rolling.Offer(f) // nothing may change it later
	err := r.rolling.Err()
	if r.outage == nil && err == nil {
		return
	}
	if e, changed := r.health.Observe("the outage's record", err, r.rolling.Lost()); changed {
		r.opt.Timeline.Add(e)
		if r.opt.Kept == nil { // a screen shows it
			r.opt.Print(e.Text)
		}
	}
	if err != nil {
		f.Recording, f.RecordErr = false, fmt.Sprintf("the outage's record can't be written: %v", err)
	}
}

// Running reports whether an outage is being recorded.
func (r *Recorder) Running() bool { return r.outage != nil }

// End ends the record under way.
func (r *Recorder) End() {
	r.requests(r.opt.Now())
	r.cut("the recorder was stopped before the end of the outage")
	if r.failed != nil {
		r.closeFailed(r.opt.Now(), "may go on: the recorder was stopped")
	}
	if err := r.rolling.Close(); err != nil {
		r.opt.Print(err.Error())
	}
}

// trim removes the oldest records if all of them are too large.
func (r *Recorder) trim(now time.Time) {
	r.trimmed = now
	writing := ""
	if r.outage != nil {
		writing = r.outage.dir
	}
	gone, err := trim(r.opt.Dir, r.opt.KeepBytes, writing)
	for _, dir := range gone {
		r.opt.Print("removed the oldest record, for the room: " + dir)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		r.opt.Print(err.Error())
	}
}

// bystander is a guest that takes no part in what an operator does.
type bystander struct{}

func (bystander) SwitchingOff()                 {}
func (bystander) Reading(string, power.Reading) {}
func (bystander) Request(loadgen.Record)        {}
func (bystander) Draining([]string)             {}
func (bystander) Did(view.Intent)               {}
func (bystander) Intent(view.Intent)            {}
func (bystander) AfterTurn()                    {}
func (bystander) UnderWay() any                 { return nil }
func (bystander) WillUncordon(string) bool      { return false }

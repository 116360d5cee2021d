package recorder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
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
	// Load is the session's generator; nil sends no requests. Every is the interval
	// between two requests.
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
	// Status receives what the recorder sees; nil receives nothing.
	Status *Status
	// Print shows the operator a line.
	Print func(line string)
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
	outage  *outage // nil: there is none
	health  record.Health
	// calm is the newest snapshot without a sign.
	calm *cluster.Snapshot
	// began is when the recorder saw the cluster first.
	began   time.Time
	trimmed time.Time
	probing bool
	run     int // the generator's number of the probes
}

// New makes a Recorder for a session.
func New(s Session, opt Options) *Recorder {
	r := &Recorder{opt: opt, s: s, rolling: record.NewRolling(opt.Timeline, opt.PastBytes, opt.Past, opt.Now)}
	r.signs = newSigns(opt.Past)
	return r
}

// Tracks reports that the recorder wants all transitions and requests.
func (r *Recorder) Tracks() bool { return true }

// Record keeps a request that has ended. It is safe for concurrent use.
func (r *Recorder) Record(q loadgen.Record) bool {
	r.rolling.Request(q)
	return true
}

// Transition follows a change in the cluster.
func (r *Recorder) Transition(t cluster.Transition) {
	r.signs.transition(t)
	if r.outage != nil {
		if t.Change == cluster.ChangeBoot && !r.outage.nodes[t.Subject.Name] {
			r.outage.unseen(t.Subject.Name + " booted, and the recorder did not see it go down")
		}
		r.outage.tracker.Transition(t)
	}
}

// Request follows the end of a request.
func (r *Recorder) Request(q loadgen.Record) {
	if r.probes.note(q, r.opt.Now()) {
		r.opt.Print("requests answered: failures are noticed from now on")
	}
	if r.outage != nil {
		r.outage.request(q)
	}
}

// Observe searches a new snapshot for signs, also once a second.
func (r *Recorder) Observe(s *cluster.Snapshot) {
	now := r.opt.Now()
	if r.opt.Status != nil {
		defer func() { r.opt.Status.observe(s, r.outage != nil, now) }()
	}
	r.startProbes()
	if r.began.IsZero() {
		if !seen(s) {
			return
		}
		r.began = now
	}
	news := r.signs.observe(s, &r.probes, now)
	r.sayPlanned()
	switch {
	case r.outage != nil:
		r.outage.follow(s, news, now)
	case len(news) > 0:
		r.begin(s, news, now)
	case !r.signs.showing():
		r.calm = s
	}
	if now.Sub(r.trimmed) >= time.Minute {
		r.trim(now)
	}
}

// seen reports whether a snapshot is complete enough for a judgement: all kinds by which
// an outage shows have been read, or cannot be.
func seen(s *cluster.Snapshot) bool {
	if s.Link.State != cluster.LinkLive {
		return s.Link.State == cluster.LinkLost
	}
	return !slices.ContainsFunc([]cluster.Kind{cluster.KindNode, cluster.KindLease, cluster.KindPod, cluster.KindEndpointSlice}, func(k cluster.Kind) bool {
		a := s.Access[k]
		return !a.Synced && !a.Forbidden && a.Err == ""
	})
}

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
	if r.probing || r.opt.Load == nil {
		return
	}
	r.probing = true
	number, _, err := r.s.StartLoad(loadgen.Spec{Shape: loadgen.Rate, PerSecond: float64(time.Second) / float64(r.opt.Every)})
	if err != nil {
		r.opt.Print("lightsout sends no requests: " + err.Error())
	}
	r.run = number
}

// begin begins the record of an outage.
func (r *Recorder) begin(s *cluster.Snapshot, news []record.Sign, now time.Time) {
	r.trim(now)
	dir, err := record.NewSessionDir(r.opt.Dir, news[0].At)
	if err == nil {
		err = r.rolling.Spill(dir, news[0].At)
	}
	if err != nil {
		// The signs stay new, and the next Observe tries again.
		r.signs.forget(news)
		if e, changed := r.health.Observe("the outage's record", err, 0); changed {
			r.s.Say(e)
			r.opt.Print(e.Text)
		}
		return
	}
	r.outage = newOutage(r, dir, s, news[0].At)
	r.outage.follow(s, news, now)
}

// Show gives a frame to the record.
func (r *Recorder) Show(f *view.Frame) {
	r.rolling.Offer(f)
	f.Recording = r.outage != nil
	err := r.rolling.Err()
	if r.outage == nil && err == nil {
		return
	}
	if e, changed := r.health.Observe("the outage's record", err, r.rolling.Lost()); changed {
		r.opt.Timeline.Add(e)
	}
	if err != nil {
		f.Recording, f.RecordErr = false, fmt.Sprintf("the outage's record can't be written: %v", err)
	}
}

// Running reports whether an outage is being recorded.
func (r *Recorder) Running() bool { return r.outage != nil }

// End ends the record under way.
func (r *Recorder) End() {
	if r.outage != nil {
		r.outage.unseen("the recorder was stopped before the end of the outage")
		r.outage.finish(r.opt.Now())
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

func (bystander) SwitchingOff()                            {}
func (bystander) Reading(string, power.Reading)            {}
func (bystander) Switching(power.Action, []power.Binding)  {}
func (bystander) Draining([]string)                        {}
func (bystander) LoadStarted(int, loadgen.Spec, time.Time) {}
func (bystander) Did(view.Intent)                          {}
func (bystander) Intent(view.Intent)                       {}
func (bystander) AfterTurn()                               {}
func (bystander) UnderWay() any                            { return nil }
func (bystander) WillUncordon(string) bool                 { return false }

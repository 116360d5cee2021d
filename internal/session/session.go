package session

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/internal/clock"
	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// Watcher is the part of cluster.Watcher that a session reads.
type Watcher interface {
	Snapshot() *cluster.Snapshot
	Changed() <-chan struct{}
	// Confirm returns once the API server has answered a request made now and Snapshot
	// shows everything that it sent before.
	Confirm(ctx context.Context) error
	// WantKubelets has these nodes' kubelets asked for their settings, which the
	// forecast of an outage stands on. It does not wait for them.
	WantKubelets(nodes ...string)
}

// Options holds the parts of a Session. RecordWriter and Questions are required; a function
// that needs a missing part reports that.
type Options struct {
	// Cluster, Via, Pace and Namespaces are shown in the title. With Production the
	// operator types Cluster before machines are switched off.
	Cluster, Via, Pace, Namespaces string
	// ReadOnly hides switching; DryRun does everything but the switching;
	// Production asks for the cluster's name before switching off.
	ReadOnly, DryRun, Production bool

	RecordWriter *RecordWriter
	Questions    *Questions
	Watcher      Watcher
	// Target is the target of the load; nil is none.
	Target *Target

	Fleet   *power.Fleet
	Journal *power.Journal
	// RecordsOutages: the guest records each outage that the operator causes without a trial.
	RecordsOutages bool
	// NoPower is the reason, in one sentence, why lightsout cannot switch machines;
	// empty if it can.
	NoPower string
	// Restore is the command that later powers on the machines left off; empty if the
	// cluster ends with the session.
	Restore string
	// Self names this program's own machine and the way to the cluster, for
	// the guards; it may look names up.
	Self func(ctx context.Context) power.Self
	// Annotations annotates nodes with the name of who switched them off; nil annotates
	// nothing.
	Annotations power.NoteStore
	// Guards restricts switching off.
	Guards power.Limits

	Load *loadgen.Generator
	// Narrowed is the reason, in one sentence, why lightsout watches fewer namespaces than
	// was asked for; empty if it does not.
	Narrowed string
	// NoLoad is the reason, in one sentence, why lightsout cannot send load.
	NoLoad string

	// Rollout restarts a deployment's rollout.
	Rollout func(ctx context.Context, deployment cluster.Key) error
	// Drain cordons and drains nodes.
	Drain Drainer
	// Inspect reads single objects and logs; nil without a cluster.
	Inspect Inspector
	// Kubectl and Program are those of Frame.
	Kubectl []string
	Program string
	// SSH is the command line that logs in to a machine, empty if the way is unknown; nil: it never is known.
	SSH func(power.Machine) string
	// Around returns other places to show; nil for none.
	Around Surroundings

	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Session combines the data of the packages below, carries intents out and sends frames
// to the screen. Send and Frames are safe for concurrent use.
type Session struct {
	*loop

	// The parts, which belong to the goroutine of Run. Each knows those above it.
	loads       *loads
	machines    *machines
	cordons     *cordons
	drains      *drains
	switching   *switching
	leaving     *leaving
	rollouts    *rollouts
	inspections *inspections
	moving      *moving
	history     history
	next        forecast.Next
	link        cluster.LinkState
	health      record.Health
	ticked      time.Time
}

// New makes a session; nothing happens before Run.
func New(opt Options) *Session {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	opt.Target = cmp.Or(opt.Target, NewTarget(nil, cluster.Key{}, opt.Now))
	if opt.Kubectl == nil {
		opt.Kubectl = []string{"kubectl"}
	}
	l := &loop{
		opt: opt, now: opt.Now, rec: opt.RecordWriter, inbox: inbox{notify: make(chan struct{}, 1)}, frames: make(chan *view.Frame, 1),
	}
	s := &Session{loop: l, loads: &loads{loop: l}, rollouts: &rollouts{loop: l}, inspections: &inspections{loop: l}}
	s.machines = newMachines(l)
	s.cordons = &cordons{loop: l, machines: s.machines}
	s.drains = &drains{loop: l, machines: s.machines, cordons: s.cordons}
	s.switching = newSwitching(l, s.machines, s.cordons, s.drains)
	s.leaving = &leaving{switching: s.switching, loads: s.loads}
	s.moving = &moving{loop: l, leaving: s.leaving}
	s.next.Pods = " (:po)"
	if !opt.ReadOnly {
		s.next.PowerOn, s.next.Uncordon, s.next.Reboot = " (o)", s.cordons.undo, " (:shell; or S, then o)"
	}
	return s
}

// Controls are the session in the hands of its guest.
func (s *Session) Controls() Controls { return Controls{s} }

// Timeline is the list of events.
func (s *Session) Timeline() *record.Timeline { return s.rec.timeline }

// Send asks for i to be carried out. It never blocks.
func (s *Session) Send(i view.Intent) { s.post(func() { s.carryOut(i) }) }

// Next is where the operator wants to go after this session; nil is nowhere. It
// is for after Run.
func (s *Session) Next() *view.Scope { return s.moving.next }

const (
	// beat is the interval at which the loop checks things that change with time alone.
	beat = time.Second
	// eventsShown bounds the events handed out with a frame.
	eventsShown = 500
)

// Run carries the session until ctx ends or the operator leaves, with guest
// taking part. It returns when everything that it started has ended; the record
// is complete then.
func (s *Session) Run(ctx context.Context, guest Guest) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.ctx, s.guest = ctx, guest
	defer close(s.frames)
	s.rec.follower.Store(s)
	s.say(view.NewEvent(view.CodeSessionStarted, "lightsout", view.Facts{}))
	s.switching.readJournal()
	s.moving.begin()
	if s.opt.Narrowed != "" {
		s.warn(view.LaneLink, "", s.opt.Narrowed)
	}
	s.turns()
	cancel()
	if s.opt.Load != nil {
		s.opt.Load.Close()
	}
	s.work.Wait()
	s.inbox.deliver()
	s.guest.End()
	s.work.Wait()
	s.inbox.deliver() // outcomes that came in while ending
	s.rec.follower.Store(nil)
	return s.rec.Close()
}

// turns takes turns until the session ends.
func (s *Session) turns() {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	var changed <-chan struct{}
	if s.opt.Watcher != nil {
		changed = s.opt.Watcher.Changed()
	}
	s.tick()
	p := &pace{timer: time.NewTimer(0), limit: rate.NewLimiter(framesASecond, framesAtOnce), armed: true}
	defer p.timer.Stop()
	for s.departure.state != gone {
		// Data that may change thousands of times a second is read when a frame is
		// due.
		var snapshots, load <-chan struct{}
		if !p.armed || s.guest.Running() {
			snapshots = changed
		}
		if !p.armed && s.opt.Load != nil {
			load = s.opt.Load.Changed()
		}
		select {
		case <-s.ctx.Done():
			s.departure.to(gone)
		case <-s.inbox.notify:
			s.inbox.deliver()
		case <-s.opt.Questions.changed:
		case <-snapshots:
			s.observe()
		case <-load:
		case <-s.rec.timeline.Changed():
		case <-ticker.C:
			s.tick()
		case <-p.timer.C:
			p.shown(time.Now())
			select {
			case <-changed:
				s.observe()
				s.guest.Handle(TurnOver{})
			default:
			}
			s.publish()
			continue
		}
		s.guest.Handle(TurnOver{})
		s.switching.endOverdue()
		s.leaving.endIfSettled()
		s.opt.Questions.renew()
		p.stirred(time.Now())
	}
}

func (s *Session) tick() {
	now := s.now()
	if pause := clock.Pause(now, s.ticked); pause > 0 {
		s.say(view.NewEvent(view.CodeProgramPaused, "lightsout", view.Facts{Seconds: pause.Seconds()}))
	}
	s.ticked = now
	s.observe()
	s.switching.findTakenOver()
	s.drains.askAboutHeld()
	s.inspections.refresh()
	if s.snapshot != nil {
		s.history = s.history.with(s.snapshot)
	}
}

// observe takes the newest snapshot and handles the changes in it.
func (s *Session) observe() {
	snap := s.switching.cluster.snapshot()
	if snap == nil {
		return
	}
	was := s.snapshot
	s.snapshot = snap
	if snap.Link.State != s.link {
		s.sayLink(snap.Link)
		s.link = snap.Link.State
	}
	s.opt.Target.findFocus(snap)
	s.opt.Target.setOff(s.machines.proven(power.Off))
	ready := s.machines.observe(was, snap)
	s.machines.settleBoots(was, snap)
	s.cordons.settle(s.switching.draining)
	s.machines.resolve(snap)
	s.switching.sweepNotes(snap)
	s.machines.sayReturns(ready)
	s.machines.sayPlanned(was, snap)
	s.guest.Handle(snap)
}

func (s *Session) sayLink(l cluster.Link) {
	switch l.State {
	case cluster.LinkLive:
		s.say(view.NewEvent(view.CodeAPIAnswers, "API server", view.Facts{}))
	case cluster.LinkDisconnected:
		s.say(view.NewEvent(view.CodeAPILost, "API server", view.Facts{Reported: l.Err}))
	}
}

func (s *Session) carryOut(i view.Intent) {
	switch i := i.(type) {
	case view.AskPower:
		s.switching.ask(i)
	case view.AskNodes:
		s.drains.act(i, s.switching.draining)
	case view.Answer:
		s.opt.Questions.answered(i)
	case view.StartLoad:
		s.loads.ask(i)
	case view.StopLoad:
		s.loads.stop(i)
	case view.SetFocus:
		s.opt.Target.SetFocus(i.Deployment)
	case view.SwitchScope:
		s.moving.ask(i)
	case view.Inspect:
		s.inspections.ask(i)
	case view.AskRollout:
		s.rollouts.ask(i)
	case view.Remark:
		s.say(view.NewEvent(view.CodeRemark, "remark", view.Facts{Reported: i.Text}))
	case view.AskQuit:
		if s.guest.Running() {
			s.carryOut(view.AskTrial{})
			return
		}
		s.leaving.ask()
	case view.AskTrial, view.NextStep:
		if !s.switching.asking() {
			s.guest.Handle(Asked{i})
		}
	case view.End:
		s.leaving.end(i)
	default:
		s.guest.Handle(Asked{i})
	}
}

// publish hands out a frame of how things stand.
func (s *Session) publish() *view.Frame {
	s.loads.sayResult()
	now := s.now()
	unwritten := s.rec.sayHealth(&s.health)
	f := &view.Frame{
		Title: view.Title{
			Cluster: s.opt.Cluster, Via: s.opt.Via, Pace: s.opt.Pace, Namespaces: s.opt.Namespaces,
			ReadOnly: s.opt.ReadOnly, DryRun: s.opt.DryRun, Production: s.opt.Production,
		},
		Now: now, Zero: s.rec.timeline.Zero(),
		Snapshot:  s.snapshot,
		Power:     s.machines.shown(),
		Outages:   s.machines.spans.Spans(),
		History:   s.history,
		Events:    s.rec.timeline.Last(eventsShown),
		Notice:    s.notice,
		Recording: s.rec.kept,
		NoLoad:    s.opt.NoLoad,
		Focus:     s.opt.Target.Focus(),
		Question:  s.opt.Questions.first(),
		Switching: s.switching.nodes(),

		LeavesAfter: s.leaving.waitsFor(),
		Inspection:  s.inspections.newest(),
		Scopes:      s.moving.known,
		Kubectl:     s.opt.Kubectl,
		Program:     s.opt.Program,
		Restore:     s.opt.Restore,
	}
	if f.Snapshot != nil {
		booting := s.machines.booting()
		s.next.On = s.machines.proven(power.On)
		maps.DeleteFunc(s.next.On, func(n string, _ bool) bool { return slices.Contains(booting, n) })
		off := slices.DeleteFunc(s.machines.down(), func(n string) bool { return slices.Contains(booting, n) })
		s.next.GoingOff = slices.DeleteFunc(slices.Clone(off), func(n string) bool { return !s.machines.views[n].Busy.GoesOff() })
		f.Next = slices.Concat(s.switching.drains.next(), s.next.Lines(f.Snapshot, off, now), s.machines.awaited(booting))
	}
	if s.opt.Load != nil {
		f.Load = *s.opt.Load.Run()
	}
	if unwritten != nil {
		f.Recording, f.RecordErr = false, fmt.Sprintf("the record can't be written: %v", unwritten)
	}
	s.rec.names.Learn(f) // before anybody keeps it
	s.guest.Show(f)
	view.Renew(s.frames, f)
	return f
}

// historyLen is how many seconds of available replicas are kept.
const historyLen = 120

// historyMost bounds the deployments that a history is kept for, so that a
// cluster of thousands costs nothing; the first ones in order are kept.
const historyMost = 200

// history is the available replicas of deployments, once a second. It is not
// changed any more: frames that were handed out hold it.
type history map[cluster.Key][]int

// with returns the history extended by a snapshot.
func (h history) with(s *cluster.Snapshot) history {
	next := make(history, len(h))
	all := s.Deployments()
	for _, d := range all[:min(len(all), historyMost)] {
		old := h[d.Key]
		old = old[max(0, len(old)-historyLen+1):]
		next[d.Key] = append(slices.Clone(old), d.Available)
	}
	return next
}

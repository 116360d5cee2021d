package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// Watcher is the part of cluster.Watcher that the engine reads.
type Watcher interface {
	Snapshot() *cluster.Snapshot
	Changed() <-chan struct{}
	// Link is the connection's state as of now.
	Link() cluster.Link
}

// Options is what an Engine is made of. Watcher, Fleet and Load may be nil;
// what depends on them then says that it is missing.
type Options struct {
	// Cluster, Via and Pace are shown in the title.
	Cluster, Via, Pace string
	// ReadOnly hides switching; DryRun does everything but the switching;
	// Production asks for the cluster's name before switching off.
	ReadOnly, DryRun, Production bool

	Watcher Watcher
	Fleet   *power.Fleet
	Journal *power.Journal
	// NoPower says in one sentence why machines can't be switched; empty when
	// they can.
	NoPower string

	Load *loadgen.Generator
	// NoLoad says in one sentence why no load can be sent.
	NoLoad string
	// Focus is the deployment that the load goes to, if it is known.
	Focus cluster.Key

	// Self names this program's own machine and the way to the cluster, for
	// the guards; it may look names up.
	Self func(ctx context.Context) power.Self

	// Guards tightens what is refused when something is to be switched off.
	Guards power.Limits

	// Rollout restarts a deployment's rollout; nil when it can't be done.
	Rollout func(ctx context.Context, deployment cluster.Key) error
	// Drain cordons and drains nodes; nil when that can't be done.
	Drain Drainer

	// Dir is the folder of the session's record; empty keeps none.
	Dir string
	// TrialsDir is where the folders of trials are made; Plans are offered to
	// the operator.
	TrialsDir string
	Plans     []*plan.Plan
	// Render draws a frame as a screen of that size, for the recording of a
	// trial: height lines of width cells, with SGR sequences only. It is called
	// by one goroutine at a time. Nil records no screen.
	Render func(f *view.Frame, width, height int) string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Engine owns a session: it gathers what the ground packages see, carries
// intents out and hands frames to whoever shows them. Send, Ask, Transition,
// Frames and Timeline are safe for use by several goroutines.
type Engine struct {
	opt      Options
	now      func() time.Time
	timeline *record.Timeline
	requests *record.Requests
	mail     mailbox
	failing  loadgen.Spells
	frames   chan *view.Frame
	snapshot atomic.Pointer[cluster.Snapshot]
	focus    atomic.Pointer[cluster.Key]
	work     sync.WaitGroup // goroutines that outlast one turn of the loop

	// Owned by the loop of Run.
	ctx       context.Context
	ending    bool
	dirty     bool
	machines  map[string]view.MachineView
	bindings  map[string]power.Binding
	bound     atomic.Pointer[[]power.Binding]
	resolved  string // the nodes that bindings were resolved for
	resolving bool
	questions []*asked
	history   history
	notice    string
	noticeAt  time.Time
	leftOff   map[string]power.LeftOff
	cordons   cordons
	greeted   bool
	asking    bool // an view.AskPower is being prepared
	nextID    int
	// leaveWhenOn: the operator leaves as soon as everything is on again.
	leaveWhenOn bool
	linkState   cluster.LinkState
	outages     outages
	run         *run
	refused     error // why the last trial was not started
	// steady is the run of the hold or rate that was started last.
	steady int
	last   *view.Frame

	// tracked is the trial that transitions and requests are kept for.
	tracked atomic.Pointer[run]
}

// asked is a question and what to do with its answer.
type asked struct {
	question *view.Question
	answer   func(view.Answer)
}

// NewEngine makes an engine and its record. The error says why the record
// can't be kept.
func NewEngine(opt Options) (*Engine, error) {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	var events, requests string
	if opt.Dir != "" {
		events, requests = filepath.Join(opt.Dir, "events.jsonl"), filepath.Join(opt.Dir, "requests.jsonl")
	}
	tl, err := record.NewTimeline(events, opt.Now)
	if err != nil {
		return nil, err
	}
	rl, err := record.NewRequests(requests)
	if err != nil {
		return nil, errors.Join(err, tl.Close())
	}
	e := &Engine{
		opt: opt, now: opt.Now, timeline: tl, requests: rl,
		frames:   make(chan *view.Frame, 1),
		machines: map[string]view.MachineView{}, bindings: map[string]power.Binding{},
		leftOff: map[string]power.LeftOff{},
	}
	e.mail.notify = make(chan struct{}, 1)
	if opt.Focus != (cluster.Key{}) {
		e.focus.Store(&opt.Focus)
	}
	return e, nil
}

// Parts is what can only be made with the engine's own hooks (Transition,
// Backends, Ask). See the fields of Options of the same names.
type Parts struct {
	Watcher Watcher
	Fleet   *power.Fleet
	Journal *power.Journal
	Load    *loadgen.Generator
	Self    func(ctx context.Context) power.Self
	Rollout func(ctx context.Context, deployment cluster.Key) error
	Drain   Drainer
}

// SetParts hands the parts over. It must be called before Run.
func (e *Engine) SetParts(p Parts) {
	e.opt.Watcher, e.opt.Fleet, e.opt.Journal = p.Watcher, p.Fleet, p.Journal
	e.opt.Load, e.opt.Self, e.opt.Rollout, e.opt.Drain = p.Load, p.Self, p.Rollout, p.Drain
}

// Timeline is the engine's list of events.
func (e *Engine) Timeline() *record.Timeline { return e.timeline }

// Frames hands out frames, at most ten a second, the newest only. It is closed
// when Run returns.
func (e *Engine) Frames() <-chan *view.Frame { return e.frames }

// Send asks for i to be carried out. It never blocks.
func (e *Engine) Send(i view.Intent) { e.mail.post(func() { e.carryOut(i) }) }

// StartTrial starts a trial; a nil plan is one by keyboard. Why it can't be
// started is told by TrialOutcome, or shown. It never blocks.
func (e *Engine) StartTrial(p *plan.Plan, opt RunOptions) {
	e.mail.post(func() {
		if err := e.startTrial(p, opt); err != nil {
			e.trialRefused(opt, err)
		}
	})
}

// Transition puts what the cluster shows on the timeline. It is the watcher's sink.
func (e *Engine) Transition(t cluster.Transition) {
	e.timeline.Add(eventOf(t))
	if r := e.tracked.Load(); r != nil {
		e.mail.post(func() { r.tracker.Transition(t) })
	}
}

// Record keeps the evidence of one ended request. It is the generator's sink.
func (e *Engine) Record(r loadgen.Record) {
	e.requests.Add(r)
	if c, ok := e.failing.Note(&r); ok {
		e.say(spellEvent(c, &r))
	}
	if t := e.tracked.Load(); t != nil {
		t.requests.Add(r)
		e.mail.post(func() { e.watchRequest(r) })
	}
}

// Ask shows q and waits for its answer. It returns the context's error when
// that ends first, or an error when the engine has ended.
func (e *Engine) Ask(ctx context.Context, q view.Question) (view.Answer, error) {
	got := make(chan view.Answer, 1)
	var shown *asked
	e.mail.post(func() { shown = e.ask(q, func(a view.Answer) { got <- a }) })
	select {
	case a := <-got:
		return a, nil
	case <-ctx.Done():
		e.mail.post(func() { e.withdraw(shown) })
		return view.Answer{}, ctx.Err()
	}
}

const (
	frameEvery = 100 * time.Millisecond
	// beat is how often things that change with time alone are looked at.
	beat = time.Second
	// readEvery is how often machines' power states are read when nothing is
	// being switched.
	readEvery = 5 * time.Second
	// eventsShown bounds the events handed out with a frame.
	eventsShown = 500
)

// Run carries the session until ctx ends or the operator leaves. It returns
// when everything that it started has ended; the record is complete then.
func (e *Engine) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e.ctx = ctx
	defer close(e.frames)
	e.start()

	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	var changed <-chan struct{}
	if e.opt.Watcher != nil {
		changed = e.opt.Watcher.Changed()
	}
	e.tick()
	var last time.Time
	frameDue := time.NewTimer(0)
	defer frameDue.Stop()
	armed := true
	for !e.ending {
		var loadChanged <-chan struct{}
		if e.opt.Load != nil {
			loadChanged = e.opt.Load.Changed()
		}
		select {
		case <-ctx.Done():
			e.ending = true
		case <-e.mail.notify:
			for _, f := range e.mail.take() {
				f()
			}
			e.dirty = true
		case <-changed:
			e.look()
			e.dirty = true
		case <-loadChanged:
			e.dirty = true
		case <-e.timeline.Changed():
			e.dirty = true
		case <-ticker.C:
			e.tick()
			e.dirty = true
		case <-frameDue.C:
			armed = false
			if e.dirty {
				e.dirty = false
				last = time.Now()
				e.publish()
			}
		}
		e.advance()
		if e.dirty && !armed {
			frameDue.Reset(max(0, frameEvery-time.Since(last)))
			armed = true
		}
	}
	cancel()
	if e.opt.Load != nil {
		e.opt.Load.Close()
	}
	e.work.Wait()
	for _, f := range e.mail.take() {
		f()
	}
	if e.running() {
		e.run.aborted = true
		e.judge(e.run)
		e.work.Wait()
	}
	for _, f := range e.mail.take() { // outcomes that came in while ending
		f()
	}
	return errors.Join(e.requests.Close(), e.timeline.Close())
}

func (e *Engine) start() {
	e.say(view.Event{Lane: view.LaneOperator, Subject: "lightsout", Text: "session started"})
	if e.opt.Journal != nil {
		e.readLeftOff()
	}
	if e.opt.Load != nil {
		e.goDo(func() { e.followLoad(e.ctx) })
	}
	if e.opt.Fleet != nil {
		e.goDo(func() {
			e.opt.Fleet.Watch(e.ctx, func() []power.Binding {
				if b := e.bound.Load(); b != nil {
					return *b
				}
				return nil
			}, readEvery, func(node string, r power.Reading) {
				e.mail.post(func() { e.reading(node, r) })
			})
		})
	}
}

// goDo runs f in a goroutine that Run waits for.
func (e *Engine) goDo(f func()) {
	e.work.Add(1)
	go func() {
		defer e.work.Done()
		f()
	}()
}

func (e *Engine) say(ev view.Event) { e.timeline.Add(ev) }

// warn shows a sentence at once and keeps it on the timeline.
func (e *Engine) warn(lane view.Lane, subject, text string) {
	e.notice, e.noticeAt = text, e.now()
	e.say(view.Event{Lane: lane, Subject: subject, Text: text, Level: view.Warning})
}

func (e *Engine) tick() {
	e.look()
	e.watchDrains()
	if s := e.snapshot.Load(); s != nil {
		e.history.sample(s, e.now())
	}
}

// look takes the newest snapshot and follows up on what is new in it.
func (e *Engine) look() {
	if e.opt.Watcher == nil {
		return
	}
	s := e.opt.Watcher.Snapshot()
	if s == nil {
		return
	}
	e.snapshot.Store(s)
	if s.Link.State != e.linkState {
		e.sayLink(s.Link)
		e.linkState = s.Link.State
	}
	if e.focus.Load() == nil {
		for _, d := range s.Deployments() {
			if d.Knative != nil {
				e.setFocus(d.Key)
				break
			}
		}
	}
	e.followLink(s.Link)
	if s.Link.State == cluster.LinkLive {
		e.outages.look(s, e.now())
	}
	e.settleBoots(s)
	e.settleCordons(s)
	e.resolve(s)
	e.watchTrial(s)
}

func (e *Engine) sayLink(l cluster.Link) {
	switch l.State {
	case cluster.LinkLive:
		e.say(view.Event{Lane: view.LaneLink, Subject: "API server", Text: "answers", Level: view.Good})
	case cluster.LinkLost:
		e.say(view.Event{Lane: view.LaneLink, Subject: "API server", Text: "does not answer: " + l.Err, Level: view.Bad})
	}
}

func (e *Engine) setFocus(k cluster.Key) { e.focus.Store(&k) }

func (e *Engine) carryOut(i view.Intent) {
	switch i := i.(type) {
	case view.AskPower:
		e.askPower(i)
	case view.Answer:
		e.answered(i)
	case view.StartLoad:
		e.startLoad(i.Spec)
	case view.StopLoad:
		e.stopLoad(i.Cancel)
	case view.SetFocus:
		e.setFocus(i.Deployment)
	case view.AskTrial:
		e.askTrial()
	case view.NextStep:
		e.nextStep(i.Step)
	case view.AbortTrial:
		e.abortTrial(i.Why)
	case view.AskRollout:
		e.askRollout(i.Deployment)
	case view.Mark:
		e.say(view.Event{Lane: view.LaneOperator, Subject: "mark", Text: i.Text})
	case view.AskQuit:
		e.askQuit()
	}
}

func (e *Engine) publish() {
	now := e.now()
	f := &view.Frame{
		Title: view.Title{
			Cluster: e.opt.Cluster, Via: e.opt.Via, Pace: e.opt.Pace,
			ReadOnly: e.opt.ReadOnly, DryRun: e.opt.DryRun, Production: e.opt.Production,
		},
		Now: now, Zero: e.timeline.Zero(),
		Snapshot:  e.snapshot.Load(),
		Power:     e.machineViews(),
		History:   e.history.shown(),
		Events:    e.timeline.Last(eventsShown),
		Notice:    view.Notice{Text: e.notice, At: e.noticeAt},
		Recording: e.opt.Dir != "",
		LoadReady: e.opt.NoLoad,
	}
	if f.Snapshot != nil {
		f.Next = cluster.Next(f.Snapshot, now)
	}
	if k := e.focus.Load(); k != nil {
		f.Focus = *k
	}
	if e.opt.Load != nil {
		f.Load = *e.opt.Load.Run()
	}
	if len(e.questions) > 0 {
		f.Question = e.questions[0].question
	}
	if err := errors.Join(e.timeline.Err(), e.requests.Err()); err != nil {
		f.Recording, f.RecordErr = false, fmt.Sprintf("the record can't be written: %v", err)
	}
	f.Outages = e.outages.spans
	if r := e.run; r != nil {
		for _, l := range r.loads {
			e.atRest(l) // notes when it came to rest
		}
		r.gauge(f.Load.Gauge)
		f.Trial = r.view()
		if r.stage != stageOver {
			r.sampler.Offer(f)
			if err := errors.Join(r.requests.Err(), r.sampler.Err()); err != nil {
				f.Recording, f.RecordErr = false, fmt.Sprintf("the trial's record can't be written: %v", err)
			}
		}
	}
	e.last = f
	select { // newest wins; this goroutine is the only sender
	case <-e.frames:
	default:
	}
	e.frames <- f
}

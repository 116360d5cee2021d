package tui

import (
	"maps"
	"reflect"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

// Options is what a Model is made of.
type Options struct {
	// Send takes what the operator wants. It is called from Update and must
	// not block. Nil leaves intents away.
	Send func(view.Intent)
	// ASCII draws with ASCII characters only. It is chosen by itself where
	// the environment says that box drawing is two cells wide
	// (RUNEWIDTH_EASTASIAN).
	ASCII bool
	// NoColor uses bold, faint and reverse only.
	NoColor bool
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Burst, Hold and Rate are what the load keys send at first; 0 means 16,
	// 16 and 1.
	Burst, Hold int
	Rate        float64
	// LoadOnly begins with the requests on the whole screen: there is no
	// cluster.
	LoadOnly bool
}

// FrameMsg hands a new frame to the Model.
type FrameMsg struct{ *view.Frame }

// tickMsg moves the clocks on the screen, once a second.
type tickMsg struct{}

// Model is the whole screen. It is used by one goroutine, the tea.Program's.
type Model struct {
	opts         Options
	live, replay *keymap
	s            scene
	w, h         int

	nodes       nodesPane
	deployments deploymentsPane
	pods        podsPane
	requests    requestsPane
	timeline    timelinePane
	trial       trialPane
	focus, list paneID // list is the list pane used last
	before      paneID // where the focus was before the whole trial was shown
	zoom        bool
	step        stepGuard

	dialogs  []dialog
	answered map[string]bool

	got      time.Time // when the frame came, by opts.Now
	any      bool      // a frame has come
	flash    string
	flashAt  time.Time
	quitAt   time.Time // of the last ctrl+c
	cancelAt time.Time // until when a second stop cancels

	// What the panes show, counted up when it changes.
	snapGen, powerGen, loadGen, eventGen, trialGen, uiGen uint64
	cache                                                 [paneCount]drawn
	content                                               string
	dirty                                                 bool
}

// New makes the screen. It shows that it is connecting until the first frame.
func New(o Options) *Model {
	if o.Send == nil {
		o.Send = func(view.Intent) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Burst < 1 {
		o.Burst = 16
	}
	if o.Hold < 1 {
		o.Hold = 16
	}
	if !(o.Rate > 0) {
		o.Rate = 1
	}
	o.ASCII = o.ASCII || ansi.StringWidthWc("─") != 1
	m := &Model{opts: o, live: liveKeys(), replay: replayKeys(), answered: map[string]bool{}, dirty: true}
	m.s = scene{
		t: newTheme(o.ASCII, o.NoColor), f: emptyFrame, snap: emptySnapshot,
		marks: map[string]bool{},
		sizes: sizes{burst: o.Burst, hold: o.Hold, rate: o.Rate, last: loadgen.Burst},
	}
	if o.LoadOnly {
		m.focus, m.zoom = paneRequests, true
	}
	return m
}

// Init starts the clock.
func (m *Model) Init() tea.Cmd { return tick() }

func tick() tea.Cmd {
	return tea.Every(time.Second, func(time.Time) tea.Msg { return tickMsg{} })
}

// Update takes a frame, a key, a size or the clock's tick. It never waits.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case FrameMsg:
		if msg.Frame != nil {
			m.adopt(msg.Frame)
			m.dirty = true
		}
	case tickMsg:
		m.dirty = true
		return m, tick()
	case tea.WindowSizeMsg:
		m.w, m.h, m.dirty = msg.Width, msg.Height, true
	case tea.KeyPressMsg:
		m.clock()
		m.uiGen++
		m.dirty = true
		return m, m.press(msg)
	case tea.PasteMsg:
		m.clock()
		m.dirty = true
		if d := m.top(); d != nil && !m.absorbed(d) {
			d.paste(msg.Content)
			m.uiGen++
		}
	}
	return m, nil
}

// clock sets the scene's time: the frame's own, moved on by what has passed
// since it came. A replay's time is the frame's alone: it may stand still, or
// run faster than ours.
func (m *Model) clock() {
	now := m.opts.Now()
	if m.s.f.Replay != nil {
		m.s.now = m.s.f.Now
		return
	}
	if m.any && !m.s.f.Now.IsZero() {
		m.s.now = m.s.f.Now.Add(max(0, now.Sub(m.got)))
		return
	}
	m.s.now = now
}

// adopt takes a new frame and finds out what of the screen it changes.
func (m *Model) adopt(f *view.Frame) {
	old := m.s.f
	m.s.f, m.s.snap = f, f.Snapshot
	if m.s.snap == nil {
		m.s.snap = emptySnapshot
	}
	m.got = m.opts.Now()
	first := !m.any
	m.any = true
	m.clock()
	if first {
		m.s.start = m.s.now.Add(time.Second)
	}
	if f.Snapshot != old.Snapshot || f.Focus != old.Focus || first {
		m.snapGen++
		m.dropMarks()
		m.settle()
	}
	if !maps.Equal(f.Power, old.Power) {
		m.powerGen++
	}
	if f.LoadReady != old.LoadReady || !reflect.DeepEqual(f.Load, old.Load) || !slices.Equal(f.Outages, old.Outages) {
		m.loadGen++
	}
	if f.Trial != old.Trial || f.Zero != old.Zero {
		m.trialGen++
	}
	if f.Trial == nil && m.focus == paneTrial {
		m.focus, m.zoom = m.list, false
	}
	m.step.follow(f.Trial)
	if !sameEvents(f.Events, old.Events) || !slices.Equal(f.Next, old.Next) || f.Zero != old.Zero {
		m.eventGen++
		m.loadGen++ // its time axis has the same zero
		m.timeline.settle(&m.s)
	}
	if f.Replay != nil {
		m.question(nil) // what was asked then can't be answered now
		return
	}
	m.question(f.Question)
}

// sameEvents compares by sequence number: events do not change.
func sameEvents(a, b []view.Event) bool {
	if len(a) != len(b) {
		return false
	}
	return len(a) == 0 || a[0].Seq == b[0].Seq && a[len(a)-1].Seq == b[len(b)-1].Seq &&
		reflect.DeepEqual(a[0].Offset, b[0].Offset)
}

// dropMarks forgets the marks of nodes that are no longer there.
func (m *Model) dropMarks() {
	for name := range m.s.marks {
		if n := m.s.snap.Node(name); n == nil || !n.Gone.IsZero() {
			delete(m.s.marks, name)
		}
	}
}

// settle finds the rows of all lists anew.
func (m *Model) settle() {
	m.nodes.settle(&m.s)
	m.deployments.settle(&m.s)
	m.settlePods()
}

func (m *Model) settlePods() {
	node, _ := m.nodes.list.selected()
	dep, _ := m.deployments.list.selected()
	m.pods.settle(&m.s, node, dep)
}

// question opens, renews or closes the dialog of the frame's question.
func (m *Model) question(q *view.Question) {
	for i, d := range m.dialogs {
		open, ok := d.(*questionDialog)
		switch {
		case !ok:
		case q != nil && open.q.ID == q.ID:
			open.q = q
			if open.chosen >= len(open.choices()) || !open.open() {
				open.chosen = 0
			}
			return
		default:
			m.dialogs = slices.Delete(m.dialogs, i, i+1)
			m.question(q)
			return
		}
	}
	if q != nil && !m.answered[q.ID] {
		m.dialogs = append(m.dialogs, newQuestion(q))
	}
}

// top is the dialog that takes the keys; nil when there is none.
func (m *Model) top() dialog {
	if len(m.dialogs) == 0 {
		return nil
	}
	return m.dialogs[len(m.dialogs)-1]
}

// absorbed reports whether keys are still meant for what lay below a question.
func (m *Model) absorbed(d dialog) bool {
	q, ok := d.(*questionDialog)
	return ok && q.grace.absorbs(m.opts.Now())
}

// say shows a sentence in the key bar for a few seconds.
func (m *Model) say(text string) {
	m.flash, m.flashAt = text, m.opts.Now()
}

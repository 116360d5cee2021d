package tui

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

// Options holds the options of a Model.
type Options struct {
	// Send receives the operator's intents. Update calls it; it must not block. Nil
	// drops intents.
	Send func(view.Intent)
	// ASCII draws with ASCII characters only. It is the default if the environment
	// declares box drawing to be two cells wide (RUNEWIDTH_EASTASIAN).
	ASCII bool
	// NoColor uses bold, faint and reverse only; it goes before Theme.
	NoColor bool
	// Theme is "dark", "light" or "contrast"; empty is the terminal's own
	// sixteen colours.
	Theme string
	// Clipboard, in the first message on the clipboard, is what the terminal needs for it.
	Clipboard string
	// Caption stands below the panes from the start; see CaptionMsg.
	Caption string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Burst and Hold are the initial sizes of the load keys; 0 means 16.
	Burst, Hold int
}

// FrameMsg hands a new frame to the Model.
type FrameMsg struct{ *view.Frame }

// Messages from who shows the Model.
type (
	// RecordingMsg reports whether the screen is being recorded.
	RecordingMsg bool
	// CaptionMsg shows a caption below the panes, for who looks on; an empty one
	// takes it away.
	CaptionMsg string
	// SayMsg shows the operator a message for a few seconds. Copied is the path or command in it; empty if it
	// has none.
	SayMsg struct{ Text, Copied string }
)

// tickMsg moves the clocks on the screen, once a second.
type tickMsg struct{}

// Model is the whole screen. It is used by one goroutine, the tea.Program's.
type Model struct {
	opts Options
	keys []group // beside those of the panes
	s    scene
	w, h int

	panes   []*openPane
	active  *openPane
	list    *openPane // the list used last, which small screens show
	before  *openPane // where the active was before a pane was given the whole screen
	zoom    bool
	dialogs dialogs
	notices notices
	step    stepGuard

	got      time.Time // when the frame came, by opts.Now
	any      bool      // a frame has come
	quitAt   time.Time // of the last ctrl+c
	cancelAt time.Time // until when a second stop cancels
	stopAt   time.Time // until when, outside the requests pane, a second c stops

	changes    int          // changes of the data in the panes
	inspecting view.Inspect // the last request to the session
	rec        bool         // the screen is being recorded
	picture    bool         // of a record: nobody presses keys
	drawn      tea.View     // the screen after the last message
	report     ReportMsg    // the last requested report; without lines until it arrives
	cmd        tea.Cmd      // a command's result for the program
}

// New makes the screen. It shows that it is connecting until the first frame.
func New(o Options) *Model {
	if o.Send == nil {
		o.Send = func(view.Intent) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.ASCII = o.ASCII || ansi.StringWidthWc("─") != 1
	m := &Model{opts: o, keys: commonKeys()}
	m.panes = opened(m.keys)
	m.dialogs = dialogs{now: o.Now, answered: map[string]bool{}}
	m.s = scene{
		t: newTheme(o), f: emptyFrame, snap: emptySnapshot,
		marks: map[string]bool{}, caption: o.Caption,
		sizes: sizes{last: loadgen.Burst, of: map[loadgen.Shape]float64{
			loadgen.Burst: float64(cmp.Or(max(o.Burst, 0), 16)), loadgen.Hold: float64(cmp.Or(max(o.Hold, 0), 16)), loadgen.Rate: 1}},
	}
	m.active, m.list = m.panes[0], m.panes[0]
	m.drawn = m.screen()
	return m
}

// find gives a pane by its name.
func (m *Model) find(name string) *openPane {
	return m.panes[max(0, slices.IndexFunc(m.panes, func(p *openPane) bool { return p.name == name }))]
}

// Init starts the clock.
func (m *Model) Init() tea.Cmd { return tick() }

func tick() tea.Cmd {
	return tea.Every(time.Second, func(time.Time) tea.Msg { return tickMsg{} })
}

// Update handles a frame, a key, a size or the clock's tick, and draws the screen for
// View. It never waits.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if !m.take(msg) {
		return m, nil
	}
	m.settle()
	m.inspect()
	m.drawn = m.screen()
	cmd := m.cmd
	m.cmd = nil
	return m, cmd
}

// take handles a message, and reports whether it may change the screen.
func (m *Model) take(msg tea.Msg) bool {
	m.clock()
	switch msg := msg.(type) {
	case FrameMsg:
		if msg.Frame == nil {
			return false
		}
		m.adopt(msg.Frame)
	case RecordingMsg:
		m.rec = bool(msg)
	case CaptionMsg:
		m.s.caption, m.changes = string(msg), m.changes+1
	case SayMsg:
		m.notices.add(notice{text: msg.Text, copied: msg.Copied, at: m.opts.Now(), stands: noticeFor, st: m.s.t.strong})
	case ReportMsg:
		if msg.ShowReport == m.report.ShowReport { // another one may come late
			m.report = msg
		}
	case RecordsMsg:
		m.showRecords(msg)
	case tickMsg:
		m.cmd = tick()
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
		if len(m.dialogs.stack) > 0 && m.report.Width > 0 {
			m.askReport()
		}
	case tea.ResumeMsg: // somebody else has had the terminal
		redraw(m)
	case tea.KeyPressMsg:
		m.changes++
		m.press(msg)
	case tea.PasteMsg:
		m.changes++
		if m.dialogs.top() != nil {
			m.pressDialog(pressed{text: msg.Content})
		}
	default:
		return false
	}
	return true
}

// inspect asks the session for the object in the open dialog.
func (m *Model) inspect() {
	wanted := m.dialogs.inspect()
	if p, ok := m.active.pane.(*objectsPane); ok && wanted == (view.Inspect{}) {
		wanted = p.wanted
	}
	if wanted != m.inspecting && m.s.f.Replay == nil {
		m.inspecting = wanted
		m.opts.Send(wanted)
	}
}

// clock sets the scene's time: the frame's own time plus the time since its arrival. In
// a replay it is the frame's time alone: it may be paused, or run faster.
func (m *Model) clock() {
	switch now := m.opts.Now(); {
	case m.s.f.Replay != nil:
		m.s.now = m.s.f.Now
	case m.any && !m.s.f.Now.IsZero():
		m.s.now = m.s.f.Now.Add(max(0, now.Sub(m.got)))
	default:
		m.s.now = now
	}
}

// adopt takes a new frame.
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
	if first || !same(f, old) {
		m.changes++
	}
	if f.Snapshot != old.Snapshot {
		m.s.dropMarks()
	}
	if !m.active.isThere(f) {
		m.active, m.zoom = m.list, false
	}
	m.settle()
	if p, ok := m.active.pane.(*objectsPane); ok {
		p.leave(m)
	}
	m.step.follow(f.Trial)
	if n := f.Notice; n.Text != "" && !n.At.Equal(old.Notice.At) {
		sign, st := levelStyle(m.s.t, n.Level)
		if n.Level != view.Good {
			st = m.s.t.fresh
		}
		m.notices.add(notice{strings.TrimLeft(sign+" ", " ") + n.Text, hand{s: &m.s}.commandIn(n.Text), m.got.Add(n.At.Sub(m.s.now)), noticeFor, st, n.Level})
	}
	question := f.Question
	if f.Replay != nil {
		question = nil // an earlier question no longer accepts an answer
	}
	m.dialogs.question(question)
}

// same reports whether the panes show the same of two frames. Events do not change;
// a deployment's history grows at its end.
func same(a, b *view.Frame) bool {
	n := len(a.Events)
	return a.Snapshot == b.Snapshot && a.Focus == b.Focus && a.Trial == b.Trial && a.Zero == b.Zero && a.NoLoad == b.NoLoad &&
		n == len(b.Events) && (n == 0 || a.Events[n-1].Seq == b.Events[n-1].Seq) && slices.Equal(a.Next, b.Next) && slices.Equal(a.Outages, b.Outages) &&
		maps.Equal(a.Power, b.Power) && reflect.DeepEqual(a.Load, b.Load) &&
		maps.EqualFunc(a.History, b.History, func(x, y []int) bool {
			return len(x) == len(y) && (len(x) == 0 || &x[len(x)-1] == &y[len(y)-1] || slices.Equal(x, y))
		})
}

// settle lets the panes find their rows; one that is on the whole screen only, while it
// is shown.
func (m *Model) settle() {
	for _, p := range m.panes {
		if p.place != placeWhole || p == m.active {
			p.settle(&m.s)
		}
	}
}

// say shows the operator a message for a few seconds.
func (m *Model) say(text string) {
	m.notices.add(notice{text: text, at: m.opts.Now(), stands: answerFor, st: m.s.t.strong})
}

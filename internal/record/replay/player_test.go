package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

var t0 = time.Date(2026, 11, 21, 6, 10, 0, 0, time.UTC)

func at(s float64) time.Time { return t0.Add(time.Duration(s * float64(time.Second))) }

func jsonl[T any](t testing.TB, values ...T) string {
	t.Helper()
	var b strings.Builder
	for _, v := range values {
		one, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(one, '\n'))
	}
	return b.String()
}

func open(t testing.TB, files map[string]string) *record.Record {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	r, err := record.OpenFS(fsys, "example")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// minute is a record of a minute with an event and a sample each second and a
// keyframe each ten.
func minute(t testing.TB) *record.Record {
	var events []view.Event
	var samples []record.Sample
	for s := range 61 {
		events = append(events, view.Event{Seq: s + 1, At: at(float64(s)), Seen: at(float64(s)), Lane: "load", Subject: "load", Text: fmt.Sprint("second ", s)})
		x := record.Sample{At: at(float64(s)), Seq: s + 1, Key: s%10 == 0, Doing: ptr(fmt.Sprint(s)), Trial: &view.TrialView{Name: "t"}, End: s == 60}
		x.Cluster = &record.Cluster{Version: uint64(s), Nodes: []*cluster.Node{{Name: "n", Ready: cluster.TriTrue}}}
		samples = append(samples, x)
	}
	return open(t, map[string]string{record.EventsFile: jsonl(t, events...), record.SamplesFile: jsonl(t, samples...)})
}

func ptr[T any](v T) *T { return &v }

// clock is a clock that the test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// playing is a player under way with a clock of its own.
type playing struct {
	*Player
	t     *testing.T
	clock *clock
	ended chan error
}

func play(t *testing.T, r *record.Record, o Options) *playing {
	t.Helper()
	c := &clock{now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	o.Now = c.Now
	p, err := New(r, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	pl := &playing{Player: p, t: t, clock: c, ended: make(chan error, 1)}
	go func() { pl.ended <- p.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		for range p.Frames() { // closed when Run has returned
		}
		if err := <-pl.ended; err != nil {
			t.Error(err)
		}
	})
	return pl
}

// until gives the first frame for which ok holds.
func (p *playing) until(what string, ok func(*view.Frame) bool) *view.Frame {
	p.t.Helper()
	deadline := time.After(20 * time.Second)
	var last *view.Frame
	for {
		select {
		case f, open := <-p.Frames():
			if !open {
				p.t.Fatalf("%s: the replay has ended", what)
			}
			if ok(f) {
				return f
			}
			last = f
		case <-deadline:
			p.t.Fatalf("%s: not seen; the last frame is at %v, %+v", what, last.Now.Sub(t0), last.Replay)
		}
	}
}

func (p *playing) standsAt(s float64) *view.Frame {
	p.t.Helper()
	return p.until(fmt.Sprint("at ", s, " s"), func(f *view.Frame) bool { return f.Now.Equal(at(s)) })
}

func TestItPlaysAtItsSpeedAndStopsAtTheEnd(t *testing.T) {
	p := play(t, minute(t), Options{})
	f := p.standsAt(0)
	if f.Replay == nil || f.Replay.Paused || f.Replay.Speed != 1 || f.Replay.Dir != "example" || !f.Replay.End.Equal(at(60)) {
		t.Errorf("%+v", f.Replay)
	}
	p.clock.pass(2500 * time.Millisecond)
	if f = p.standsAt(2.5); f.Trial.Doing != "2" || len(f.Events) != 3 || f.Snapshot.Version != 2 || f.Trial.Dir != "example" {
		t.Errorf("at 2.5 s: %+v with %d events", f.Trial, len(f.Events))
	}
	p.Send(view.ReplaySpeed{Factor: 4})
	p.until("speed 4", func(f *view.Frame) bool { return f.Replay.Speed == 4 })
	p.clock.pass(time.Second)
	p.standsAt(6.5)
	p.Send(view.ReplayPause{})
	p.until("paused", func(f *view.Frame) bool { return f.Replay.Paused })
	p.clock.pass(time.Hour)
	p.Send(view.ReplaySpeed{Factor: 0.25})
	if f = p.until("speed 1", func(f *view.Frame) bool { return f.Replay.Speed == 1 }); !f.Now.Equal(at(6.5)) {
		t.Errorf("the clock went on while paused, to %v", f.Now.Sub(t0))
	}
	p.Send(view.ReplayPause{})
	p.until("playing", func(f *view.Frame) bool { return !f.Replay.Paused })
	p.clock.pass(time.Hour)
	if f = p.until("the end", func(f *view.Frame) bool { return f.Replay.Paused }); !f.Now.Equal(at(60)) || f.Trial.Doing != "60" || len(f.Events) != 61 {
		t.Errorf("the end is at %v: %+v", f.Now.Sub(t0), f.Trial)
	}
	p.Send(view.ReplayPause{}) // once more from the start
	p.until("the start", func(f *view.Frame) bool { return f.Now.Equal(at(0)) && !f.Replay.Paused })
}

func TestARecordBeginsWithItsFirstSample(t *testing.T) {
	p := play(t, open(t, map[string]string{
		record.EventsFile:  jsonl(t, view.Event{Seq: 1, At: at(0), Seen: at(0), Text: "trial started"}),
		record.SamplesFile: jsonl(t, record.Sample{At: at(0.5), Key: true, Seq: 1, Title: &view.Title{Cluster: "lab"}}),
	}), Options{Paused: true})
	if f := p.standsAt(0); f.Cluster != "lab" {
		t.Errorf("at the start: %+v", f.Title)
	}
}

func TestALoopBeginsAgainAtTheEnd(t *testing.T) {
	p := play(t, minute(t), Options{Loop: true})
	p.standsAt(0)
	p.clock.pass(30 * time.Second)
	p.standsAt(30)
	p.clock.pass(time.Hour)
	if f := p.standsAt(0); f.Replay.Paused {
		t.Error("it stands at the start")
	}
}

func TestSeekingIsKeptWithinTheRecord(t *testing.T) {
	p := play(t, minute(t), Options{Paused: true})
	for _, c := range []struct {
		seek view.ReplaySeek
		want float64
	}{
		{view.ReplaySeek{By: 15 * time.Second}, 15}, {view.ReplaySeek{By: -5 * time.Second}, 10}, {view.ReplaySeek{By: -time.Hour}, 0},
		{view.ReplaySeek{At: at(33.25)}, 33.25}, {view.ReplaySeek{At: at(1e6)}, 60}, {view.ReplaySeek{At: at(-5)}, 0},
		{view.ReplaySeek{By: 1<<63 - 1}, 60}, {view.ReplaySeek{By: -1 << 63}, 0},
	} {
		p.Send(c.seek)
		if f := p.standsAt(c.want); f.Trial.Doing != fmt.Sprint(int(c.want)) || !f.Replay.Paused {
			t.Errorf("%+v shows %q", c.seek, f.Trial.Doing)
		}
	}
}

func TestSpeedIsBounded(t *testing.T) {
	p := play(t, minute(t), Options{Paused: true, Speed: 1000})
	p.until("64", func(f *view.Frame) bool { return f.Replay.Speed == SpeedMost })
	p.Send(view.ReplaySpeed{Factor: 1e-9})
	p.until("0.25", func(f *view.Frame) bool { return f.Replay.Speed == SpeedLeast })
	for _, factor := range []float64{0, -1} {
		p.Send(view.ReplaySpeed{Factor: factor})
	}
	p.Send(view.ReplaySpeed{Factor: 2})
	p.until("0.5", func(f *view.Frame) bool { return f.Replay.Speed == 0.5 })
}

func TestNothingCanBeSwitchedInAReplay(t *testing.T) {
	for _, i := range []view.Intent{view.AskPower{}, view.StartLoad{}, view.AskRollout{}, view.NextStep{}, view.Remark{}} {
		p := play(t, minute(t), Options{Paused: true})
		p.Send(i)
		p.until(fmt.Sprintf("the notice after %T", i), func(f *view.Frame) bool { return strings.Contains(f.Notice.Text, "replay") })
		p.clock.pass(noticeFor)
		p.until("the notice's end", func(f *view.Frame) bool { return f.Notice.Text == "" })
	}
}

func TestLeavingEndsTheReplay(t *testing.T) {
	p := play(t, minute(t), Options{})
	p.Send(view.AskQuit{})
	for range p.Frames() { // until closed
	}
	for range 1000 {
		p.Send(view.ReplayPause{}) // does not block after the end
	}
}

func TestAnEmptyRecordIsNotPlayed(t *testing.T) {
	if _, err := New(open(t, map[string]string{record.EventsFile: ""}), Options{}); err == nil {
		t.Error("an empty record is played")
	}
}

func TestWithoutSamplesTheTimelineIsPlayed(t *testing.T) {
	off := -1.0
	r := open(t, map[string]string{record.EventsFile: jsonl(t,
		view.Event{Seq: 1, At: at(0), Seen: at(0), Text: "a", Offset: &off}, view.Event{Seq: 2, At: at(-1000), Seen: at(5), Text: "b"})})
	p := play(t, r, Options{Paused: true})
	if f := p.standsAt(0); len(f.Events) != 1 || !f.Zero.IsZero() {
		t.Errorf("%d events, zero %v", len(f.Events), f.Zero)
	}
	p.Send(view.ReplaySeek{At: at(5)})
	if f := p.standsAt(5); len(f.Events) != 2 || !f.Zero.Equal(at(1)) {
		t.Errorf("%d events, zero %v", len(f.Events), f.Zero)
	}
}

func TestMarksAreTheMomentsWorthSeeing(t *testing.T) {
	off := 0.0
	var events []view.Event
	add := func(s float64, e view.Event) {
		e.Seq, e.At, e.Seen = len(events)+1, at(s), at(s)
		events = append(events, e)
	}
	add(0, view.Event{Lane: "operator", Subject: "lightsout", Text: "session started"})
	add(5, view.Event{Lane: "load", Subject: "load", Facts: view.Facts{Name: "hold at 12"}, Code: view.CodeLoadStarted})
	add(10, view.Event{Lane: "operator", Subject: "trial", Text: "zero", Offset: &off})
	add(12, view.Event{Lane: "power", Subject: "n3", From: "on", To: "off", Code: view.CodeMachineState})
	add(12.5, view.Event{Lane: "power", Subject: "n4", From: "on", To: "off", Code: view.CodeMachineState})
	add(20, view.Event{Lane: "node", Kind: "node", Subject: "n3", From: "Ready", To: "NotReady (silent)", Code: view.CodeNodeStatus, Change: cluster.ChangeStatus, Was: cluster.HealthGood, Is: cluster.HealthBad})
	add(21, view.Event{Lane: "node", Kind: "node", Subject: "n3", From: "NotReady (silent)", To: "NotReady", Code: view.CodeNodeStatus, Change: cluster.ChangeStatus, Was: cluster.HealthBad, Is: cluster.HealthBad})
	for i := range 16 {
		add(30+float64(i), view.Event{Lane: "pod", Kind: "pod", Subject: fmt.Sprint("p", i), From: "Running", To: "Terminating", Why: "node n3 is NotReady (silent)", Code: view.CodePodStatus, Change: cluster.ChangeStatus, Is: cluster.HealthChanging, Cause: cluster.CauseNodeNotReady})
	}
	add(50, view.Event{Lane: "operator", Subject: "remark", Facts: view.Facts{Reported: "here"}, Code: view.CodeRemark})
	add(55, view.Event{Lane: "power", Subject: "n3", From: "off", To: "on", Code: view.CodeMachineState})
	add(59, view.Event{Lane: "node", Kind: "node", Subject: "n3", From: "NotReady", To: "Ready", Code: view.CodeNodeStatus, Change: cluster.ChangeStatus, Was: cluster.HealthBad, Is: cluster.HealthGood})
	requests := jsonl(t, loadgen.Record{ID: "1", Class: loadgen.ClassOK, Scheduled: at(6), End: at(7)},
		loadgen.Record{ID: "2", Class: loadgen.ClassPeerDead, Scheduled: at(13), End: at(25)}, loadgen.Record{ID: "3", Class: loadgen.ClassPeerDead, Scheduled: at(14), End: at(24)})
	samples := jsonl(t, record.Sample{At: at(0), Key: true}, record.Sample{At: at(60), Trial: &view.TrialView{Name: "t", Verdict: view.Pass}},
		record.Sample{At: at(61), Key: true, Trial: &view.TrialView{Name: "t", Verdict: view.Pass}})
	marks := marksOf(open(t, map[string]string{record.EventsFile: jsonl(t, events...), record.RequestsFile: requests, record.SamplesFile: samples}))
	var got []string
	for _, m := range marks {
		got = append(got, fmt.Sprintf("%g %s", m.At.Sub(t0).Seconds(), m.Text))
	}
	want := "5 hold at 12|10 zero|12.5 n3, n4 machine off|20 n3 NotReady|24 first failure|30 pods evicted|50 here|55 n3 machine on|59 n3 Ready|60 verdict: pass"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("the marks are\n%s\nand not\n%s", s, want)
	}
}

// FuzzPlay plays whatever the samples say: no moment of it may be the end of
// the program, and a moment is the same however it was come to.
func FuzzPlay(f *testing.F) {
	f.Add(jsonl(f, minute(f).Samples[:12]...), int64(5e9))
	f.Add(`{"at":"2026-11-21T06:10:00Z","key":true,"cluster":{"nodes":[null,{"Name":"a"}],"pods":[{"Node":"a"}]},"load":{"from":1,"to":99999}}`+"\n"+
		`{"at":"2026-11-21T06:10:09Z","more":true,"cluster":{"gone_nodes":["a"]},"machines":{"a":null},"next":null,"trial":{"name":"x"}}`+"\n"+
		`{"at":"2026-11-21T06:10:09Z","question":{"title":"?"},"outages":[]}`+"\n", int64(9e9))
	f.Fuzz(func(t *testing.T, samples string, by int64) {
		fsys := fstest.MapFS{record.EventsFile: {}, record.SamplesFile: {Data: []byte(samples)}}
		r, err := record.OpenFS(fsys, "DIR")
		if err != nil || r.Start.IsZero() {
			return
		}
		one := newFrames(r)
		moment := r.Start.Add(time.Duration(by))
		for _, t := range []time.Time{r.Start, r.End, moment, r.Start.Add(-time.Hour)} {
			one.frame(t)
		}
		back, straight := one.frame(moment), newFrames(r).frame(moment)
		if b, s := text(back), text(straight); b != s {
			t.Fatalf("coming back shows\n%s\nand not\n%s", b, s)
		}
	})
}

// text is a frame in a form that can be compared.
func text(f *view.Frame) string {
	c := *f
	var contents cluster.Contents
	if f.Snapshot != nil {
		contents = f.Snapshot.Contents()
	}
	c.Snapshot, c.History = nil, nil
	a, _ := json.Marshal(c) //lint:ignore SA1026 History, whose keys are no strings, is nil
	b, _ := json.Marshal(contents)
	return string(a) + string(b)
}

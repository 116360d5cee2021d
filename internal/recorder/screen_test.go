package recorder

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/planned"
	"lightsout/internal/record"
	"lightsout/internal/report"
	"lightsout/internal/session"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// screen is a session with an operator, and a Recorder as its guest. A look takes a second.
type screen struct {
	*Recorder
	t        *testing.T
	now      time.Time
	shared   atomic.Pointer[time.Time] // now, for the goroutines of the recorder
	down     map[string]time.Time      // nodes that are NotReady, and since when
	noted    map[string]bool           // nodes whose machines lightsout switched off
	off      map[string]bool           // machines that the operator left off
	kept     bool
	plans    planned.Offs
	seen     *cluster.Snapshot // the newest; nil before the first
	timeline *record.Timeline
	printed  []string
	sight    cluster.Sight
	// change changes what the cluster shows; it may be nil.
	change func(*cluster.Contents)
}

func (s *screen) Async(_ time.Duration, work func(context.Context) error, then func(error)) {
	then(work(s.t.Context()))
}

func (s *screen) Publish() *view.Frame {
	f := &view.Frame{Now: s.now, Snapshot: s.Snapshot(), Zero: s.timeline.Zero()}
	s.Show(f)
	return f
}
func (s *screen) Say(e view.Event)          { s.timeline.Add(e) }
func (s *screen) Focus() cluster.Key        { return cluster.Key{} }
func (s *screen) Plans() planned.Offs       { return s.plans }
func (s *screen) Outlook([]string) []string { return nil }
func (s *screen) WantKubelets(...string)    {}
func (s *screen) Machine(node string) view.MachineView {
	return view.MachineView{LeftOff: s.off[node]}
}
func (s *screen) Standing(node string) power.Standing {
	if s.off[node] {
		return power.StandsOff
	}
	return power.StandsOn
}
func (s *screen) StartLoad(loadgen.Spec) (int, time.Time, error) {
	s.t.Error("the screen sends requests of its own")
	return 0, time.Time{}, nil
}
func (s *screen) Snapshot() *cluster.Snapshot {
	c := cluster.Contents{At: s.now, Link: cluster.Link{State: cluster.LinkLive, LastContact: s.now}, Access: map[cluster.Kind]cluster.Access{}}
	for _, k := range cluster.Kinds {
		c.Access[k] = cluster.Access{Synced: true}
	}
	for _, name := range []string{"n1", "n2", "n3"} {
		n := &cluster.Node{Name: name, Ready: cluster.TriTrue, ReadySince: s.now.Add(-time.Hour), Created: s.now.Add(-2 * time.Hour)}
		if since, down := s.down[name]; down {
			n.Ready, n.ReadySince = cluster.TriUnknown, since
		}
		if s.noted[name] {
			n.Annotations = map[string]string{power.AnnotationSwitchedOff: power.Note{By: "me@here"}.Text()}
		}
		c.Nodes = append(c.Nodes, n)
	}
	if s.change != nil {
		s.change(&c)
	}
	s.sight.Look(cluster.NewSnapshot(c), s.now)
	c.Blind = s.sight.Spans()
	return cluster.NewSnapshot(c)
}

func newScreen(t *testing.T) *screen {
	s := newScreenOf(t, 64<<20, func(*Options) {})
	s.look(3)
	return s
}

// newScreenOf is newScreen with so much memory for the past and changed options, before its first look.
func newScreenOf(t *testing.T, past int, change func(*Options)) *screen {
	s := &screen{t: t, down: map[string]time.Time{}, noted: map[string]bool{}, off: map[string]bool{}, plans: planned.Offs{}}
	s.setTime(time.Now())
	clock := func() time.Time { return *s.shared.Load() }
	var err error
	if s.timeline, err = record.NewTimeline("", clock); err != nil {
		t.Fatal(err)
	}
	opt := Options{
		Cluster: "test", Dir: filepath.Join(t.TempDir(), Folder), Timeline: s.timeline, Past: time.Minute, PastBytes: past,
		Steady: 10 * time.Second, KeepBytes: 1 << 30, Now: clock,
		Print: func(line string) { s.printed = append(s.printed, line) }, Trial: func() bool { return s.kept },
	}
	change(&opt)
	s.Recorder = New(s, opt)
	return s
}

func (s *screen) setTime(at time.Time) {
	s.now = at
	s.shared.Store(&at)
}

// loadStarted has the operator start a load.
func (s *screen) loadStarted(number int, spec loadgen.Spec) {
	s.Handle(session.LoadStarted{Number: number, Spec: spec, At: s.now})
}

// look lets seconds pass, with a look in each.
func (s *screen) look(seconds int) {
	for range seconds {
		s.setTime(s.now.Add(time.Second))
		s.turn()
	}
}

// turn shows the recorder the cluster, as the session does.
func (s *screen) turn() {
	was := s.seen
	s.seen = s.Snapshot()
	if s.seen.Link.State == cluster.LinkLive {
		for _, node := range s.plans.Follow(was, s.seen, s.now) {
			s.Handle(session.PlannedOff{Node: node, By: s.plans[node].By})
		}
	}
	s.observe(s.seen)
	s.Publish()
}

// fails begins the silence of a node.
func (s *screen) fails(node string) { s.down[node] = s.now }

// summaries ends the session and reads the records, the oldest first.
func (s *screen) summaries() (out []*record.Summary) {
	s.t.Helper()
	s.End()
	for _, dir := range record.SessionDirs(s.opt.Dir) {
		sum, err := record.Summarized(os.DirFS(dir))
		if err != nil || sum == nil || sum.Unplanned == nil || !exists(filepath.Join(dir, record.HTMLFile)) {
			s.t.Fatalf("%s: %+v %v", dir, sum, err)
		}
		out = append(out, sum)
	}
	return out
}

func signsOf(sum *record.Summary) (names []string) {
	for _, x := range sum.Unplanned.Signs {
		names = append(names, x.Subject+" "+string(x.Kind))
	}
	return names
}

func TestTheScreenRecordsAnOutageThatNobodyPlanned(t *testing.T) {
	s := newScreen(t)
	s.loadStarted(7, loadgen.Spec{Shape: loadgen.Rate, PerSecond: 1})
	ended := func(class loadgen.Class) {
		s.Record(loadgen.Record{Run: 7, Shape: loadgen.Rate, Class: class, Scheduled: s.now, Sent: s.now, End: s.now})
	}
	for range 3 { // the operator may send too much: failures alone begin no record
		ended(loadgen.ClassOK)
		ended(loadgen.ClassRefused)
		s.look(1)
	}
	if s.Publish().RecordsOutage {
		t.Fatal("failures alone began a record")
	}
	s.fails("n2")
	zero := s.now
	s.look(4)
	ended(loadgen.ClassRefused)
	s.look(1)
	if f := s.Publish(); !f.RecordsOutage {
		t.Error("the frame does not show the recording")
	}
	if rec, err := record.Open(s.Newest()); err != nil || !rec.Recording || !strings.Contains(strings.Join(report.Opening(rec), " "), "still recording") {
		t.Errorf("a reader takes the record for one that breaks off: %v", err)
	}
	delete(s.down, "n2")
	s.look(12)
	if f := s.Publish(); f.RecordsOutage {
		t.Error("the recording did not end")
	}
	all := s.summaries()
	if len(all) != 1 || !all[0].Zero.Equal(zero) || all[0].Unplanned.Severity != record.SeverityDegraded {
		t.Fatalf("%+v", all)
	}
	if l := all[0].Load; len(l) != 1 || l[0].Run != 7 || l[0].Failed != 1 || l[0].OK != 0 || !all[0].Ledger.Balanced {
		t.Errorf("%+v", l)
	}
	rec, err := record.Open(s.Newest())
	if err != nil || rec.Recording || !rec.Start.Before(zero) {
		t.Errorf("the record has no past: it begins at %s, zero is %s: %v", rec.Start, zero, err)
	}
	if last := s.printed[len(s.printed)-1]; !strings.Contains(last, filepath.Join(s.Newest(), record.HTMLFile)) {
		t.Errorf("the last line does not name the report: %q", last)
	}
}

// cuts has the operator switch a machine off, returns powers it on, and its node is back.
func (s *screen) cuts(node string) {
	s.Handle(power.Progress{Stage: power.StageSending, Action: power.ActionOff, Node: node, At: s.now})
	s.noted[node], s.off[node] = true, true
	s.fails(node)
}

func (s *screen) returns(node string) {
	s.Handle(power.Progress{Stage: power.StageSending, Action: power.ActionOn, Node: node, At: s.now})
	delete(s.noted, node)
	delete(s.off, node)
	delete(s.down, node)
}

// One outage leaves one record, whoever caused it.
func TestOneOutageOneRecord(t *testing.T) {
	for name, tc := range map[string]struct {
		do    func(s *screen)
		signs []string // of the only record; nil: there is none
		want  string   // in what was not seen
	}{
		"the operator's own": {func(s *screen) {
			s.cuts("n1")
			s.look(40)
			s.returns("n1")
			s.look(12)
		}, []string{"n1 off"}, ""},
		"left before it was quiet for long enough": {func(s *screen) {
			s.cuts("n1")
			s.look(40)
			s.returns("n1")
			s.look(1)
		}, []string{"n1 off"}, "the recording was stopped before"},
		"a machine is left off": {func(s *screen) {
			s.cuts("n1")
			s.look(40)
		}, []string{"n1 off"}, "stopped before the end of the outage"},
		"a trial's": {func(s *screen) {
			s.kept = true
			s.cuts("n1")
			s.look(30)
			s.kept = false
			s.look(5)
			s.returns("n1")
			s.look(5)
		}, nil, ""},
		"another node fails during a trial": {func(s *screen) {
			s.kept = true
			s.cuts("n1")
			s.fails("n3")
			s.look(5)
			s.returns("n1")
			s.look(2)
			s.kept = false
			s.look(5)
		}, []string{"n3 silent"}, ""},
		"the operator switches off during another": {func(s *screen) {
			s.fails("n2")
			s.look(4)
			s.cuts("n1")
			s.look(4)
			delete(s.down, "n2")
			s.look(15)
			s.returns("n1")
			s.look(15)
		}, []string{"n2 silent", "n1 off"}, ""},
		"a trial begins during one": {func(s *screen) {
			s.fails("n2")
			s.look(4)
			s.Yield()
			s.kept = true
			s.look(5)
			s.kept = false
			s.look(5)
		}, []string{"n2 silent"}, "the trial's record has the rest"},
	} {
		s := newScreen(t)
		tc.do(s)
		all := s.summaries()
		if tc.signs == nil {
			if len(all) > 0 {
				t.Errorf("%s: %d records", name, len(all))
			}
			continue
		}
		if len(all) != 1 || !slices.Equal(signsOf(all[0]), tc.signs) || !strings.Contains(strings.Join(all[0].Unplanned.Unseen, "\n"), tc.want) {
			t.Fatalf("%s: %d records: %+v", name, len(all), all[0].Unplanned)
		}
		if left := slices.Sorted(maps.Keys(s.off)); !slices.Equal(all[0].LeftOff, left) {
			t.Errorf("%s: the record has %v as left off", name, all[0].LeftOff)
		}
	}
}

// The screen leaves an outage to a recorder that runs, and takes over when that ends.
func TestTheScreenLeavesAnOutageToTheRecorder(t *testing.T) {
	s := newScreen(t)
	unlock, err := Lock(s.opt.Dir)
	if err != nil {
		t.Fatal(err)
	}
	s.fails("n1")
	s.look(5)
	if s.Running() || len(s.printed) != 1 || !strings.Contains(s.printed[0], "another lightsout records this outage") {
		t.Errorf("recording %t; %q", s.Running(), s.printed)
	}
	unlock()
	s.look(1)
	if !s.Running() {
		t.Error("nobody records the outage")
	}
	if _, err := Lock(s.opt.Dir); err == nil {
		t.Error("the screen does not lock the folder")
	}
	s.summaries()
	if unlock, err = Lock(s.opt.Dir); err != nil {
		t.Fatal(err)
	}
	unlock()
}

// An outage that begins and ends while the recorder is stopped leaves no sign; the
// recorder says for how long it saw nothing.
func TestARecorderThatWasStoppedReportsThat(t *testing.T) {
	s := newScreen(t)
	s.opt.Trial = nil
	s.look(3)
	if len(s.printed) > 0 {
		t.Fatalf("%q", s.printed)
	}
	s.setTime(s.now.Add(2 * time.Minute))
	s.look(1)
	if len(s.printed) != 1 || !strings.Contains(s.printed[0], "did not run for 2m01s") {
		t.Errorf("%q", s.printed)
	}
}

// TestAFailedRecordLeavesNoFolder lets a recorder run out of file descriptors: it can make
// folders, and no files. It tries again, the folder of each failed try is gone, and the
// hooks hear of the outage all the same.
func TestAFailedRecordLeavesNoFolder(t *testing.T) {
	s := newScreen(t)
	s.opt.Trial = nil
	var got []Notice
	s.opt.Notify = func(n Notice) { got = append(got, n) }
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	s.fails("n1")
	s.look(10)
	if dirs := record.SessionDirs(s.opt.Dir); len(dirs) > 0 || s.Running() {
		t.Errorf("recording: %v, folders %q", s.Running(), dirs)
	}
	if len(got) != 1 || got[0].State != StateBegan || got[0].Record != "" ||
		!strings.HasPrefix(got[0].Sentence, "n1 fell silent at ") || !strings.Contains(got[0].Sentence, "lightsout cannot record it: ") {
		t.Errorf("the hooks hear %+v", got)
	}
	clear(s.down)
	s.look(20)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	s.fails("n1")
	s.look(4)
	if len(got) != 2 || got[1].Record == "" {
		t.Errorf("with file descriptors again the hooks hear %+v", got)
	}
	if dirs := record.SessionDirs(s.opt.Dir); len(dirs) != 1 || !s.Running() {
		t.Errorf("with file descriptors again: recording: %v, folders %q", s.Running(), dirs)
	}
	s.End()
}

// Thousands of requests may end between the zero of an outage and the moment in which the
// recorder notices it. The summary counts those that requests.jsonl has, and tells from when on
// it has all.
func TestTheRecordCountsAllItsRequests(t *testing.T) {
	for name, tc := range map[string]struct {
		past int
		all  bool
	}{"all are kept": {64 << 20, true}, "some are forgotten": {1 << 20, false}} {
		s := newScreenOf(t, tc.past, func(*Options) {})
		s.look(3)
		s.loadStarted(7, loadgen.Spec{Shape: loadgen.Rate, PerSecond: 10000})
		s.look(2)
		s.fails("n2")
		zero := s.now
		for i := range 10000 {
			class := loadgen.ClassOK
			if i%100 == 0 {
				class = loadgen.ClassRefused
			}
			s.setTime(s.now.Add(time.Millisecond / 10))
			s.Record(loadgen.Record{ID: "a-" + strconv.Itoa(i), Run: 7, Shape: loadgen.Rate, Class: class, Scheduled: s.now, Sent: s.now, End: s.now})
		}
		s.look(4)
		s.Record(loadgen.Record{Run: 7, Shape: loadgen.Rate, Class: loadgen.ClassOK, Scheduled: s.now, Sent: s.now, End: s.now})
		delete(s.down, "n2")
		s.look(12)
		sum := s.summaries()[0]
		var want loadgen.Totals
		if _, err := record.EachRequest(os.DirFS(s.Newest()), func(_ int, q *loadgen.Record) error {
			if !q.End.Before(sum.Zero) {
				want.Count(*q)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if l := sum.Load; len(l) != 1 || l[0].Scheduled != want.Scheduled || l[0].OK != want.OK || l[0].Failed != want.FailedSum() || tc.all != (want.Scheduled == 10001) {
			t.Errorf("%s: the summary counts %+v, requests.jsonl has %+v", name, l, want)
		}
		if at := *sum.Load[0].Started; at < 0 || tc.all != (at < 0.001) {
			t.Errorf("%s: the first request that counts was due at %g s", name, at)
		}
		from, told := sum.Unplanned.RequestsFrom, strings.Contains(strings.Join(sum.Unplanned.Unseen, "; "), "neither counted nor in requests.jsonl")
		if tc.all != (from == nil) || tc.all == told || from != nil && !from.After(zero) {
			t.Errorf("%s: all requests are kept from %v on, unseen %q", name, from, sum.Unplanned.Unseen)
		}
	}
}

package simulator

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lightsout/cluster"
	"lightsout/internal/config"
	"lightsout/internal/record"
	"lightsout/internal/recorder"
	"lightsout/internal/session"
	"lightsout/internal/testenv"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// watch is a recorder in virtual time, as `lightsout recorder` puts it together: the
// watcher, the session and the generator are the program's own.
type watch struct {
	p     *plant
	dir   string
	keep  int64
	ended chan struct{}
	stop  context.CancelFunc

	mu      sync.Mutex
	story   []string
	wrong   []string
	notices []recorder.Notice
	records []outcome
	// writing is the record under way; empty: none.
	writing string
	largest int64 // most bytes that all records took
}

// outcome is a record that has ended.
type outcome struct {
	*record.Summary
	dir      string
	sentence string
}

// The recorder has the program's defaults, but a small disk.
var recording = (&config.Config{Recorder: config.Recorder{MemoryMB: 1}}).Recording()

func newWatch(p *plant, dir string, keep int64) *watch {
	w := &watch{p: p, dir: filepath.Join(dir, "outages"), keep: keep, ended: make(chan struct{})}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	must(os.WriteFile(kubeconfig, []byte(`{"apiVersion": "v1", "kind": "Config", "current-context": "sim", "contexts": [{"name": "sim", "context": {"cluster": "sim", "user": "sim"}}],
		"clusters": [{"name": "sim", "cluster": {"server": "http://10.0.0.1:6443"}}], "users": [{"name": "sim", "user": {}}]}`), 0o600))
	access, err := cluster.LoadConfig(cluster.Options{Path: kubeconfig, Dial: p.api.dial})
	must(err)
	api, err := cluster.NewClient(access)
	must(err)
	rec, err := session.NewRecordWriter("", time.Now)
	must(err)
	watcher := cluster.NewWatcher(api, cluster.WatchOptions{Sink: rec.Transition, Idle: recorder.AskEvery})
	o, err := config.Load{Target: loadgen.Target{URL: "http://10.0.0.9:31080/"}}.Options()
	must(err)
	o.Dial, o.WindowLimit, o.Record = p.client, 1200, rec.Request
	load, err := loadgen.New(o)
	must(err)
	s := session.New(session.Options{
		Cluster: "sim", ReadOnly: true, NoPower: "the recorder switches nothing", RecordWriter: rec, Questions: session.NewQuestions(), Watcher: watcher,
		Target: session.NewTarget(watcher, cluster.Key{Namespace: "default", Name: probedApp}, time.Now), Load: load,
	})
	guest := recorder.New(s.Controls(), recorder.Options{
		Cluster: "sim", Dir: w.dir, Timeline: rec.Timeline(), Load: load, Every: recording.Every, Past: recording.Past, PastBytes: recording.MemoryMB << 20,
		Steady: recording.Steady, KeepBytes: keep, Notify: w.notify, Print: func(line string) { w.tell("recorder: %s", line) }, Now: time.Now,
	})
	ctx, stop := context.WithCancel(context.Background())
	inner, stopWatching := context.WithCancel(context.Background())
	w.stop = stop
	go func() {
		defer close(w.ended)
		var wg sync.WaitGroup
		wg.Go(func() { must(watcher.Run(inner)) })
		must(s.Run(ctx, guest))
		stopWatching()
		wg.Wait()
	}()
	go func() {
		for range s.Frames() {
		}
	}()
	return w
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func (w *watch) tell(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.story = append(w.story, time.Now().UTC().Format("02 15:04:05.0  ")+fmt.Sprintf(format, args...))
}

func (w *watch) broken(format string, args ...any) {
	w.tell("BROKEN: "+format, args...)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

// notify is the hook.
func (w *watch) notify(n recorder.Notice) {
	w.tell("hook %s: %s", n.State, n.Sentence)
	w.mu.Lock()
	w.notices = append(w.notices, n)
	w.writing = n.Record
	if n.State == recorder.StateEnded {
		w.writing = ""
	}
	w.mu.Unlock()
	if n.State == recorder.StateEnded {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.records = append(w.records, outcome{w.summary(n.Record), n.Record, n.Sentence})
	}
}

func (w *watch) summary(dir string) *record.Summary {
	b, err := os.ReadFile(filepath.Join(dir, record.SummaryFile))
	s := &record.Summary{}
	if err == nil {
		err = json.Unmarshal(b, s)
	}
	if err != nil {
		w.wrong = append(w.wrong, err.Error())
	}
	return s
}

// inspect checks the folder once a minute until ctx ends.
func (w *watch) inspect(ctx context.Context) {
	for over := 0; ctx.Err() == nil; {
		select {
		case <-ctx.Done():
		case <-time.After(time.Minute):
		}
		var sum int64
		_ = filepath.WalkDir(w.dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				if info, err := d.Info(); err == nil {
					sum += info.Size()
				}
			}
			return nil
		})
		w.mu.Lock()
		writing := w.writing
		w.largest = max(w.largest, sum)
		w.mu.Unlock()
		if writing != "" && !dirExists(writing) {
			w.broken("the record %s was removed while it was written", writing)
		}
		// The recorder removes records once a minute, and the record under way grows meanwhile.
		const grows = 4 << 20
		if over++; sum <= w.keep+grows {
			over = 0
		}
		if over > 1 {
			w.broken("the records took %d bytes for a minute, and may take %d", sum, w.keep)
		}
	}
}

func dirExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// heap is the memory in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// simulate runs a recorder beside a new cluster while live happens.
func simulate(t *testing.T, seed uint64, live func(*director)) (w *watch) {
	dir := memory(t)
	t.Setenv("KUBECONFIG", "")
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(seed, 2))
		p := newPlant(rand.New(rand.NewPCG(seed, 3)))
		go p.run()
		w = newWatch(p, dir, 100<<20)
		ctx, stop := context.WithCancel(context.Background())
		var inspecting sync.WaitGroup
		inspecting.Go(func() { w.inspect(ctx) })
		time.Sleep(time.Minute) // it has seen the cluster
		live(&director{plant: p, w: w, r: r})
		w.stop()
		<-w.ended
		stop()
		inspecting.Wait()
		close(p.end)
		p.api.end()
		time.Sleep(time.Second) // the last answers are on their way, and time stands still after this
	})
	return w
}

// LIGHTSOUT_HOURS=24 LIGHTSOUT_SEED=7 go test -run TestTheRecorderRecordsEachOutage -v ./internal/simulator
func TestTheRecorderRecordsEachOutageOfAWorldOnce(t *testing.T) {
	testenv.Long(t, 10)
	hours, seed := number("LIGHTSOUT_HOURS", 1), number("LIGHTSOUT_SEED", uint64(time.Now().UnixNano()))
	t.Logf("LIGHTSOUT_HOURS=%d LIGHTSOUT_SEED=%d", hours, seed)
	began := time.Now()
	var outages []truth
	var before, after int64
	w := simulate(t, seed, func(d *director) {
		outages = d.outages(time.Duration(hours)*time.Hour, int(hours)*50/24+2, func() { before = heap() })
		after = heap()
	})
	w.judge(outages)
	kinds := map[string]int{}
	for _, o := range outages {
		kinds[o.kind]++
	}
	t.Logf("%d outages in %d records, %d notices, at most %d KB on the disk, the heap grew by %d KB, in %s: %v",
		len(outages), len(w.records), len(w.notices), w.largest>>10, (after-before)>>10, time.Since(began).Round(time.Second), kinds)
	if grown := after - before; hours > 4 && grown > 16<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	w.report(t)
}

// A recorder that starts in mid-outage has no other facts than one that saw it begin.
func TestARecorderThatStartsInMidOutageRecordsIt(t *testing.T) {
	testenv.Long(t, 10)
	seed, dir := number("LIGHTSOUT_SEED", uint64(time.Now().UnixNano())), memory(t)
	t.Logf("LIGHTSOUT_SEED=%d", seed)
	var late *watch
	var o truth
	first := simulate(t, seed, func(d *director) {
		m := d.some(1)[0]
		o.kind, o.from, o.nodes = "plug", time.Now(), []string{m.name}
		d.change(m.off)
		d.sleep(30*time.Second, 10*time.Minute)
		late = newWatch(d.plant, dir, 100<<20)
		d.sleep(time.Minute, 3*time.Minute)
		d.change(func() { d.on(m, 20*time.Second) })
		o.to = time.Now()
		time.Sleep(10 * time.Minute)
		late.stop()
		<-late.ended
		late.judge([]truth{o})
	})
	if len(first.records) != 1 || len(late.records) != 1 {
		t.Fatalf("%d and %d records: %s", len(first.records), len(late.records), tail(late.story))
	}
	was, is := first.records[0], late.records[0]
	if len(is.Blind) != 1 || is.Blind[0].From != 0 || is.Unplanned.Severity == record.SeverityNoneFailed {
		t.Errorf("%s, with the blind spans %+v", is.Unplanned.Severity, is.Blind)
	}
	for _, p := range is.Phases {
		i := slices.IndexFunc(was.Phases, func(x view.Phase) bool { return x.Name == p.Name && x.Subject == p.Subject })
		var saw *float64
		if i >= 0 {
			saw = was.Phases[i].Observed
		}
		switch {
		case p.Name == view.PhaseErrors, p.Observed == nil && (p.Note == "" || saw == nil):
			continue
		case p.Observed == nil || p.Before || saw == nil:
			t.Errorf("%+v, and not so for the one that saw it", p)
			continue
		}
		// Both have another zero within a heartbeat's delivery, and look once a second.
		const apart = 2.5
		at := *saw + was.Zero.Sub(is.Zero).Seconds()
		if after := *cmp.Or(p.HiddenFrom, p.Observed); at < after-apart || at > *p.Observed+apart {
			t.Errorf("%s at %.1f s, hidden from %.1f s: the one that saw it has %.1f s", p.Name, *p.Observed, after, at)
		}
	}
	late.report(t)
}

// LIGHTSOUT_HOURS=10 runs ten quiet hours.
func TestTheRecorderRecordsNothingInQuietHours(t *testing.T) {
	testenv.Long(t, 10)
	hours, seed := number("LIGHTSOUT_HOURS", 1), number("LIGHTSOUT_SEED", uint64(time.Now().UnixNano()))
	t.Logf("LIGHTSOUT_HOURS=%d LIGHTSOUT_SEED=%d", hours, seed)
	began := time.Now()
	done := map[string]int{}
	w := simulate(t, seed, func(d *director) {
		for end := time.Now().Add(time.Duration(hours) * time.Hour); time.Now().Before(end); {
			done[d.quietly()]++
		}
	})
	t.Logf("in %s: %v", time.Since(began).Round(time.Second), done)
	if n := len(w.notices); n > 0 {
		w.broken("%d notices in hours without an outage, first %q", n, w.notices[0].Sentence)
	}
	w.report(t)
}

func (w *watch) report(t *testing.T) {
	if len(w.wrong) > 0 {
		t.Errorf("%s\n%s", strings.Join(w.wrong, "\n"), tail(w.story))
	}
}

// truth is an outage of the world.
type truth struct {
	kind     string
	from, to time.Time
	// words must be in the last sentence about it.
	words []string
	// nodes are those that failed.
	nodes []string
}

func (o truth) String() string {
	return fmt.Sprintf("%s %v, %s – %s", o.kind, o.nodes, o.from.UTC().Format("15:04:05.0"), o.to.UTC().Format("15:04:05.0"))
}

// zeroWithin is how far a record's zero may be from the beginning of an outage: a
// heartbeat, or a request that a client gives up.
const zeroWithin = 11 * time.Second

// noticedWithin is how long an outage may go on before its first sign counts.
const noticedWithin = 30 * time.Second

// judge compares the records with the outages.
func (w *watch) judge(outages []truth) {
	first := map[string]bool{} // the records whose first outage has been found
	for _, o := range outages {
		var in []outcome
		for _, s := range w.records {
			if s.Zero.Before(o.from.Add(zeroWithin)) && s.Ended.After(o.from) {
				in = append(in, s)
			}
		}
		if len(in) == 2 && in[0].Ended.Before(o.from.Add(noticedWithin)) {
			in = in[1:] // the first ended before anybody could notice this outage
		}
		if len(in) != 1 {
			w.broken("%s is in %d records", o, len(in))
			continue
		}
		s := in[0]
		if off := s.Zero.Sub(o.from).Abs(); !first[s.dir] && off > zeroWithin {
			w.broken("%s: the zero of %s is %s off", o, s.dir, off)
		}
		first[s.dir] = true
		for _, word := range o.words {
			if !strings.Contains(s.sentence, word) {
				w.broken("%s: %q is not in %q", o, word, s.sentence)
			}
		}
		for _, node := range o.nodes {
			if !slices.ContainsFunc(s.Unplanned.Signs, func(x record.Sign) bool { return x.Subject == node && x.Kind == view.SignSilent }) {
				w.broken("%s: %s is in no sign of %s", o, node, s.dir)
			}
		}
		if s.Ended.Before(o.to) && o.to.Sub(o.from) < 12*recording.Steady {
			w.broken("%s: %s ended before, at %s", o, s.dir, s.Ended)
		}
		if !s.Ledger.Balanced || s.Ledger.Scheduled == 0 {
			w.broken("%s: the ledger of %s: %+v", o, s.dir, s.Ledger)
		}
	}
	for _, s := range w.records {
		if !first[s.dir] {
			w.broken("%s is about no outage: %s", s.dir, s.sentence)
		}
		w.told(s)
	}
}

// told checks the notices of a record.
func (w *watch) told(s outcome) {
	var began, ended []recorder.Notice
	for _, n := range w.notices {
		switch {
		case n.Record != s.dir:
		case n.State == recorder.StateBegan:
			began = append(began, n)
		case n.State == recorder.StateEnded:
			ended = append(ended, n)
		}
	}
	if len(began) != 1 || len(ended) != 1 || !began[0].Zero.Equal(s.Zero) || began[0].Sentence == "" {
		w.broken("%s has the notices %+v %+v", s.dir, began, ended)
	}
}

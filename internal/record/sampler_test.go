package record_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

func TestAReplayShowsWhatTheOperatorSaw(t *testing.T) {
	t.Parallel()
	o := newOutage(t)
	if err := record.RecordFrames(o.dir, o.frames, false); err != nil {
		t.Fatal(err)
	}
	s := show(t, o.dir)
	for _, want := range o.frames {
		if d := differs(s.at(want.Now), want); d != "" {
			t.Fatalf("at %s: %s", want.Now.Sub(t0), d)
		}
	}
	// Back and forth is the same as straight on.
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		want := o.frames[rnd.IntN(len(o.frames))]
		if d := differs(s.at(want.Now), want); d != "" {
			t.Fatalf("back at %s: %s", want.Now.Sub(t0), d)
		}
	}
	last := s.at(o.frames[len(o.frames)-1].Now)
	h := last.History[o.f.Focus]
	if len(h) != outageSeconds-1 || h[len(h)-1] != 8 || h[30] != 8 || h[20] != 6 || h[25] != 6 || h[10] != 8 {
		t.Errorf("the history is %v", h)
	}
	if last.Replay.Torn != "" {
		t.Errorf("a whole record is called torn: %s", last.Replay.Torn)
	}
}

func TestEveryFieldOfAFrameIsRecordedOrKnownNotToBe(t *testing.T) {
	// Those that are not compared above, and why.
	left := map[string]string{
		"History": "worked out anew", "Recording": "of the session, not of the record", "RecordsOutage": "of the session, not of the record", "RecordErr": "can't be recorded",
		"Replay": "not of a session", "Scopes": "of the session, not of the record", "Inspection": "the object that the operator inspects", "Requests": "in requests.jsonl", "Switching": "for programs that wait for the end",
		"LeavesAfter": "of the session, not of the record", "Kubectl": "for commands that the operator copies", "Program": "likewise", "Restore": "likewise",
	}
	o := newOutage(t)
	shown := map[string]bool{}
	for _, f := range o.frames {
		v := reflect.ValueOf(*f)
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				shown[v.Type().Field(i).Name] = true
			}
		}
	}
	for i := range reflect.TypeFor[view.Frame]().NumField() {
		name := reflect.TypeFor[view.Frame]().Field(i).Name
		switch name {
		case "ReadOnly", "DryRun", "Production", "NoLoad": // see TestTitlesAreRecorded
			continue
		}
		if left[name] == "" && !shown[name] {
			t.Errorf("no test records the field %s of a frame", name)
		}
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestARecordCutAnywhereIsReadUpToTheCut(t *testing.T) {
	t.Parallel()
	o := newOutage(t)
	if err := record.RecordFrames(o.dir, o.frames, true); err != nil {
		t.Fatal(err)
	}
	whole := map[string][]byte{}
	for _, name := range []string{record.EventsFile, record.RequestsFile, record.SamplesFile} {
		b, err := os.ReadFile(filepath.Join(o.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		whole[name] = b
	}
	byTime := map[int64]*view.Frame{}
	for _, f := range o.frames {
		byTime[f.Now.UnixNano()] = f
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		dir, cuts, inLine := t.TempDir(), map[string]int{}, false
		for name, b := range whole {
			n := rnd.IntN(len(b) + 1)
			cuts[name] = strings.Count(string(b[:n]), "\n")
			if n > 0 && b[n-1] != '\n' {
				if n < len(b) && b[n] == '\n' {
					cuts[name]++ // whole but for the line feed
				} else {
					inLine = true
				}
			}
			writeFile(t, filepath.Join(dir, name), string(b[:n]))
		}
		r, err := record.Open(dir)
		if err != nil {
			t.Fatalf("cut to %v lines: %v", cuts, err)
		}
		if len(r.Events) != cuts[record.EventsFile] || requestsIn(r) != cuts[record.RequestsFile] || len(r.Samples) != cuts[record.SamplesFile] {
			t.Fatalf("of %v lines, %d events, %d requests and %d samples are read", cuts, len(r.Events), requestsIn(r), len(r.Samples))
		}
		if inLine && len(r.Torn) == 0 {
			t.Fatal("it is not said that a line is torn")
		}
		if len(r.Samples) == 0 || r.Start.IsZero() {
			continue
		}
		last := r.Samples[len(r.Samples)-1]
		want := *byTime[last.At.UnixNano()]
		got := showRecord(t, r).at(last.At)
		want.Events, got.Events = nil, nil // cut elsewhere
		if d := differs(got, &want); d != "" {
			t.Fatalf("cut to %v lines, at the last sample: %s", cuts, d)
		}
	}
}

func TestARecordTellsSecondsAndLanes(t *testing.T) {
	o := newOutage(t)
	if err := record.RecordFrames(o.dir, o.frames, false); err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(o.dir)
	if err != nil {
		t.Fatal(err)
	}
	at := func(s int) time.Time { return t0.Add(time.Duration(s) * time.Second) }
	if !r.Start.Equal(t0) || !r.Zero.Equal(at(13)) || !r.End.Equal(o.now) || len(r.Torn) != 0 {
		t.Errorf("from %s to %s, zero %s, torn %q", r.Start, r.End, r.Zero, r.Torn)
	}
	if len(r.Seconds) != outageSeconds {
		t.Fatalf("%d seconds", len(r.Seconds))
	}
	for i, s := range r.Seconds {
		sent := i >= 6 && i < 40
		failed := i >= 15 && i < 20
		available := 8
		switch {
		case i == 0:
			available = -1
		case i >= 20 && i < 28:
			available = 6
		}
		if !s.At.Equal(at(i)) || (s.Sent == 1) != sent || (s.FailedSum() == 1) != failed || (s.OK == 1) != (sent && !failed) ||
			s.Unresolved != 0 || s.Sampled != sent || sent && (s.Served != 3 || s.Capacity != 8) || s.Available != available {
			t.Errorf("second %d: %+v", i, s)
		}
	}
	want := []record.Lane{{Node: "node3", Spans: []outage.Span{
		{Node: "node3", Kind: outage.SpanOff, From: at(14), To: at(60), After: at(14)},
		{Node: "node3", Kind: outage.SpanSilent, From: at(17), To: at(66), After: at(17)},
		{Node: "node3", Kind: outage.SpanNotReady, From: at(20), To: at(66), After: at(20)},
	}}}
	if d := same("lanes", reflect.ValueOf(r.Lanes), reflect.ValueOf(want)); d != "" {
		t.Errorf("%s\n%+v", d, r.Lanes)
	}
}

// The operator may select another deployment during a trial: the seconds of its record are about
// the first one.
func TestTheSecondsAreAboutOneDeployment(t *testing.T) {
	o := newOutage(t)
	var frames []*view.Frame
	for _, f := range o.frames {
		shown := *f
		if f.Now.After(t0.Add(22 * time.Second)) {
			shown.Focus = cluster.Key{Namespace: "shop", Name: "db"}
		}
		frames = append(frames, &shown)
	}
	if err := record.RecordFrames(o.dir, frames, false); err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(o.dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.Deployment() != o.f.Focus || r.Seconds[25].Available != 6 || r.Seconds[50].Available != 8 {
		t.Errorf("%s, %d and %d available", r.Deployment(), r.Seconds[25].Available, r.Seconds[50].Available)
	}
}

func TestAKilledRecordCountsRequestsThatNeverEnded(t *testing.T) {
	o := newOutage(t)
	// Killed at 18.5 s: the requests of 15 to 17 have not ended, nor that of 18.
	var frames []*view.Frame
	for _, f := range o.frames {
		if f.Now.Sub(t0) <= 18500*time.Millisecond {
			frames = append(frames, f)
		}
	}
	if err := record.RecordFrames(o.dir, frames, true); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(o.dir, record.RequestsFile)
	var text []byte
	if _, err := record.EachRequest(os.DirFS(o.dir), func(_ int, r *loadgen.Record) error {
		if !r.End.After(t0.Add(18500 * time.Millisecond)) {
			line, err := json.Marshal(r)
			if err != nil {
				return err
			}
			text = append(append(text, line...), '\n')
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, string(text))
	r, err := record.Open(o.dir)
	if err != nil {
		t.Fatal(err)
	}
	open := 0
	for i, s := range r.Seconds {
		if s.Unresolved > 0 && (i < 15 || i > 18) || s.Sent != s.OK+s.Cancelled+s.FailedSum()+s.Unresolved {
			t.Errorf("second %d: %+v", i, s)
		}
		open += s.Unresolved
	}
	if open != 4 {
		t.Errorf("%d requests are told as not ended", open)
	}
	if len(r.Torn) == 0 {
		t.Error("it is not said that the program was killed")
	}
}

func TestAnUnchangedScreenCostsLittle(t *testing.T) {
	c := cluster.Contents{Version: 1, At: t0}
	for i := range 20_000 {
		c.Pods = append(c.Pods, &cluster.Pod{Key: cluster.Key{Namespace: "default", Name: fmt.Sprintf("pod-%05d", i)}, Node: "n", Status: "Running"})
	}
	snapshot := cluster.NewSnapshot(c)
	var frames []*view.Frame
	for i := range 40 {
		frames = append(frames, &view.Frame{Now: t0.Add(time.Duration(i) * 500 * time.Millisecond), Snapshot: snapshot})
	}
	dir := t.TempDir()
	if err := record.RecordFrames(dir, frames, false); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, record.EventsFile), "")
	f, err := os.Open(filepath.Join(dir, record.SamplesFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, _ := f.Stat(); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	small := 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if len(lines.Bytes()) < 100 {
			small++
		}
	}
	// In 20 s: the keyframe, a sign of life each 5 s, the end.
	if small < 3 || small > 5 {
		t.Errorf("%d short lines", small)
	}
	if got := show(t, dir).at(t0.Add(19 * time.Second)); got.Snapshot.PodCount() != 20_000 {
		t.Errorf("%d pods are played", got.Snapshot.PodCount())
	}
}

func TestTheLastFrameIsWrittenForCertain(t *testing.T) {
	dir := t.TempDir()
	s, err := record.NewSampler(dir, time.Now, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 { // never blocks, whatever becomes of them
		s.Offer(&view.Frame{Title: view.Title{Cluster: fmt.Sprint("c", i)}, Now: t0.Add(time.Duration(i) * time.Millisecond)})
	}
	if err := s.Close(&view.Frame{Title: view.Title{Cluster: "last"}, Now: t0.Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, record.EventsFile), "")
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if f := showRecord(t, r).at(t0.Add(time.Minute)); f.Cluster != "last" || len(r.Torn) != 0 {
		t.Errorf("the last frame is of %q, torn %q", f.Cluster, r.Torn)
	}
}

// requestsIn is how many requests of a record have ended.
func requestsIn(r *record.Record) (n int) {
	for _, run := range r.Runs {
		n += run.Totals.Scheduled
	}
	return n
}

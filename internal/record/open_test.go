package record

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// jsonl writes values as lines of JSON.
func jsonl(t testing.TB, values ...any) string {
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

func folder(files map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

func at(s float64) time.Time { return t0.Add(time.Duration(s * float64(time.Second))) }

func TestTheErrorOfAFolderWithoutARecordIsOneSentence(t *testing.T) {
	event := jsonl(t, view.Event{Seq: 1, At: t0, Seen: t0, Lane: "node", Subject: "n"})
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"an empty folder", nil, "not a record: there is no events.jsonl in DIR"},
		{"a line in the middle", map[string]string{EventsFile: event + "{broken\n" + event}, "line 2 of events.jsonl is not an event"},
		{"a request of another type", map[string]string{EventsFile: event, RequestsFile: "[]\n"}, "line 1 of requests.jsonl is not a request"},
		{"a summary that is none", map[string]string{EventsFile: event, SummaryFile: "[1]"}, "summary.json is not a summary"},
		{"a later summary", map[string]string{EventsFile: event, SummaryFile: `{"version":99}`}, "another version"},
		{"later samples", map[string]string{EventsFile: event, SamplesFile: jsonl(t, Sample{At: t0, Key: true, Schema: 99})}, "another version"},
		{"years", map[string]string{EventsFile: event + jsonl(t, view.Event{Seq: 2, Seen: t0.AddDate(3, 0, 0)})}, "days"},
	} {
		_, err := OpenFS(folder(c.files), "DIR")
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "nowhere")); err == nil || !strings.Contains(err.Error(), "not a record") {
		t.Errorf("no folder: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file); err == nil || !strings.Contains(err.Error(), "not a folder") {
		t.Errorf("a file: %v", err)
	}
}

func TestHugeFilesAndLinesAreRefused(t *testing.T) {
	for _, name := range []string{EventsFile, RequestsFile, SamplesFile, SummaryFile} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, EventsFile), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(2 << 30); err != nil { // takes no room
			t.Fatal(err)
		}
		f.Close()
		want := " is larger than"
		if name == RequestsFile {
			want = " is longer than" // the line: a file of requests may have any length
		}
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), name+want) {
			t.Errorf("%s of 2 GB: %v", name, err)
		}
		if name == SummaryFile {
			continue
		}
		if err := os.Truncate(filepath.Join(dir, name), 100<<20); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "line 1 of "+name+" is longer than") {
			t.Errorf("a line of 100 MB in %s: %v", name, err)
		}
	}
}

func TestALostSampleCostsNoMoreThanUpToTheNextKeyframe(t *testing.T) {
	cl := func(name string) *view.Title { return &view.Title{Cluster: name} }
	text := jsonl(t, Sample{At: at(0), Key: true, Title: cl("a")}, Sample{At: at(1), Title: cl("b")}) + "garbage\n" +
		jsonl(t, Sample{At: at(3), Title: cl("d")}, Sample{At: at(4), Key: true, Title: cl("e")},
			Sample{At: at(4.5), Key: true, More: true, Title: cl("x")}) + "garbage\n" +
		jsonl(t, Sample{At: at(5), Key: true, Title: cl("f"), End: true})
	r, err := OpenFS(folder(map[string]string{EventsFile: "", SamplesFile: text}), "DIR")
	if err != nil {
		t.Fatal(err)
	}
	var names string
	for _, s := range r.Samples {
		names += s.Title.Cluster
	}
	if names != "abef" || len(r.Torn) != 1 || !r.Start.Equal(at(0)) || !r.End.Equal(at(5)) {
		t.Errorf("%q, torn %q", names, r.Torn)
	}
}

func TestLanesKnowWhatWasSoFromTheBeginning(t *testing.T) {
	shown := []outage.Span{
		{Node: "d", Kind: outage.SpanOff, From: at(-60), To: at(-50), After: at(-70)},
		{Node: "b", Kind: outage.SpanNotReady, From: at(-20), After: at(-21)}, {Node: "b", Kind: outage.SpanOff, From: at(0)},
		{Node: "c", Kind: outage.SpanSilent, From: at(0)}, {Node: "c", Kind: outage.SpanNotReady, From: at(0)},
	}
	samples := jsonl(t, Sample{At: at(0), Key: true}, Sample{At: at(0.5), Outages: &shown}, Sample{At: at(30), End: true})
	events := jsonl(t,
		view.Event{Seq: 1, Seen: at(5), Lane: "node", Kind: "node", Subject: "b", From: "NotReady", To: "Ready", Code: view.CodeNodeStatus, Change: cluster.ChangeStatus, Was: cluster.HealthBad, Is: cluster.HealthGood},
		view.Event{Seq: 2, Seen: at(6), Lane: "power", Subject: "b", From: "off", To: "transitioning", Code: view.CodeMachineState},
		view.Event{Seq: 3, Seen: at(7), Lane: "power", Subject: "b", From: "transitioning", To: "on", Code: view.CodeMachineState},
		view.Event{Seq: 4, Seen: at(8), Lane: "node", Kind: "node", Subject: "a", From: "up", To: "rebooted", Code: view.CodeNodeBoot, Change: cluster.ChangeBoot},
		view.Event{Seq: 5, Seen: at(9), Lane: "pod", Kind: "pod", Subject: "a", From: "Ready", To: "NotReady", Change: cluster.ChangeReady, Is: cluster.HealthBad},
		view.Event{Seq: 6, At: at(10), Seen: at(10), Lane: "node", Kind: "node", Subject: "a", From: "Ready", To: "NotReady", Code: view.CodeNodeStatus, Change: cluster.ChangeStatus, Was: cluster.HealthGood, Is: cluster.HealthBad},
		view.Event{Seq: 7, Seen: at(11), Lane: "node", Kind: "node", Subject: "a", From: "NotReady", To: "NotReady (silent)", Code: view.CodeNodeStatus, Change: cluster.ChangeStatus, Was: cluster.HealthBad, Is: cluster.HealthBad},
	)
	r, err := OpenFS(folder(map[string]string{EventsFile: events, SamplesFile: samples}), "DIR")
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(describe(r.Lanes))
	want := "[a not ready 10- b not ready -20-5 b off ≤0-7 c silent ≤0- c not ready ≤0-]"
	if got != want {
		t.Errorf("%s\nand not\n%s", got, want)
	}
}

// A driver's first reading is an event: the machine may have been off for long, unless the screen knows better.
func TestAMachineThatIsOffAtItsFirstReadingWasSoBefore(t *testing.T) {
	events := jsonl(t, view.Event{Seq: 1, Seen: at(5), Lane: "power", Subject: "a", From: "unknown", To: "off", Code: view.CodeMachineState})
	for want, after := range map[string]time.Time{"[a off ≤5-]": {}, "[a off 5-]": at(0)} {
		samples := jsonl(t, Sample{At: at(0), Key: true}, Sample{At: at(6), Outages: &[]outage.Span{{Node: "a", Kind: outage.SpanOff, From: at(5), After: after}}}, Sample{At: at(30), End: true})
		r, err := OpenFS(folder(map[string]string{EventsFile: events, SamplesFile: samples}), "DIR")
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(describe(r.Lanes)); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

func describe(lanes []Lane) (out []string) {
	for _, l := range lanes {
		for _, s := range l.Spans {
			begun := map[bool]string{true: "≤"}[s.After.IsZero()]
			to := ""
			if !s.To.IsZero() {
				to = fmt.Sprint(s.To.Sub(t0).Seconds())
			}
			out = append(out, fmt.Sprintf("%s %s %s%g-%s", l.Node, s.Kind, begun, s.From.Sub(t0).Seconds(), to))
		}
	}
	return out
}

func FuzzOpen(f *testing.F) {
	off := 1.0
	events := jsonl(f, view.Event{Seq: 1, At: t0, Seen: t0, Lane: "power", Subject: "a", To: "off"}, view.Event{Seq: 2, At: at(9), Seen: at(9), Offset: &off, Code: view.CodeMachineState})
	requests := jsonl(f, loadgen.Record{ID: "1", Class: loadgen.ClassOK, Scheduled: at(1), End: at(2)}, loadgen.Record{ID: "2", Class: "odd", Sent: at(3)})
	samples := jsonl(f, Sample{At: t0, Key: true, Cluster: &Cluster{Nodes: []*cluster.Node{{Name: "a"}}, Pods: []*cluster.Pod{{}}}, Load: &LoadSample{From: 1, To: 5, Windows: []*loadgen.Second{{At: t0, Sent: 3, Unresolved: 2}}}},
		Sample{At: at(4), More: true, Cluster: &Cluster{GoneNodes: []string{"a"}, Beats: map[string]Beat{"b": {}}}}, Sample{At: at(5), Key: true, More: true})
	f.Add(events, requests, samples, jsonl(f, Summary{Version: SummaryVersion, Zero: t0}))
	f.Add(events[:len(events)-4], "", `{"at":"2026-11-21T06:10:00Z","key":true,"cluster":{"nodes":[null],"pods":null},"load":{"from":1,"to":9223372036854775807,"windows":[null,{}]},"machines":{"a":null},"next":null}`+"\n", "{}")
	f.Add("\n", "null\n", "null\n", "null")
	f.Fuzz(func(t *testing.T, events, requests, samples, summary string) {
		r, err := OpenFS(folder(map[string]string{EventsFile: events, RequestsFile: requests, SamplesFile: samples, SummaryFile: summary}), "DIR")
		if err != nil {
			return
		}
		for i, s := range r.Seconds {
			if i > 0 && s.At.Unix() != r.Seconds[i-1].At.Unix()+1 {
				t.Fatalf("a gap at second %d", i)
			}
		}
		if len(r.Samples) > 0 && (!r.Samples[0].Key || r.Samples[len(r.Samples)-1].More) {
			t.Fatal("the samples do not begin with a keyframe or end within a moment")
		}
		var s State
		for i := range r.Samples {
			s.Apply(&r.Samples[i])
			_ = s.Snapshot()
			_ = s.Windows(r.End)
		}
		for _, l := range r.Lanes {
			for _, span := range l.Spans {
				if !span.To.IsZero() && span.To.Before(span.From) {
					t.Fatalf("%s: a span ends before it begins: %+v", l.Node, span)
				}
			}
		}
	})
}

// A record is being written until its program closes the timeline, or ends in any way: then
// the kernel closes its files. Until then nobody calls it broken off.
func TestARecordThatIsbeingWrittenIsNotBrokenOff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tl, err := NewTimeline(filepath.Join(t.TempDir(), EventsFile), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, PlanFile), []byte("name: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := tl.Tee(filepath.Join(dir, EventsFile)); err != nil {
		t.Fatal(err)
	}
	tl.Add(view.Event{Lane: view.LaneNode, Subject: "n"})
	if r, err := Open(dir); err != nil || !r.Recording || !slices.Equal(r.Torn, []string{"lightsout is still recording it; later events are not shown"}) {
		t.Errorf("while it is written: %v, %q (%v)", r.Recording, r.Torn, err)
	}
	if err := tl.Untee(); err != nil {
		t.Fatal(err)
	}
	if r, err := Open(dir); err != nil || r.Recording || !slices.Contains(r.Torn, "there is no summary: lightsout ended before the trial was judged") {
		t.Errorf("after it: %v, %q (%v)", r.Recording, r.Torn, err)
	}
}

// A quiet cluster sends heartbeats alone: a film of it says that it is live, and not for how long nothing changed.
func TestAHeartbeatIsAContact(t *testing.T) {
	link := &cluster.Link{State: cluster.LinkLive, LastContact: at(0)}
	var s State
	s.Apply(&Sample{At: at(0), Key: true, Cluster: &Cluster{Link: link, Nodes: []*cluster.Node{{Name: "a"}}}})
	s.Apply(&Sample{At: at(20), Cluster: &Cluster{Beats: map[string]Beat{"a": {Renewed: at(19), Seen: at(19)}}}})
	if got := s.Snapshot().Contact(); !got.Equal(at(19)) {
		t.Errorf("the last contact was at %s", got)
	}
}

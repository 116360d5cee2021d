package replay

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/record/examples"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// A mark leads to the state in which what it names can be seen.
func TestMarksLandAfterTheirEvents(t *testing.T) {
	for _, name := range examples.Names() {
		files, _ := examples.Open(name)
		r, err := record.OpenFS(files, name)
		if err != nil {
			t.Fatal(err)
		}
		f := newFrames(r)
		bursts := 0
		for _, m := range f.marks {
			frame := f.frame(m.At)
			if last := frame.Events[len(frame.Events)-1]; last.Seen.After(m.At) {
				t.Errorf("%s: at %q the timeline ends with %q, which comes later", name, m.Text, last.Text)
			}
			if strings.HasPrefix(m.Text, "burst") {
				bursts++
				if n := frame.Load.Totals.InFlight(); n == 0 {
					t.Errorf("%s: at %q %d requests are in flight", name, m.Text, n)
				}
			}
		}
		if name == "mdx" && bursts != 3 {
			t.Errorf("%d bursts are marked", bursts)
		}
	}
}

// A machine that is powered on reports the end of its evicted pods. That is no eviction.
func TestTheCaptionsOfAnExampleHaveOneEviction(t *testing.T) {
	for _, name := range examples.Names() {
		files, _ := examples.Open(name)
		r, err := record.OpenFS(files, name)
		if err != nil {
			t.Fatal(err)
		}
		var moments record.Moments
		var captions []string
		err = Each(r, time.Second, func(f *view.Frame) error {
			captions = append(captions, moments.In(f)...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		first := slices.Index(captions, "pods evicted")
		if first < 0 || slices.Contains(captions[first+1:], "pods evicted") {
			t.Errorf("%s: %q", name, captions)
		}
	}
}

// The replay draws each failure in the second in which the report draws it.
func TestTheReplayShowsFailuresAsTheReport(t *testing.T) {
	for _, name := range examples.Names() {
		files, _ := examples.Open(name)
		r, err := record.OpenFS(files, name)
		if err != nil {
			t.Fatal(err)
		}
		drawn := map[int64]map[loadgen.Class]int{}
		for _, w := range newFrames(r).frame(r.End).Load.Seconds {
			drawn[w.At.Unix()] = w.FailedIn()
		}
		for _, s := range r.Seconds {
			if !maps.Equal(drawn[s.At.Unix()], s.FailedIn()) {
				t.Errorf("%s at %v: %v in the replay, %v in the report", name, s.At, drawn[s.At.Unix()], s.FailedIn())
			}
		}
	}
}

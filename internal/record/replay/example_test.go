package replay

import (
	"strings"
	"testing"

	"lightsout/internal/record"
	"lightsout/internal/record/examples"
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

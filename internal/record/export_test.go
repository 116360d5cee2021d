package record

import (
	"io/fs"
	"path/filepath"
	"time"

	"lightsout/internal/view"
)

// RecordFrames records frames one after the other, none left out, as if each
// were offered when its own time came. With kill it leaves the files as a
// program does that is killed.
func RecordFrames(dir string, frames []*view.Frame, kill bool) error {
	s, err := stillSampler(dir, time.Now)
	if err != nil {
		return err
	}
	for _, f := range frames {
		s.taken = f
		s.sample(f, false)
	}
	close(s.done)
	if kill {
		return s.Err()
	}
	return s.Close(s.taken)
}

// stillSampler is NewSampler without the goroutine.
func stillSampler(dir string, now func() time.Time) (*Sampler, error) {
	f, err := openFile(filepath.Join(dir, SamplesFile), "")
	return samplerTo(f, now), err
}

// eventsIn are the events of a file.
func eventsIn(fsys fs.FS, name string) (events []view.Event, torn bool, err error) {
	torn, err = eachOf(fsys, name, fileMost, "an event", func(_ int, e *view.Event) error {
		events = append(events, *e)
		return nil
	})
	return events, torn, err
}

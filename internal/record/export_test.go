package record

import (
	"io/fs"
	"time"

	"lightsout/internal/view"
)

// RecordFrames records frames one after the other, none left out, as if each
// were offered when its own time came. With kill it leaves the files as a
// program does that is killed.
func RecordFrames(dir string, render func(f *view.Frame, width, height int) string, frames []*view.Frame, kill bool) error {
	s, err := makeSampler(dir, render, time.Now, nil)
	if err != nil {
		return err
	}
	for _, f := range frames {
		s.take(f)
	}
	close(s.done)
	if kill {
		return s.Err()
	}
	return s.Close(nil)
}

// eventsIn are the events of a file.
func eventsIn(fsys fs.FS, name string) (events []view.Event, torn bool, err error) {
	torn, err = eachOf(fsys, name, fileMost, "an event", func(_ int, e *view.Event) error {
		events = append(events, *e)
		return nil
	})
	return events, torn, err
}

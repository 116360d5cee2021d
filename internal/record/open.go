package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"lightsout/internal/clock"
	"lightsout/internal/outage"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// Record is a trial's folder as read. It is immutable once opened.
type Record struct {
	// Dir is the folder.
	Dir string
	// Summary is nil when the program ended before it was written.
	Summary *Summary
	// Plan is the text of the plan, as it was; empty when there was none.
	Plan   []byte
	Events []view.Event
	// Runs sums up the requests that have ended, by the run's number.
	Runs []loadgen.Result
	// Samples are the states of the screen in the order of time, starting with a
	// keyframe; empty if the record has none.
	Samples []Sample
	// Seconds is the load second by second from the first sample to the last,
	// without gaps.
	Seconds []Second
	// Lanes are the spans of each node, by name.
	Lanes []Lane
	// Start and End are the first and the last moment in the record; Zero is the zero
	// time without a power-off request.
	Start, End, Zero time.Time
	history          history

	// Recording: a program is still writing the record.
	Recording bool
	// Torn lists the missing parts, one sentence each; empty for a complete record.
	Torn []string
}

// Second is one second of wall-clock time: the gauge by the samples, the
// requests by their records.
type Second struct {
	loadgen.Second
	// Available is how many replicas of the record's deployment were available at its end; -1
	// if unknown.
	Available int
}

// Lane is what happened to one node over time.
type Lane struct {
	Node  string
	Spans []outage.Span
}

// longest is the longest time that a record may tell of.
const longest = 7 * 24 * time.Hour

// Open reads the folder of a record. What a program that was killed leaves
// behind (a torn last line, a summary or a plan that is missing) is read as
// far as it goes, and named in Torn. Anything else that can't be read is an
// error of one sentence that names the file and the line.
func Open(dir string) (*Record, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("not a record: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("not a record: %s is not a folder", dir)
	}
	return open(os.DirFS(dir), dir, beingWritten(dir))
}

// beingWritten reports whether a program that runs is writing the record in dir: it has locked the
// record's events.
func beingWritten(dir string) bool {
	path := filepath.Join(dir, EventsFile)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() { // a pipe would wait for a writer
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close() // also unlocks it
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// OpenFS is Open for the folder at the root of fsys; name is its name in errors.
func OpenFS(fsys fs.FS, name string) (*Record, error) { return open(fsys, name, false) }

func open(fsys fs.FS, name string, recording bool) (*Record, error) {
	r := &Record{Dir: name, Recording: recording}
	requests, err := r.read(fsys)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("not a record: there is no %s in %s", EventsFile, name)
	}
	if err != nil {
		return nil, fmt.Errorf("the record in %s can't be read: %w", name, err)
	}
	r.fill(requests)
	return r, nil
}

func (r *Record) read(fsys fs.FS) (*requestSums, error) {
	torn, err := eachOf(fsys, EventsFile, fileMost, "an event", func(_ int, e *view.Event) error {
		r.Events = append(r.Events, *e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.noteTorn(EventsFile, torn)
	missing := 0
	for i := 1; i < len(r.Events); i++ {
		missing += max(r.Events[i].Seq-r.Events[i-1].Seq-1, 0)
	}
	if missing > 0 {
		r.Torn = append(r.Torn, text.Count(missing, "event is", "events are")+" missing in "+EventsFile+": it could not be written")
	}
	// By the time at which things were seen: sources tell of times long past.
	for i := range r.Events {
		r.span(r.Events[i].Seen)
	}
	requests, err := r.readRequests(fsys)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := r.readSamples(fsys); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for i := range r.Samples {
		r.span(r.Samples[i].At)
	}
	if err := r.tooLong(); err != nil {
		return nil, err
	}
	r.Plan, err = readSmall(fsys, PlanFile)
	if err != nil {
		return nil, err
	}
	return requests, r.readSummary(fsys)
}

func (r *Record) noteTorn(file string, torn bool) {
	if torn {
		r.Torn = append(r.Torn, "the last line of "+file+" is not whole")
	}
}

// readSamples reads samples.jsonl. A line that can't be understood costs the
// time up to the next keyframe.
func (r *Record) readSamples(fsys fs.FS) error {
	lost, usable := 0, false
	torn, err := readLines(fsys, SamplesFile, fileMost, func(n int, line []byte) error {
		var s Sample
		if err := json.Unmarshal(line, &s); err != nil || s.At.IsZero() {
			lost, usable = lost+1, false
			r.dropPart()
			return nil
		}
		if s.Schema != 0 && s.Schema != SampleSchema {
			return fmt.Errorf("another version of lightsout wrote %s (schema %d; this version reads schema %d)", SamplesFile, s.Schema, SampleSchema)
		}
		if usable = usable || s.Key; !usable {
			return nil
		}
		if last := len(r.Samples) - 1; last >= 0 && s.At.Before(r.Samples[last].At) {
			s.At = r.Samples[last].At // the clock was set back
		}
		r.Samples = append(r.Samples, s)
		return nil
	})
	if err != nil {
		return err
	}
	r.noteTorn(SamplesFile, torn)
	if lost > 0 {
		r.Torn = append(r.Torn, fmt.Sprintf("lightsout cannot parse %d lines of %s; the screen is unknown for up to half a minute after each", lost, SamplesFile))
	}
	r.dropPart()
	return nil
}

// dropPart drops the last moment if it lacks lines.
func (r *Record) dropPart() {
	for n := len(r.Samples); n > 0 && r.Samples[n-1].More; n-- {
		r.Samples = r.Samples[:n-1]
	}
}

// Summarized reads only the summary of the record at the root of fsys; nil if the
// program ended before it wrote the summary.
func Summarized(fsys fs.FS) (*Summary, error) {
	var r Record
	err := r.readSummary(fsys)
	return r.Summary, err
}

func (r *Record) readSummary(fsys fs.FS) error {
	b, err := readSmall(fsys, SummaryFile)
	if err != nil || b == nil {
		return err
	}
	var s Summary
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("%s is not a summary: %w", SummaryFile, err)
	}
	if s.Version != SummaryVersion {
		return fmt.Errorf("another version of lightsout wrote %s (schema %d; this version reads schema %d)", SummaryFile, s.Version, SummaryVersion)
	}
	r.Summary = &s
	return nil
}

// Within is the moment of the record that is nearest to t.
func (r *Record) Within(t time.Time) time.Time {
	return clock.Latest(r.Start, clock.Earliest(t, r.End))
}

// span extends the time of the record.
func (r *Record) span(t time.Time) {
	r.Start, r.End = clock.Earliest(r.Start, t), clock.Latest(r.End, t)
}

// tooLong returns an error if the record covers more time than lightsout reads.
func (r *Record) tooLong() error {
	d := r.End.Sub(r.Start)
	if d <= longest {
		return nil
	}
	return fmt.Errorf("it covers %.0f days, from %s to %s; lightsout reads at most %.0f", d.Hours()/24,
		r.Start.Format(time.DateOnly), r.End.Format(time.DateOnly), longest.Hours()/24)
}

// fill derives the other fields from the files.
func (r *Record) fill(requests *requestSums) {
	r.findZero()
	r.history = newHistory(r.Samples, r.Deployment())
	r.fillSeconds(requests)
	r.fillLanes()
	switch n := len(r.Samples); {
	case r.Recording:
		r.Torn = append(r.Torn, "lightsout is still recording it; later events are not shown")
	case n > 0 && !r.Samples[n-1].End:
		r.Torn = append(r.Torn, "lightsout was killed after "+r.End.Sub(r.Start).Round(time.Second).String()+"; later events are not recorded")
	}
	if r.Summary == nil && len(r.Plan) > 0 && !r.Recording {
		r.Torn = append(r.Torn, "there is no summary: lightsout ended before the trial was judged")
	}
}

func (r *Record) findZero() {
	if r.Summary != nil {
		r.Zero = r.Summary.Zero
	}
	rolling := len(r.Events) > 0 && r.Events[0].Offset != nil // its first samples may have the zero of the record before
	for i := range r.Samples {
		if z := r.Samples[i].Zero; z != nil && r.Zero.IsZero() && !rolling {
			r.Zero = *z
		}
	}
	if r.Zero.IsZero() {
		r.Zero = r.zeroOfEvents()
	}
}

// zeroOfEvents returns the zero of the clock by the events; the zero time if they have
// none.
func (r *Record) zeroOfEvents() time.Time {
	for i := range r.Events {
		if e := &r.Events[i]; e.Offset != nil {
			return e.At.Add(-time.Duration(*e.Offset * float64(time.Second))).Round(time.Microsecond)
		}
	}
	return time.Time{}
}
